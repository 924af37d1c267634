"""An event on JetStream: its row as JSON, and the headers that readers in any language route by."""

import json
from base64 import b64decode, b64encode
from datetime import datetime
from uuid import UUID

from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import Header, StoredEvent, StreamId

MESSAGE_ID = "Nats-Msg-Id"


def headers(event: StoredEvent) -> dict[str, str]:
    """A fresh dict each time: nats-py writes into the one it gets."""
    header = event.header
    return {
        MESSAGE_ID: str(header.event_id),
        "Mnemolog-Tenant": header.stream.tenant,
        "Mnemolog-Stream": header.stream.name,
        "Mnemolog-Seq": str(header.seq),
        "Mnemolog-Version": str(header.version),
    }


def pack(event: StoredEvent) -> bytes:
    header = event.header
    fields = {
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
        "data": b64encode(event.data).decode(),
        "link": event.link.hex(),
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def unpack(body: bytes) -> StoredEvent:
    """The event as its row stands in the log; MalformedEvent when the message is something else."""
    try:
        fields = json.loads(body)
        header = Header(
            StreamId(fields["tenant"], fields["stream"]),
            fields["seq"],
            UUID(fields["event_id"]),
            fields["type"],
            fields["version"],
            tuple(fields["tags"]),
            fields["meta"],
            datetime.fromisoformat(fields["occurred_at"]),
            datetime.fromisoformat(fields["recorded_at"]),
        )
        return StoredEvent(header, b64decode(fields["data"]), bytes.fromhex(fields["link"]))
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedEvent(f"a message on the event stream is no event: {error}", field="message") from error
