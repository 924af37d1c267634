"""Who may publish turns to the embedded NATS: users with a tenant each, kept as bcrypt hashes in the data directory.

They share a NATS account beside the engine's, into which come turns and receipts and nothing else: no event, no
JetStream API, and what a producer gives as a reply subject is one of its own account. In it, each user may publish
turns of its tenant, and subscribe to its own receipts and its own inbox.
"""

import fcntl
import json
import re
import secrets
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import bcrypt

from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.embedded.data_directory import write_privately
from mnemolog.adapters.embedded.leftovers import working_in
from mnemolog.domain.errors import Conflict, InvalidInput, NotFound
from mnemolog.domain.identity import subject_token

ENGINE_ACCOUNT = "MNEMOLOG"
PRODUCERS_ACCOUNT = "PRODUCERS"
ENGINE_USER = "engine"
# A password here has 256 random bits, so nobody guesses it, hashed slowly or not; nats-server checks at each connect.
BCRYPT_COST = 8
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class Producer:
    """A NATS user that may publish turns of one tenant. `added_at` is ISO 8601."""

    name: str
    tenant: str
    added_at: str
    password: str

    @property
    def turns(self) -> str:
        return f"mnemolog.turns.{subject_token(self.tenant)}"

    @property
    def receipts(self) -> str:
        return f"mnemolog.receipts.{subject_token(self.tenant)}.{self.name}.>"

    @property
    def inbox(self) -> str:
        """For JetStream's acknowledgements. One of its own, so that nobody learns where another waits for them."""
        return f"_INBOX.{self.name}.>"


class Producers:
    """The producers of one data directory. A running nats-server takes each change at once."""

    def __init__(self, data_dir: Path) -> None:
        self._file, self._server = data_dir / "producers.json", data_dir / "nats"

    def all(self) -> Sequence[Producer]:
        if not self._file.exists():
            return []
        return [Producer(**fields) for fields in json.loads(self._file.read_text())]

    def add(self, name: str, tenant: str, at: datetime) -> str:
        """A new producer; its password, which is kept nowhere. Conflict when the name is taken."""
        if name == ENGINE_USER or not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r:.60} is no name", field="name", fix="use 1 to 40 of A-Z a-z 0-9 _ -")
        password = secrets.token_urlsafe(32)
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(BCRYPT_COST)).decode()
        with self._changing() as producers:
            if name in producers:
                raise Conflict(f"there is a producer {name!r} already", field="name", fix="remove it, or use another")
            producers[name] = Producer(name, tenant, at.isoformat(), hashed)
        return password

    def remove(self, name: str) -> Producer:
        """Its connections end. NotFound when there is none."""
        with self._changing() as producers:
            if name not in producers:
                raise NotFound(f"there is no producer {name!r}", field="name", fix="see `mnemolog producers list`")
            return producers.pop(name)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Producer]]:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            producers = {one.name: one for one in self.all()}
            yield producers
            write_privately(self._file, json.dumps([asdict(one) for one in producers.values()], indent=2))
            self._reload()

    def _reload(self) -> None:
        """Tell a running server; without one, the next start reads the file."""
        config = self._server / "server.conf"
        if not config.exists():
            return
        written = json.loads(config.read_text())
        [engine] = written["accounts"][ENGINE_ACCOUNT]["users"]
        written["accounts"] = accounts(engine["password"], self.all())
        write_privately(config, json.dumps(written, indent=2))
        for process in working_in(self._server, [require("nats").name]):
            process.send_signal(signal.SIGHUP)


def accounts(engine_password: str, producers: Sequence[Producer]) -> Mapping[str, Any]:
    """The accounts of nats-server: the engine's with JetStream, and that of all producers.

    One account for all, made at the start: nats-server 2.15 loses the imports of one that a reload brings (#8560).
    """
    turns, receipts = "mnemolog.turns.*", "mnemolog.receipts.>"
    engine = {
        "jetstream": "enabled",
        "users": [{"user": ENGINE_USER, "password": engine_password}],
        "exports": [{"service": turns}, {"stream": receipts}],
    }
    imports = [
        {"service": {"account": ENGINE_ACCOUNT, "subject": turns}},
        {"stream": {"account": ENGINE_ACCOUNT, "subject": receipts}},
    ]
    return {ENGINE_ACCOUNT: engine, PRODUCERS_ACCOUNT: {"users": list(map(_user, producers)), "imports": imports}}


def _user(producer: Producer) -> Mapping[str, Any]:
    permissions = {"publish": [producer.turns], "subscribe": [producer.inbox, producer.receipts]}
    return {"user": producer.name, "password": producer.password, "permissions": permissions}
