"""The envelope of a payload in the log, on JetStream and in every reader (design §3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, Self
from uuid import UUID

from mnemolog.domain.errors import InvalidInput
from mnemolog.events.event import Event

DEFAULT_TENANT = "default"
USER, AGENT = "user", "agent"
DEFAULT_AGENT = "default"
DEFAULT_THREAD = "main"
DEFAULT_POLICY = "1"
MAX_DIGITS = 18


@dataclass(frozen=True, slots=True, order=True)
class StreamId:
    """The unit of ordering and consistency: all events of one user or agent, in a tenant."""

    tenant: str
    name: str

    @classmethod
    def of_user(cls, user_id: str, tenant: str = DEFAULT_TENANT) -> Self:
        return cls(tenant, f"{USER}:{user_id}")

    @classmethod
    def of_agent(cls, agent_id: str, tenant: str = DEFAULT_TENANT) -> Self:
        """The stream of an agent's library."""
        return cls(tenant, f"{AGENT}:{agent_id}")

    @classmethod
    def from_text(cls, text: str) -> Self:
        """What `str` gave."""
        tenant, _, name = text.partition("/")
        return cls(tenant, name)

    @property
    def kind(self) -> str:
        """The kind of owner: `user` or `agent`."""
        return self.name.partition(":")[0]

    @property
    def owner(self) -> str:
        """The id of the user or agent that owns the stream."""
        return self.name.partition(":")[2]

    def __str__(self) -> str:
        return f"{self.tenant}/{self.name}"


def run_tag(run_id: str) -> str:
    return f"run:{run_id}"


def batch_tag(correlation_id: UUID) -> str:
    return f"batch:{correlation_id}"


@dataclass(frozen=True, slots=True)
class Meta:
    """The origin of an event. Ids only, never personal text, because it is not encrypted.

    `correlation_id` is shared by all events of one batch: an import, a consolidation, a `forget`.
    """

    actor: str
    agent_id: str = DEFAULT_AGENT
    thread_id: str = DEFAULT_THREAD
    causation_id: UUID | None = None
    correlation_id: UUID | None = None
    policy_version: str = DEFAULT_POLICY
    run_id: str | None = None

    def tags(self) -> frozenset[str]:
        """The labels by which a rollback finds the events of a run or batch (X15)."""
        run = {run_tag(self.run_id)} if self.run_id else set()
        return frozenset(run | ({batch_tag(self.correlation_id)} if self.correlation_id else set()))

    def as_dict(self) -> dict[str, str]:
        found = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: str(value) for name, value in found if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, str]) -> Self:
        ids = {name: UUID(str(fields[name])) for name in ("causation_id", "correlation_id") if name in fields}
        return cls(**{**fields, **ids})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be appended; `recorded_at` is set if it was recorded by another log before (X17)."""

    event_id: UUID
    payload: Event
    meta: Meta
    occurred_at: datetime
    recorded_at: datetime | None = None

    @property
    def tags(self) -> frozenset[str]:
        return self.payload.tags() | self.meta.tags()


@dataclass(frozen=True, slots=True)
class Header:
    """A stored event without its data; the keyed chain covers both (design §7)."""

    stream: StreamId
    seq: int
    event_id: UUID
    type: str
    version: int
    tags: tuple[str, ...]
    meta: Mapping[str, str]
    occurred_at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A row of the log: `data` is the codec's bytes and `link` the event's link in the keyed chain."""

    header: Header
    data: bytes
    link: bytes

    def as_dict(self, data: str | None) -> dict[str, Any]:
        """Its fields as JSON takes them, with its data in this form."""
        header = self.header
        return {
            "tenant": header.stream.tenant,
            "stream": header.stream.name,
            "seq": header.seq,
            "event_id": str(header.event_id),
            "type": header.type,
            "version": header.version,
            "tags": list(header.tags),
            "meta": dict(header.meta),
            "occurred_at": header.occurred_at.isoformat(),
            "recorded_at": header.recorded_at.isoformat(),
            "data": data,
            "link": self.link.hex(),
        }


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stored event, decoded to the current version. `erased`: its personal fields can no longer be read."""

    header: Header
    payload: Event
    meta: Meta
    erased: bool = False

    @property
    def stream(self) -> StreamId:
        return self.header.stream

    @property
    def seq(self) -> int:
        return self.header.seq

    @property
    def event_id(self) -> UUID:
        return self.header.event_id

    @property
    def occurred_at(self) -> datetime:
        return self.header.occurred_at

    @property
    def recorded_at(self) -> datetime:
        return self.header.recorded_at


class Happened(Protocol):
    """The part of an event that deciders see, appended or not."""

    @property
    def event_id(self) -> UUID: ...
    @property
    def payload(self) -> Event: ...
    @property
    def meta(self) -> Meta: ...
    @property
    def occurred_at(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a durable write (X14). `already`: it had been written before, and nothing was changed now.

    `erased`: it had been written before, and its text has been erased since. `written`: what was written now.
    """

    stream: StreamId
    event_ids: tuple[UUID, ...]
    first_seq: int
    last_seq: int
    already: bool = False
    erased: bool = False
    written: tuple[Event, ...] = field(default=(), compare=False, repr=False)

    @property
    def position(self) -> "Position":
        """Where the last event of this write stands in its stream."""
        return Position(self.stream, self.last_seq)

    @property
    def token(self) -> str:
        """The consistency token: a read that gets it waits until it sees this write (X10)."""
        return self.position.token

    def as_dict(self) -> dict[str, Any]:
        return {
            "stream": str(self.stream),
            "event_ids": [str(event_id) for event_id in self.event_ids],
            "first_seq": self.first_seq,
            "last_seq": self.last_seq,
            "already": self.already,
            "erased": self.erased,
            "token": self.token,
        }


@dataclass(frozen=True, slots=True)
class Position:
    """A position in one stream, which a consistency token names."""

    stream: StreamId
    seq: int = field(default=0)

    @property
    def token(self) -> str:
        return f"{self.stream.tenant}/{self.stream.name}@{self.seq}"

    @classmethod
    def of_token(cls, token: str) -> Self:
        place, _, seq = token.rpartition("@")
        tenant, _, name = place.partition("/")
        if not (tenant and name and seq.isascii() and seq.isdecimal() and len(seq) <= MAX_DIGITS):
            raise InvalidInput(f"{token!r} is not a consistency token", field="after", fix="pass a receipt's token")
        return cls(StreamId(tenant, name), int(seq))
