"""Builders of events in each of their forms: new, stored, decoded."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid4

from mnemolog.domain.memory import Cause, Kind
from mnemolog.domain.scope import Scope
from mnemolog.events.chain import START as CHAIN_START
from mnemolog.events.chain import link
from mnemolog.events.codec import PLAIN, Cipher, Codec
from mnemolog.events.envelope import Header, Meta, NewEvent, StoredEvent, StreamId
from mnemolog.events.erasure import ThreadErased
from mnemolog.events.event import Event
from mnemolog.events.memory import MemoryCreated, MemoryUpdated
from mnemolog.events.message import MessagesErased
from tests.testkit.clock import START

STREAM = StreamId.of_user("ana")
META = Meta(actor="user")
KEY = bytes(32)


def created(memory_id: UUID | None = None, text: str = "Ana lives in Lisbon", **fields: object) -> MemoryCreated:
    return MemoryCreated.model_validate(
        {
            "memory_id": memory_id or uuid4(),
            "category": "note",
            "importance": 0.5,
            "confidence": 1.0,
            "pinned": False,
            "text": text,
            "kind": Kind.FACT,
            "scope": Scope.GLOBAL,
            **fields,
        }
    )


def updated(memory_id: UUID, text: str, **fields: object) -> MemoryUpdated:
    return MemoryUpdated.model_validate(
        {
            "memory_id": memory_id,
            "category": "note",
            "importance": 0.5,
            "confidence": 1.0,
            "pinned": False,
            "text": text,
            "changed": ("text",),
            **fields,
        }
    )


def ended(thread_id: str, *turn_ids: str) -> tuple[MessagesErased, ThreadErased]:
    """The events that erase a thread with these turns."""
    messages = MessagesErased(thread_id=thread_id, turn_ids=turn_ids, cause=Cause.ASKED)
    return messages, ThreadErased(thread_id=thread_id)


def new(payload: Event, event_id: UUID | None = None, meta: Meta = META, occurred_at: datetime = START) -> NewEvent:
    return NewEvent(event_id or uuid4(), payload, meta, occurred_at)


def header_of(event: NewEvent, seq: int = 1, stream: StreamId = STREAM, recorded_at: datetime = START) -> Header:
    payload = event.payload
    return Header(
        stream,
        seq,
        event.event_id,
        payload.type_name(),
        payload.version,
        tuple(sorted(event.tags)),
        event.meta.as_dict(),
        event.occurred_at,
        recorded_at,
    )


def stored(
    event: NewEvent,
    seq: int = 1,
    stream: StreamId = STREAM,
    cipher: Cipher = PLAIN,
    previous: bytes = CHAIN_START,
    key: bytes = KEY,
) -> StoredEvent:
    """The event as its row would stand."""
    header = header_of(event, seq, stream)
    data = Codec().encode(stream, event, cipher)
    return StoredEvent(header, data, link(key, previous, header, data))


def rows(stream: StreamId, payloads: Sequence[Event], key: bytes = KEY) -> list[StoredEvent]:
    """A whole stream of these payloads, chained under a key."""
    found: list[StoredEvent] = []
    for seq, payload in enumerate(payloads, 1):
        previous = found[-1].link if found else CHAIN_START
        found.append(stored(new(payload), seq, stream, previous=previous, key=key))
    return found
