"""Keeps one vector a memory, of its current text. Exactly once: rows and progress share a transaction.

Embeddings are looked up by model and content first, so that neither a rebuild nor a repeated sentence pays twice.
"""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

from sqlalchemy import MetaData, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded
from mnemolog.events.memory import ContentEvent
from mnemolog.projections.rows import Key, owner, upsert
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
        texts: dict[Key, str] = {}
        for event in batch:
            if isinstance(event.payload, ContentEvent):
                texts[*owner(event), event.payload.memory_id] = event.payload.text
        embedded = await self._embedded(connection, set(texts.values()))
        rows = [
            {
                "tenant": tenant,
                "user_id": user_id,
                "memory_id": memory_id,
                "model": self._embedder.model,
                "embedding": embedded[text],
            }
            for (tenant, user_id, memory_id), text in texts.items()
        ]
        await upsert(connection, vectors, rows)

    async def _embedded(self, connection: AsyncConnection, texts: Collection[str]) -> Mapping[str, Vectors]:
        hashes = {sha256(text.encode()).digest(): text for text in sorted(texts)}
        known = await self._known(connection, list(hashes))
        missing = [text for digest, text in hashes.items() if digest not in known]
        if missing:
            fresh = dict(zip(missing, await asyncio.to_thread(self._embedder.embed, missing), strict=True))
            await self._keep(connection, fresh)
            known.update({sha256(text.encode()).digest(): vector for text, vector in fresh.items()})
        return {text: known[digest] for digest, text in hashes.items()}

    async def _known(self, connection: AsyncConnection, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
        statement = select(embeddings.c.content_hash, embeddings.c.embedding).where(
            embeddings.c.model == self._embedder.model, embeddings.c.content_hash.in_(hashes)
        )
        return {bytes(row[0]): row[1] for row in await connection.execute(statement)}

    async def _keep(self, connection: AsyncConnection, fresh: Mapping[str, Vectors]) -> None:
        # One order for all writers, so that they cannot deadlock.
        hashed = sorted(((sha256(text.encode()).digest(), vector) for text, vector in fresh.items()), key=_hash_of)
        rows = [{"model": self._embedder.model, "content_hash": key, "embedding": vector} for key, vector in hashed]
        await connection.execute(insert(embeddings).on_conflict_do_nothing(), rows)


def _hash_of(entry: tuple[bytes, Vectors]) -> bytes:
    return entry[0]
