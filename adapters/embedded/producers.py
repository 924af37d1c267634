"""The NATS users of producers and their permissions; those of the embedded server are in the data directory.

They share a NATS account beside the engine's, into which come turns and receipts and nothing else: no event, no
JetStream API, and what a producer gives as a reply subject is one of its own account. In it, each user may publish
on the subject that names it, and subscribe to its own receipts and its own inbox. The password is the text of the API
key that says whom the producer reaches; the server knows its bcrypt hash.
"""

import fcntl
import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import bcrypt

from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.embedded.data_directory import write_privately
from mnemolog.adapters.embedded.leftovers import working_in
from mnemolog.adapters.nats.subjects import ALL_RECEIPTS, ALL_TURNS, Address
from mnemolog.domain.principal import OPERATOR

ENGINE_ACCOUNT = "MNEMOLOG"
PRODUCERS_ACCOUNT = "PRODUCERS"
ENGINE_USER = OPERATOR
# These passwords have 256 random bits, so a slow hash is not needed; nats-server checks it at each connect.
BCRYPT_COST = 8


@dataclass(frozen=True, slots=True)
class Producer:
    """A NATS user that may publish turns. `added_at` is ISO 8601; `key_id` is None from before producers had keys."""

    name: str
    tenant: str
    added_at: str
    password: str
    key_id: str = ""

    @classmethod
    def of(cls, name: str, tenant: str, at: datetime, password: str, key_id: str) -> Self:
        """A user with the hash of this password."""
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(BCRYPT_COST)).decode()
        return cls(name, tenant, at.isoformat(), hashed, key_id)

    def user(self) -> Mapping[str, Any]:
        """The user in the configuration of nats-server.

        The inbox is for JetStream's acknowledgements. Each user has its own, so that nobody sees another's.
        """
        own = Address.of(self.tenant, self.name)
        publish = [own.turns] if self.key_id else [own.turns, Address.of(self.tenant).turns]
        permissions = {"publish": publish, "subscribe": [f"{own.receipts}.>", f"_INBOX.{self.name}.>"]}
        return {"user": self.name, "password": self.password, "permissions": permissions}


class Producers:
    """The producers of one data directory. A running nats-server applies each change at once."""

    def __init__(self, data_dir: Path) -> None:
        self._file, self._server = data_dir / "producers.json", data_dir / "nats"

    def all(self) -> Sequence[Producer]:
        if not self._file.exists():
            return []
        return [Producer(**fields) for fields in json.loads(self._file.read_text())]

    def put(self, producer: Producer) -> None:
        """Add it, replacing one with the same name, whose password becomes invalid."""
        with self._changing() as producers:
            producers[producer.name] = producer

    def remove(self, name: str) -> Producer | None:
        """Remove it and close its connections. None if there is none."""
        with self._changing() as producers:
            return producers.pop(name, None)

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
        """Reload a running server; otherwise the next start reads the file."""
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
    """The accounts of nats-server: the engine's, with JetStream, and one for all producers.

    A single account, created at the start: nats-server 2.15 loses the imports of an account added by a reload (#8560).
    """
    engine = {
        "jetstream": "enabled",
        "users": [{"user": ENGINE_USER, "password": engine_password}],
        "exports": [{"service": ALL_TURNS}, {"stream": ALL_RECEIPTS}],
    }
    imports = [
        {"service": {"account": ENGINE_ACCOUNT, "subject": ALL_TURNS}},
        {"stream": {"account": ENGINE_ACCOUNT, "subject": ALL_RECEIPTS}},
    ]
    users = [producer.user() for producer in producers]
    return {ENGINE_ACCOUNT: engine, PRODUCERS_ACCOUNT: {"users": users, "imports": imports}}
