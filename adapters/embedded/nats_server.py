"""The embedded nats-server: JetStream, on a loopback port that only holders of the token can use."""

import json
import signal
import socket
from pathlib import Path
from typing import Literal

from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.embedded.endpoints import ServerName
from mnemolog.adapters.embedded.leftovers import end_leftovers
from mnemolog.adapters.embedded.server import Launch

HOST = "127.0.0.1"
MAX_PAYLOAD = 2 * 1024 * 1024
CONFIG = "server.conf"


class NatsServer:
    """NATS on a port that is chosen at the first launch and kept from then on."""

    name: ServerName = "nats"
    stop_signal = signal.SIGTERM

    def __init__(self, directory: Path, token: str, sync: Literal["default", "always"]) -> None:
        self.directory = directory
        self.binary = require("nats")
        self._token = token
        self._sync = sync
        self._port = 0
        self._answered = False

    @property
    def url(self) -> str:
        """The URL with its token."""
        return f"nats://{self._token}@{HOST}:{self._port}"

    def prepare(self) -> None:
        """End leftovers and write the configuration, until it has answered once with another free port each time."""
        end_leftovers(self.directory, [self.binary.name], self.stop_signal)
        if not self._answered:
            self._port = _free_port()
        config = self.directory / CONFIG
        config.touch(mode=0o600)
        config.write_text(json.dumps(self._config(), indent=2, ensure_ascii=False))

    def launch(self) -> Launch:
        """The token is in the configuration, since every user can read a command line."""
        return Launch([self.binary, "-c", CONFIG])

    def answers(self) -> bool:
        """Whether a server that knows our token, hence ours, runs with JetStream."""
        try:
            self._answered = self._greets()
        except (OSError, ValueError):  # not there yet, or something else on that port
            return False
        return self._answered

    def _greets(self) -> bool:
        connect = json.dumps({"auth_token": self._token, "verbose": False})
        with socket.create_connection((HOST, self._port), timeout=2) as link, link.makefile("rb") as lines:
            info = json.loads(lines.readline().removeprefix(b"INFO ") or "{}")
            link.sendall(f"CONNECT {connect}\r\nPING\r\n".encode())
            return bool(info.get("jetstream")) and lines.readline() == b"PONG\r\n"

    def _config(self) -> dict[str, object]:
        jetstream = {"store_dir": str(self.directory)}
        if self._sync == "always":
            jetstream["sync_interval"] = "always"
        return {
            "server_name": "mnemolog",
            "host": HOST,
            "port": self._port,
            "authorization": {"token": self._token},
            "max_payload": MAX_PAYLOAD,
            "jetstream": jetstream,
        }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
