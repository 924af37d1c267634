"""An event on JetStream: the row as JSON, with headers for routing in any language."""

import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import MAX_DIGITS, Header, Position, StoredEvent, StreamId

MESSAGE_ID = "Nats-Msg-Id"
MAC = "Mnemolog-Mac"
TENANT, STREAM, SEQ = "Mnemolog-Tenant", "Mnemolog-Stream", "Mnemolog-Seq"


class _Message(BaseModel):
    """The output of `pack`. Anyone with permission to publish could send something else."""

    model_config = ConfigDict(hide_input_in_errors=True)

    tenant: str
    stream: str
    seq: Annotated[int, Field(strict=True, gt=0)]
    event_id: UUID
    type: str
    version: Annotated[int, Field(strict=True)]
    tags: tuple[str, ...]
    meta: dict[str, str]
    occurred_at: AwareDatetime
    recorded_at: AwareDatetime
    data: str | None
    link: str


def headers(event: StoredEvent) -> dict[str, str]:
    """A new dict each time, because nats-py modifies it."""
    header = event.header
    return {
        MESSAGE_ID: str(header.event_id),
        TENANT: header.stream.tenant,
        STREAM: header.stream.name,
        SEQ: str(header.seq),
        "Mnemolog-Version": str(header.version),
    }


def place(message_headers: Mapping[str, str] | None) -> Position | None:
    """The event's position in the headers, which are not authenticated, so nothing is applied because of them.

    None if the log cannot have it: a query for it would fail.
    """
    given = message_headers or {}
    stream, seq = StreamId(given.get(TENANT, ""), given.get(STREAM, "")), given.get(SEQ, "")
    known = "\0" not in str(stream) and seq.isascii() and seq.isdecimal() and len(seq) <= MAX_DIGITS
    return Position(stream, int(seq)) if known else None


def mac(key: bytes, body: bytes) -> str:
    """Distinguishes the engine's own messages from those of others who may publish."""
    return hmac.digest(key, body, sha256).hex()


def authentic(key: bytes, message_headers: Mapping[str, str] | None, body: bytes) -> bool:
    """Whether an engine with this key wrote the message."""
    return hmac.compare_digest((message_headers or {}).get(MAC, ""), mac(key, body))


def pack(event: StoredEvent, limit: int = 2**63) -> bytes:
    """The message's body. Without data if it would exceed JetStream's limit: then it is read from the log."""
    body = _body(event, b64encode(event.data).decode())
    return body if len(body) <= limit else _body(event, None)


def _body(event: StoredEvent, data: str | None) -> bytes:
    return json.dumps(event.as_dict(data), ensure_ascii=False, separators=(",", ":")).encode()


def unpack(body: bytes) -> StoredEvent:
    """The event as stored in the log; MalformedEvent if the message is something else or has no data."""
    found = read(body)
    if isinstance(found, Position):
        raise MalformedEvent("the event was too large for its message", field="message", fix="read it from the log")
    return found


def read(body: bytes) -> StoredEvent | Position:
    """The content of a message: an event, or the position of one that was too large; otherwise MalformedEvent."""
    try:
        fields = _Message.model_validate_json(body)
        data, link = b64decode(fields.data or "", validate=True), bytes.fromhex(fields.link)
    except ValueError as error:
        raise MalformedEvent(f"a message on the event stream is not an event: {error}", field="message") from error
    stream = StreamId(fields.tenant, fields.stream)
    if fields.data is None:
        return Position(stream, fields.seq)
    header = Header(
        stream,
        fields.seq,
        fields.event_id,
        fields.type,
        fields.version,
        fields.tags,
        fields.meta,
        fields.occurred_at,
        fields.recorded_at,
    )
    return StoredEvent(header, data, link)
