"""Samples of stored events, as files: one event each, with the fields of its header and its data as text."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from mnemolog.events.envelope import Header, StoredEvent, StreamId
from tests.testkit.cipher import ShreddingCipher


def sample(folder: Path, name: str, version: int) -> StoredEvent:
    """The event in `<folder>/<name>.v<version>.json`."""
    fields: dict[str, Any] = json.loads((folder / f"{name}.v{version}.json").read_text(encoding="utf-8"))
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
    return StoredEvent(header, fields["data"].encode(), bytes.fromhex(fields["link"]))


def erased(event: StoredEvent, cipher: ShreddingCipher) -> tuple[StoredEvent, ShreddingCipher]:
    """The same event, sealed by a cipher that has lost its key."""
    body = json.loads(event.data)
    stream, scope = event.header.stream, body["scope"]
    body["sealed"] = cipher.seal(stream, scope, body["sealed"]["fields"])
    cipher.destroy(stream, scope)
    return replace(event, data=json.dumps(body).encode()), cipher
