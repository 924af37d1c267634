"""The embedded nats-server: JetStream, on a loopback port, for the engine and its producers."""

import json
import secrets
import signal
import socket
from pathlib import Path
from typing import Literal

from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.embedded.data_directory import write_privately
from mnemolog.adapters.embedded.endpoints import ServerName
from mnemolog.adapters.embedded.leftovers import end_leftovers
from mnemolog.adapters.embedded.producers import ENGINE_ACCOUNT, ENGINE_USER, Producers, accounts
from mnemolog.adapters.embedded.server import Launch

HOST = "127.0.0.1"
MAX_PAYLOAD = 2 * 1024 * 1024
CONFIG = "server.conf"


class NatsServer:
    """NATS, on its previous port if that is free, so that producers can keep the address."""

    name: ServerName = "nats"
    stop_signal = signal.SIGTERM
    gives_up: bytes | None = b"[ERR] JetStream failed to store a msg"

    def __init__(
        self, directory: Path, token: str, sync: Literal["default", "always"], store_bytes: int | None = None
    ) -> None:
        self.directory = directory
        self.binary = require("nats")
        self._token = token
        self._sync, self._store_bytes = sync, store_bytes
        self._port, self._name = self._former_port(), ""
        self._attempted = self._answered = False

    @property
    def url(self) -> str:
        """The engine's URL, with its password."""
        return f"nats://{ENGINE_USER}:{self._token}@{HOST}:{self._port}"

    def prepare(self) -> None:
        """Stop leftovers and write the configuration; until it has answered once, each attempt uses another port."""
        end_leftovers(self.directory, [self.binary.name], self.stop_signal)
        if not self._port or (self._attempted and not self._answered):
            self._port = _free_port()
        self._attempted = True
        self._name = f"mnemolog-{secrets.token_hex(8)}"
        # Data from before there were accounts becomes the engine's.
        store = self.directory / "jetstream"
        if (store / "$G").exists() and not (store / ENGINE_ACCOUNT).exists():
            (store / "$G").rename(store / ENGINE_ACCOUNT)
        write_privately(self.directory / CONFIG, json.dumps(self._config(), indent=2, ensure_ascii=False))

    def launch(self) -> Launch:
        """Passwords are in the configuration, because every user can read a command line."""
        return Launch([self.binary, "-c", CONFIG])

    def answers(self) -> bool:
        """Whether our server runs with JetStream.

        That of a copied data directory knows our password and may have our former port, but not the name of this start.
        """
        try:
            self._answered = self._greets()
        except (OSError, ValueError):  # not up yet, or another program on that port
            return False
        return self._answered

    def _greets(self) -> bool:
        connect = json.dumps({"user": ENGINE_USER, "pass": self._token, "verbose": False})
        with socket.create_connection((HOST, self._port), timeout=2) as link, link.makefile("rb") as lines:
            info = json.loads(lines.readline().removeprefix(b"INFO ") or "{}")
            link.sendall(f"CONNECT {connect}\r\nPING\r\n".encode())
            ours = bool(info.get("jetstream")) and info.get("server_name") == self._name
            return ours and lines.readline() == b"PONG\r\n"

    def _config(self) -> dict[str, object]:
        jetstream: dict[str, object] = {"store_dir": str(self.directory)}
        if self._store_bytes is not None:
            jetstream["max_file_store"] = self._store_bytes
        if self._sync == "always":
            jetstream["sync_interval"] = "always"
        return {
            "server_name": self._name,
            "host": HOST,
            "port": self._port,
            "accounts": accounts(self._token, Producers(self.directory.parent).all()),
            "max_payload": MAX_PAYLOAD,
            "jetstream": jetstream,
        }

    def _former_port(self) -> int:
        """Its previous port; 0 if there was none."""
        try:
            return int(json.loads((self.directory / CONFIG).read_text())["port"])
        except (OSError, ValueError, KeyError):
            return 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
