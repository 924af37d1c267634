"""Keeps one vector a memory, of its current text. Exactly once: rows and progress share a transaction.

Embeddings are kept by memory, model and content, so that a rebuild does not pay twice; an erasure takes them along.
"""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

from sqlalchemy import MetaData, delete, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.memory import ContentEvent
from mnemolog.projections.rows import Key, among, matches, owner
from mnemolog.projections.vectors.embedder import Embedder, Vectors
from mnemolog.projections.vectors.tables import NAME, embeddings, metadata, vectors


class VectorsProjector:
    name = NAME
    version = 1
    tables: MetaData = metadata

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # Another model finds no vectors of this one: it gets tables of its own, filled from the log.
        self.variant = re.sub(r"[^a-z0-9]+", "_", embedder.model.lower())[:30]

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        await _forget(connection, batch)
        texts = _texts(batch)
        hashes = {key: sha256(text.encode()).digest() for key, text in texts.items()}
        written = await self._write(connection, hashes)
        missing = [key for key in texts if key not in written]
        if missing:
            made = await asyncio.to_thread(self._embedder.embed, [texts[key] for key in missing])
            await self._keep(connection, dict(zip(missing, made, strict=True)), hashes)
            await self._write(connection, {key: hashes[key] for key in missing})

    async def _write(self, connection: AsyncConnection, hashes: Mapping[Key, bytes]) -> set[Key]:
        """Those of these vectors that are kept already, which no client ever sees: they go from table to table."""
        if not hashes:
            return set()
        wanted = among((*_KEY, embeddings.c.content_hash), [(*key, digest) for key, digest in hashes.items()])
        kept = select(*_KEY, embeddings.c.model, embeddings.c.embedding).join(
            wanted, matches((*_KEY, embeddings.c.content_hash), wanted) & (embeddings.c.model == self._embedder.model)
        )
        statement = insert(vectors).from_select([column.name for column in vectors.columns], kept)
        replaced = {name: statement.excluded[name] for name in ("model", "embedding")}
        replacing = statement.on_conflict_do_update(index_elements=[*vectors.primary_key.columns], set_=replaced)
        written = await connection.execute(replacing.returning(*vectors.primary_key.columns))
        return {(row[0], row[1], row[2]) for row in written}

    async def _keep(
        self, connection: AsyncConnection, fresh: Mapping[Key, Vectors], hashes: Mapping[Key, bytes]
    ) -> None:
        names = ("tenant", "user_id", "memory_id")
        rows = [
            {
                **dict(zip(names, key, strict=True)),
                "model": self._embedder.model,
                "content_hash": hashes[key],
                "embedding": fresh[key],
            }
            for key in sorted(fresh)  # One order for all writers, so that they cannot deadlock.
        ]
        await connection.execute(insert(embeddings).on_conflict_do_nothing(), rows)


_KEY = (embeddings.c.tenant, embeddings.c.user_id, embeddings.c.memory_id)


def _texts(batch: Sequence[Recorded]) -> dict[Key, str]:
    """The last text of each memory; none of what is erased, whether its erasure is in this batch or comes later."""
    texts: dict[Key, str] = {}
    for event in batch:
        match event.payload:
            case ContentEvent(memory_id=memory_id, text=text):
                texts[*owner(event), memory_id] = text
            case MemoryErased(memory_id=memory_id):
                texts.pop((*owner(event), memory_id), None)
    return {key: text for key, text in texts.items() if text}


async def _forget(connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
    """The vectors of what is erased, and of an erased user the embeddings that are kept beside the projection."""
    gone: Collection[Key] = {
        (*owner(event), event.payload.memory_id) for event in batch if isinstance(event.payload, MemoryErased)
    }
    if gone:
        memory = (vectors.c.tenant, vectors.c.user_id, vectors.c.memory_id)
        await connection.execute(delete(vectors).where(tuple_(*memory).in_(sorted(gone))))
        await connection.execute(delete(embeddings).where(tuple_(*_KEY).in_(sorted(gone))))
    users = {owner(event) for event in batch if isinstance(event.payload, UserErased)}
    if users:
        await connection.execute(delete(embeddings).where(tuple_(*_KEY[:2]).in_(sorted(users))))
