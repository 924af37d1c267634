"""The interface of a supervised server, implemented for Postgres, NATS and Redis."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mnemolog.adapters.embedded.account import Account
from mnemolog.adapters.embedded.endpoints import ServerName

_INHERITED = ("LD_LIBRARY_PATH", "NIX_LD", "NIX_LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Launch:
    """How to start a server: its command line, and its user if not the engine's own."""

    argv: Sequence[str | Path]
    account: Account | None = None


class Server(Protocol):
    """One server on one directory and one address, which stay the same over restarts."""

    name: ServerName
    directory: Path
    binary: Path
    stop_signal: signal.Signals
    # What it logs when it failed to write and, until it is restarted, will not try again; None if it always does.
    gives_up: bytes | None

    @property
    def url(self) -> str:
        """The address that clients use."""

    def prepare(self) -> None:
        """Prepare a launch: stop leftovers, write the configuration, create the data if there is none."""

    def launch(self) -> Launch:
        """The launch, run in `directory`."""

    def answers(self) -> bool:
        """Whether it serves now; called repeatedly while it starts."""


def environment() -> dict[str, str]:
    """The environment for servers: no secrets, no PG* variables, and nothing that changes the language or time zone."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", **inherited}
