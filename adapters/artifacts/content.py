"""The content of artifacts: encrypted with a key of its own, which only the event has.

Without that key, which an erasure destroys, what is in the blob store cannot be read.
"""

import asyncio
import mimetypes
import os
from base64 import b64decode, b64encode
from collections.abc import Collection
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from mnemolog.adapters.artifacts.media_type import detected
from mnemolog.adapters.artifacts.uploads import discard, keep, upload
from mnemolog.adapters.blobs.store import blob_name
from mnemolog.adapters.encryption import KEY_BYTES, unsealed, wrapped
from mnemolog.adapters.services import Services
from mnemolog.commands.artifacts import ARTIFACTS, StoreArtifact, same_content
from mnemolog.domain.artifact import ArtifactType, erased_artifact
from mnemolog.domain.errors import Conflict, InvalidInput, ServerFailed
from mnemolog.events.artifacts import ArtifactEvent, ArtifactStored, artifact_tag, blobs_in
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.fields import validated
from mnemolog.events.log import event_of

UNKNOWN = "application/octet-stream"
TYPES = {"image": ArtifactType.IMAGE, "audio": ArtifactType.AUDIO, "video": ArtifactType.VIDEO}


async def store(
    engine: Services,
    content: bytes | None,
    fields: dict[str, Any],
    idempotency_key: str | None = None,
    kind: type[StoreArtifact] = StoreArtifact,
    occurred_at: datetime | None = None,
) -> tuple[UUID, Receipt]:
    """Store a file, or a link if there is no content; returns its id, which is the existing one for known content.

    `occurred_at`: when it was sent.
    """
    command = _command(engine, content, fields, kind)
    uploaded, known = None, same_content(await engine.writes.handler.read(ARTIFACTS, command), command)
    if content is not None and known is None:
        key = os.urandom(KEY_BYTES)
        box = await asyncio.to_thread(wrapped, key, content, _context(command.artifact_id), os.urandom)
        blob = sha256(box).hexdigest()
        uploaded = await upload(engine, command.stream(), blob, box)
        command = command.model_copy(update={"blob": blob, "content_key": b64encode(key).decode()})
    try:
        receipt = await engine.writes.handler.handle(
            ARTIFACTS, command, occurred_at=occurred_at, idempotency_key=idempotency_key
        )
    except Conflict:  # Nothing was written.
        if uploaded:
            await discard(engine, uploaded)
        raise
    first = await event_of(engine.log, receipt)
    assert isinstance(first, ArtifactEvent)
    if uploaded:  # The same content may have been stored first.
        await (keep if first.artifact_id == command.artifact_id else discard)(engine, uploaded)
    # The receipt of what changed nothing is that of the latest artifact of this content, and there may be several.
    return known.artifact_id if known and receipt.already else first.artifact_id, receipt


async def ids_of(
    engine: Services, content: bytes, fields: dict[str, Any], kind: type[StoreArtifact]
) -> Collection[UUID]:
    """The artifacts that have this content, or had it before they were erased."""
    return (await engine.writes.handler.read(ARTIFACTS, _command(engine, content, fields, kind))).known


def _command(
    engine: Services, content: bytes | None, fields: dict[str, Any], kind: type[StoreArtifact]
) -> StoreArtifact:
    url, name = fields.get("url", ""), fields.get("name", "")
    if (content is None) == (not url):
        raise InvalidInput("give either a file or a URL", field="content", fix="pass the bytes, or `url` for a link")
    if content is not None and fields.get("type") is ArtifactType.LINK:
        raise InvalidInput("is `link`, but a file was sent", field="type", fix="omit it, or send `url` and no file")
    if content is not None and not content:
        raise InvalidInput("is empty", field="content", fix="send a file of at least one byte")
    if content is not None and len(content) > (limit := engine.settings.artifact_max_bytes):
        message = f"has {len(content):,} bytes, at most {limit:,} are accepted"
        raise InvalidInput(message, field="content", fix="send a smaller file, or raise `artifact_max_bytes`")
    mime = _mime(fields.get("mime", ""), name, content)
    own = {
        "artifact_id": fields.get("artifact_id") or engine.writes.new_id(),
        "type": fields.get("type") or (ArtifactType.LINK if url else TYPES.get(mime.split("/")[0], ArtifactType.FILE)),
        "mime": mime,
        "size_bytes": len(content or b""),
        "sha256": sha256(content if content is not None else url.encode()).hexdigest(),
    }
    return engine.writes.admitted(validated(kind, {**fields, **own}))


def _mime(declared: str, name: str, content: bytes | None) -> str:
    """As declared, by the name, or from the content. Clients declare `UNKNOWN` when they know nothing."""
    if declared not in ("", UNKNOWN):
        return declared
    if by_name := mimetypes.guess_type(name)[0]:
        return by_name
    return declared if content is None else detected(content) or UNKNOWN


async def load(engine: Services, stream: StreamId, artifact_id: UUID) -> bytes:
    """The content of an artifact; Erased if it was erased. The caller has checked the permission."""
    stored = [
        event.payload
        for event in await engine.log.read(stream, tags=[artifact_tag(artifact_id)])
        if isinstance(event.payload, ArtifactStored)
    ]
    if not stored or not stored[0].content_key:
        raise erased_artifact(artifact_id)
    box = await engine.blobs.get(blob_name(stream, stored[0].blob))
    if box is None:
        raise ServerFailed(
            f"the content of artifact {artifact_id} is missing in the blob store",
            field="artifact_id",
            fix="restore the blob store from a backup",
        )
    return await asyncio.to_thread(unsealed, b64decode(stored[0].content_key), box, _context(artifact_id))


async def delete_blobs(engine: Services, stream: StreamId, tags: Collection[str] | None, until: int) -> None:
    """Delete the blobs of the artifacts with these tags, or of all stored until this seq.

    Uses the headers of events, so that blobs of undecodable events are deleted, too.
    """
    for blob in await blobs_of(engine, stream, tags, until):
        await engine.blobs.delete(blob_name(stream, blob))


async def blobs_of(engine: Services, stream: StreamId, tags: Collection[str] | None, until: int) -> Collection[str]:
    """The blobs that these artifacts have or had."""
    if tags is None:
        headers = [event.header async for batch in engine.log.scan(stream, until=until) for event in batch]
    elif of := [tag for tag in tags if ARTIFACT.has(tag)]:
        headers = [event.header for event in await engine.log.read(stream, tags=of, until=until, unread=True)]
    else:
        headers = []
    return dict.fromkeys(blob for header in headers for blob in blobs_in(header))


def _context(artifact_id: UUID) -> bytes:
    """Binds the ciphertext to its artifact: it cannot be decrypted as another one."""
    return artifact_tag(artifact_id).encode()
