"""Keeps one vector for the current text of each memory, and for each message, text of an artifact and chunk.

As often as the index behind the port does it: exactly once on pgvector, whose rows share a transaction with the
progress.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.document import indexed_text as text_of_chunk
from mnemolog.domain.message import subject_id
from mnemolog.events.artifacts import ArtifactTextAdded, text_id
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.documents import DocumentChunksStored
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.event import Event
from mnemolog.events.memory import ContentEvent
from mnemolog.events.message import MessagesErased
from mnemolog.events.message_fold import MESSAGE
from mnemolog.projections.conversation.projector import indexed_text
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import owner
from mnemolog.projections.preparing import Unprepared, made
from mnemolog.projections.rows import Key
from mnemolog.projections.vectors.embedder import Embedder, Vectors
from mnemolog.projections.vectors.index import Point, Text, VectorIndex

NAME = "vectors"
MAX_VARIANT = 30  # characters, because it is part of a schema's name
# Up to this many texts are looked up in the cache first, which saves a round trip. With more, as in a replay, most
# embeddings are in the tables and need not be sent there again.
FEW = 16


def variant_of(embedder: Embedder) -> str:
    """Another model cannot use these vectors: it gets its own tables, filled from the log."""
    name = re.sub(r"[^a-z0-9]+", "_", embedder.model.lower())
    if len(name) <= MAX_VARIANT:
        return name
    return f"{name[: MAX_VARIANT - 9]}_{sha256(embedder.model.encode()).hexdigest()[:8]}"


class VectorsProjector:
    name = NAME
    version = 4
    readable_from = 1
    kinds = Kinds(
        ContentEvent | TurnRecorded | MemoryErased | MessagesErased | ArtifactTextAdded | DocumentChunksStored
    )

    def __init__(self, embedder: Embedder, index: VectorIndex) -> None:
        self._embedder, self._index = embedder, index
        self.tables: MetaData = index.tables
        self.variant = variant_of(embedder)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        # What is erased; for an erased user only earlier texts, because a replay finds later embeddings as well.
        gone: Collection[Key] = {(*owner(event), id_) for event in batch for id_ in _erased(event.payload)}
        await self._index.remove(connection, gone)
        users = {owner(event): event.seq for event in batch if isinstance(event.payload, UserErased)}
        for whose, seq in sorted(users.items()):
            await self._index.forget(connection, whose, seq)
        said, model = _texts(batch), self._embedder.model
        texts = [one.text for one in said.values()]
        cached = self._embedder.cached(texts) if len(texts) <= FEW else {}
        fresh = {key: cached[one.text] for key, one in said.items() if one.text in cached}
        wanted = [Text(key, one.digest, one.seq) for key, one in said.items() if key not in fresh]
        written = await self._index.put_kept(connection, model, wanted)
        missing = [one.key for one in wanted if one.key not in written]
        if missing:
            fresh |= self._made({key: said[key].text for key in missing})
        if fresh:
            points = [Point(key, said[key].digest, said[key].seq, vector) for key, vector in fresh.items()]
            await self._index.put(connection, model, points)

    def _made(self, texts: Mapping[Key, str]) -> Mapping[Key, Vectors]:
        """The vectors of these texts; Unprepared if any is missing."""
        vectors_of, model = made(), self._embedder.model
        found = {text: vectors_of[model, text] for text in texts.values() if (model, text) in vectors_of}
        found |= self._embedder.cached([text for text in texts.values() if text not in found])
        lacking = [text for text in dict.fromkeys(texts.values()) if text not in found]
        if lacking:
            raise Unprepared(partial(self._make, lacking))
        return {key: found[text] for key, text in texts.items()}

    async def _make(self, texts: Sequence[str]) -> Mapping[tuple[str, str], Vectors]:
        rows = await self._embedder.embed(texts)
        return {(self._embedder.model, text): row for text, row in zip(texts, rows, strict=True)}


def embedded_text(payload: Event) -> str:
    """The text of a memory or a message that gets a vector; "" for any other event."""
    match payload:
        case ContentEvent(text=text, experience=experience):
            return (experience and experience.embed_text) or text
        case TurnRecorded():
            return indexed_text(payload)
    return ""


def _erased(payload: Event) -> Sequence[UUID]:
    """The ids, in the index, of the memory and the messages that an event erases."""
    own = [payload.memory_id] if isinstance(payload, MemoryErased) else []
    return [*own, *map(subject_id, MESSAGE.touched(payload) if payload.shreds() else ())]


class _Said(NamedTuple):
    text: str
    digest: bytes
    seq: int


def _texts(batch: Sequence[Recorded]) -> dict[Key, _Said]:
    """The texts of messages, artifacts and chunks, the last text of each memory; none that is erased now or later."""
    said: dict[Key, tuple[str, int]] = {}
    for event in batch:
        match event.payload:
            case ContentEvent(memory_id=memory_id):
                said[*owner(event), memory_id] = (embedded_text(event.payload), event.seq)
            case TurnRecorded(turn_id=turn_id):
                said[*owner(event), subject_id(turn_id)] = (embedded_text(event.payload), event.seq)
            case ArtifactTextAdded(passages=passages):  # Empty once erased: the erasure removes what stands here.
                for place, passage in enumerate(passages):
                    said[*owner(event), text_id(event.event_id, place)] = (passage.text, event.seq)
            case DocumentChunksStored(chunk_ids=chunk_ids, chunks=chunks):  # Likewise.
                for id_, chunk in zip(chunk_ids, chunks, strict=False):
                    said[*owner(event), id_] = (text_of_chunk(chunk.place, chunk.text), event.seq)
            case payload:
                for id_ in _erased(payload):
                    said.pop((*owner(event), id_), None)
    return {key: _Said(text, sha256(text.encode()).digest()[:16], seq) for key, (text, seq) in said.items() if text}
