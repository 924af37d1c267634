"""What goes over NATS, as AsyncAPI 3.0: channels and payloads by FastStream, and what FastStream leaves out.

FastStream knows subjects, queues and models (0.7.8). Streams, durable consumers, headers, receipts, dead letters and
limits are added here, the last three as `x-` extensions where AsyncAPI has no word for them.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import yaml  # type: ignore[import-untyped]
from faststream.specification.asyncapi import AsyncAPI
from pydantic import BaseModel, Field

import mnemolog
from mnemolog.adapters.nats.streams import DEDUPE_SECONDS, StreamLimits
from mnemolog.adapters.nats.subjects import (
    ALL_DEAD_LETTERS,
    ALL_RECEIPTS,
    ALL_TURNS,
    DEAD_LETTERS,
    EVENTS,
    INTAKE,
    TURNS,
)
from mnemolog.adapters.nats.subscribers import TURNS_ARE, broker
from mnemolog.adapters.nats.turn_message import CUT, ORIGINAL_HEADERS, REASON, REPLY_TO, TurnMessage
from mnemolog.adapters.nats.wire import MAC, MESSAGE_ID
from mnemolog.commands.sent import MAX_LONG_BYTES
from mnemolog.commands.turns import MAX_ATTACHMENTS
from mnemolog.events.published import published

SERVER = "nats://127.0.0.1:4222"
JSON_SCHEMA = "https://json-schema.org/draft/2020-12/schema"

Document = dict[str, Any]


class ErrorFields(BaseModel):
    """What was wrong, with which field, and what to do."""

    code: str
    message: str
    field: str
    fix: str


class ReceiptFields(BaseModel):
    """A durable write. Pass `token` to a read to wait for it; `already` means that it existed before."""

    stream: str
    event_ids: list[UUID]
    first_seq: int
    last_seq: int
    already: bool
    erased: bool
    token: str


class Accepted(BaseModel):
    """The turn is in the log."""

    ok: Literal[True]
    receipt: ReceiptFields


class Refused(BaseModel):
    """The turn was refused and is now a dead letter."""

    ok: Literal[False]
    error: ErrorFields


class EventMessage(BaseModel):
    """One event of the log. Personal fields in `data` are encrypted."""

    tenant: str
    stream: str
    seq: int = Field(ge=1, description="1, 2, 3, ... within the stream, without gaps.")
    event_id: UUID
    type: str
    version: int
    tags: list[str]
    meta: dict[str, str]
    occurred_at: datetime
    recorded_at: datetime
    data: str | None = Field(description="The event's bytes in base64; null when no message can hold them.")
    link: str = Field(description="The event's place in the keyed chain, in hex.")


HEADERS: Mapping[str, Mapping[str, str]] = {
    "turns": {
        MESSAGE_ID: f"JetStream drops a second message with the same id within {DEDUPE_SECONDS:.0f} seconds, whoever "
        "sent the first: take one that nobody guesses, or none.",
        REPLY_TO: "Where the receipt shall go: below `mnemolog.receipts.<tenant>.<producer>`, and nowhere else.",
    },
    "events": {
        MESSAGE_ID: "The event's id.",
        MAC: "HMAC-SHA256 of the body under a key of the deployment, in hex. What has none is not from an engine.",
        "Mnemolog-Tenant": "The tenant.",
        "Mnemolog-Stream": "The stream.",
        "Mnemolog-Seq": "The seq in the stream.",
        "Mnemolog-Version": "The version of the event's schema.",
    },
    "dead-letters": {
        REASON: "Why it was refused: a JSON object with code, message, field, fix.",
        CUT: "Its length in bytes, when its end had to give way to the reason.",
        ORIGINAL_HEADERS: "The headers that the producer gave it for itself, as a JSON object.",
    },
}
ADDRESSES = {
    "turns": "mnemolog.turns.{tenant}.{producer}",
    "events": "mnemolog.events.{partition}.{type}",
    "receipts": "mnemolog.receipts.{tenant}.{producer}.{place}",
    "dead-letters": "mnemolog.dead.turns.{tenant}.{producer}",
}
PARAMETERS = {
    "tenant": {"description": "The tenant; what is not a letter, digit, _ or - of ASCII is percent-encoded."},
    "partition": {"description": "p0 to p63, by stream: all events of a stream share one."},
    "type": {"description": "The event's type, such as MemoryCreated."},
    "producer": {"description": "Its name, as `mnemolog producer add` made it: what it may reach follows from it."},
    "place": {"description": "Tokens of the producer's own."},
}
STREAMS = {"turns": TURNS, "events": EVENTS, "dead-letters": DEAD_LETTERS}


def document() -> Document:
    """The whole description, as JSON values."""
    described: Document = published(_by_faststream())
    described["operations"]["turns"]["reply"] = {
        "address": {"location": f"$message.header#/{REPLY_TO}"},
        "channel": {"$ref": "#/channels/receipts"},
    }
    described["operations"]["turns"]["x-consumer"] = {"stream": TURNS, "durable": INTAKE, "acknowledgement": "explicit"}
    described["x-limits"] = {
        "text_bytes": MAX_LONG_BYTES,
        "attachments": MAX_ATTACHMENTS,
        "message_bytes": "max_payload of the server, headers counted: 1 MiB by default, 2 MiB embedded",
    }
    for name, channel in described["channels"].items():
        # Replace wildcards by parameters, and add the stream and the headers.
        channel["address"] = ADDRESSES[name]
        channel["parameters"] = {key: value for key, value in PARAMETERS.items() if f"{{{key}}}" in ADDRESSES[name]}
        if name in STREAMS:
            channel["x-jetstream"] = _stream(STREAMS[name])
        [reference] = channel["messages"].values()
        message = described["components"]["messages"][reference["$ref"].rpartition("/")[2]]
        message.pop("correlationId", None)  # FastStream's; no message here has it.
        if name == "dead-letters":
            message["contentType"] = "application/octet-stream"
        if name in HEADERS:
            properties = {header: {"type": "string", "description": text} for header, text in HEADERS[name].items()}
            message["headers"] = {"type": "object", "properties": properties}
    return described


def turn_schema() -> Document:
    """The JSON Schema of a turn, for producers in any language."""
    return {"$schema": JSON_SCHEMA, **published(TurnMessage.model_json_schema())}


def as_json(described: Document) -> str:
    return json.dumps(described, indent=2, ensure_ascii=False)


def as_yaml(described: Document) -> str:
    return str(yaml.safe_dump(described, sort_keys=False, allow_unicode=True)).rstrip()


def _by_faststream() -> Document:
    """From a broker that never connects. Its handlers are typed; the real ones take raw messages."""
    described = broker(SERVER)

    @described.subscriber(ALL_TURNS, title="turns", description=TURNS_ARE, queue=INTAKE)
    async def on_turn(message: TurnMessage) -> None:
        """Only its types matter."""

    events_are = "Every event of the log, in the order of its stream."
    answers_are = "The answer to a turn that named a place for it, once it is in the log or refused."
    letters_are = "Turns that were refused, as they came; of a long one, its beginning."
    described.publisher("mnemolog.events.*.*", title="events", description=events_are, schema=EventMessage)
    described.publisher(ALL_RECEIPTS, title="receipts", description=answers_are, schema=Accepted | Refused)
    described.publisher(ALL_DEAD_LETTERS, title="dead-letters", description=letters_are, schema=bytes)
    title, version = "Mnemolog over NATS", mnemolog.__version__
    text = json.dumps(AsyncAPI(described, title=title, version=version).to_specification().to_jsonable())
    for name in ADDRESSES:  # FastStream joins names with colons, which keys of components may not contain.
        text = text.replace(f"{name}:Message:", f"{name}.").replace(f"{name}:", f"{name}.")
    found: Document = json.loads(text)
    return found


def _stream(name: str) -> Document:
    [config] = [one for one in StreamLimits().configs() if one.name == name]
    kinds = {"retention": config.retention, "storage": config.storage, "discard": config.discard}
    words = {key: value.value if value else "" for key, value in kinds.items()}
    return {"stream": name, **words, "duplicate_window_seconds": config.duplicate_window}
