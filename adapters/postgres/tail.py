"""The tail of a stream: its head in the database, and new events encrypted and chained to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mnemolog.adapters.encryption import Keyring
from mnemolog.adapters.postgres.keys import StreamKeys
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.events.chain import link
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Header, NewEvent, StoredEvent, StreamId

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LogSecrets:
    """The keys that a log writes with."""

    roots: Roots
    chain: bytes = field(repr=False)
    fingerprint: bytes = field(repr=False)

    @classmethod
    def of(cls, roots: Roots) -> "LogSecrets":
        return cls(roots, roots.derived("chain"), roots.derived("fingerprint"))


@dataclass(slots=True)
class Tail:
    """The end of a stream: its head in the database, and what is chained to it."""

    stream: StreamId
    seq: int
    link: bytes
    recorded_at: datetime | None
    keys: StreamKeys
    base_seq: int = 0
    base_link: bytes = b""
    added: list[StoredEvent] = field(default_factory=list)
    shredded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settle()

    def settle(self) -> None:
        """The added events are written."""
        self.base_seq, self.base_link = self.seq, self.link
        self.added.clear()
        self.shredded.clear()
        self.keys.settle()

    def head_row(self) -> dict[str, Any]:
        return {
            "tenant": self.stream.tenant,
            "stream": self.stream.name,
            "seq": self.base_seq,
            "link": self.base_link.hex(),
            "new_seq": self.seq,
            "new_link": self.link.hex(),
            "recorded_at": (self.recorded_at or EPOCH).isoformat(),
            "keyed": self.keys.stream_key is not None and self.keys.new_stream_key is None,
        }

    def add(self, event: NewEvent, codec: Codec, secrets: LogSecrets, now: datetime) -> None:
        """Encrypt the event, chain it, and drop the keys that it destroys."""
        payload = event.payload
        # A stream's record time never decreases, even if the clock does.
        given = event.recorded_at or now
        recorded_at = max(self.recorded_at or given, given)
        header = Header(
            self.stream,
            self.seq + 1,
            event.event_id,
            payload.type_name(),
            payload.version,
            tuple(sorted(map(self.keys.tag, event.tags))),
            event.meta.as_dict(),
            event.occurred_at,
            recorded_at,
        )
        data = codec.encode(self.stream, event, self._cipher(event, secrets.roots))
        self.link = link(secrets.chain, self.link, header, data)
        self.seq, self.recorded_at = header.seq, recorded_at
        self.added.append(StoredEvent(header, data, self.link))
        for scope in payload.shreds():
            self.keys.shred(scope)
            self.shredded.append(scope)

    def _cipher(self, event: NewEvent, roots: Roots) -> Keyring:
        payload = event.payload
        if not payload.personal_fields():
            return Keyring({}, roots.random_bytes)
        scope = payload.key_scope()
        return Keyring({(self.stream, scope): self.keys.sealing(scope, payload.key_tag())}, roots.random_bytes)

    def event_rows(self) -> list[dict[str, Any]]:
        return [event.as_dict(event.data.decode()) for event in self.added]

    def stream_key_rows(self) -> list[Mapping[str, Any]]:
        return [self._placed(self.keys.new_stream_key)] if self.keys.new_stream_key else []

    def data_key_rows(self) -> list[Mapping[str, Any]]:
        return [self._placed(row) for row in self.keys.new_data_keys.values()]

    def used_key_rows(self) -> list[Mapping[str, Any]]:
        keys = self.keys.data_keys
        return [self._placed({"scope": scope, "key_id": keys[scope].key_id.hex()}) for scope in self.keys.used]

    def _placed(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"tenant": self.stream.tenant, "stream": self.stream.name, **row}
