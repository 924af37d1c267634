"""Keeps one vector a memory, of its current text. Exactly once: rows and progress share a transaction.

Embeddings are kept by memory, model and content, so that a rebuild does not pay twice; an erasure takes them along.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from typing import NamedTuple

from psycopg.sql import SQL, Identifier
from sqlalchemy import MetaData, Table, delete, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.memory import ContentEvent
from mnemolog.projections.former import as_written
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import indexed, owner
from mnemolog.projections.preparing import Unprepared, made
from mnemolog.projections.raw_sql import fetch_all, keyed, names, one_each, relation, schema_of, write
from mnemolog.projections.rows import Key
from mnemolog.projections.vectors.embedder import Embedder, Vectors
from mnemolog.projections.vectors.tables import NAME, READABLE_FROM, VERSION, embeddings, metadata, vectors

# So few texts are looked up in the cache first, which saves a round trip. Of many, as a replay brings them, most are
# kept in the tables: they need not be sent there again.
FEW = 16
# The execution option of a connection whose new embeddings are not kept: an erasure may have swept them already.
KEEPS = "mnemolog_keeps_embeddings"


class VectorsProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    tables: MetaData = metadata
    kinds = Kinds(ContentEvent | MemoryErased)

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # Another model finds no vectors of this one: it gets tables of its own, filled from the log.
        self.variant = re.sub(r"[^a-z0-9]+", "_", embedder.model.lower())[:30]

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        await _forget(connection, batch)
        said = _texts(batch)
        texts = [one.text for one in said.values()]
        cached = self._embedder.cached(texts) if len(texts) <= FEW else {}
        fresh = {key: cached[one.text] for key, one in said.items() if one.text in cached}
        written = await self._written(connection, {key: one for key, one in said.items() if key not in fresh})
        missing = [key for key in said if key not in fresh and key not in written]
        if missing:
            fresh |= self._made({key: said[key].text for key in missing})
        if fresh:
            rows = {key: said[key] for key in fresh}
            self._keep(connection, fresh, rows)
            write(connection, *self._writing(connection, rows))
            if not _keeps(connection):
                write(connection, _UNKEEPING, [keyed(_KEY, sorted(rows))])

    def _made(self, texts: Mapping[Key, str]) -> Mapping[Key, Vectors]:
        """The vectors of these; Unprepared when any is still to be made."""
        vectors_of, model = made(), self._embedder.model
        lacking = [text for text in dict.fromkeys(texts.values()) if (model, text) not in vectors_of]
        if lacking:
            raise Unprepared(partial(self._make, lacking))
        return {key: vectors_of[model, text] for key, text in texts.items()}

    async def _make(self, texts: Sequence[str]) -> Mapping[tuple[str, str], Vectors]:
        rows = await self._embedder.embed(texts)
        return {(self._embedder.model, text): row for text, row in zip(texts, rows, strict=True)}

    async def _written(self, connection: AsyncConnection, said: Mapping[Key, "_Said"]) -> set[Key]:
        """Those whose vectors are kept already, which no client ever sees: they go from table to table."""
        return set(await fetch_all(connection, *self._writing(connection, said))) if said else set()

    def _writing(self, connection: AsyncConnection, said: Mapping[Key, "_Said"]) -> tuple[bytes, Sequence[str]]:
        wanted = keyed(_HASHED, sorted((*key, one.digest) for key, one in said.items()))
        shape, _ = as_written(connection, vectors)
        return _writing(shape, schema_of(connection, vectors)), [wanted, self._embedder.model]

    def _keep(self, connection: AsyncConnection, fresh: Mapping[Key, Vectors], said: Mapping[Key, "_Said"]) -> None:
        model = self._embedder.model
        rows = ((*key, model, said[key].digest, vector.tolist(), said[key].seq) for key, vector in fresh.items())
        write(connection, _KEEPING, [keyed(list(embeddings.columns), sorted(rows))])


_KEY = (*indexed(embeddings), embeddings.c.memory_id)
_HASHED = (*_KEY, embeddings.c.content_hash)


@cache
def _writing(table: Table, schema: str) -> bytes:
    """From table to table those that are kept."""
    kept = SQL("SELECT {} FROM mnemolog.embeddings").format(names(table.columns))
    statement = SQL("""
        INSERT INTO {} ({}) SELECT found.* FROM {} CROSS JOIN {} WHERE found.model = %s
        ON CONFLICT ({}) DO UPDATE SET model = excluded.model, embedding = excluded.embedding RETURNING {}
    """)
    place, key = Identifier(schema, table.name), names(table.primary_key.columns)
    found = relation(_HASHED, "wanted"), one_each(kept, _HASHED)
    told = names(vectors.primary_key.columns)
    return statement.format(place, names(table.columns), *found, key, told).as_bytes()


_KEEPING = (
    SQL("INSERT INTO mnemolog.embeddings ({}) SELECT * FROM {} ON CONFLICT DO NOTHING")
    .format(names(embeddings.columns), relation(list(embeddings.columns), "fresh"))
    .as_bytes()
)

# What this transaction added, and nothing that another one did.
_UNKEEPING = (
    SQL("DELETE FROM mnemolog.embeddings AS kept USING {} WHERE ({}) = ({}) AND kept.xmin = pg_current_xact_id()::xid")
    .format(relation(_KEY, "added"), names(_KEY, "kept"), names(_KEY, "added"))
    .as_bytes()
)


def _keeps(connection: AsyncConnection) -> bool:
    sync_connection = connection.sync_connection
    assert sync_connection is not None, "the connection is open"
    return bool(sync_connection.get_execution_options().get(KEEPS, True))


class _Said(NamedTuple):
    text: str
    digest: bytes
    seq: int


def _texts(batch: Sequence[Recorded]) -> dict[Key, _Said]:
    """The last text of each memory; none of what is erased, whether its erasure is in this batch or comes later."""
    said: dict[Key, tuple[str, int]] = {}
    for event in batch:
        match event.payload:
            case ContentEvent(memory_id=memory_id, text=text):
                said[*owner(event), memory_id] = (text, event.seq)
            case MemoryErased(memory_id=memory_id):
                said.pop((*owner(event), memory_id), None)
    return {key: _Said(text, sha256(text.encode()).digest(), seq) for key, (text, seq) in said.items() if text}


async def _forget(connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
    """The vectors of what is erased, and of an erased user the embeddings that are kept beside the projection.

    Of these such as were told before: a replay finds later ones as well.
    """
    gone: Collection[Key] = {
        (*owner(event), event.payload.memory_id) for event in batch if isinstance(event.payload, MemoryErased)
    }
    if gone:
        memory = (*indexed(vectors), vectors.c.memory_id)
        await connection.execute(delete(vectors).where(tuple_(*memory).in_(sorted(gone))))
        await connection.execute(delete(embeddings).where(tuple_(*_KEY).in_(sorted(gone))))
    users = {owner(event): event.seq for event in batch if isinstance(event.payload, UserErased)}
    for whose, seq in sorted(users.items()):
        of_user = tuple_(*indexed(embeddings)) == tuple_(*whose)
        await connection.execute(delete(embeddings).where(of_user & (embeddings.c.seq < seq)))
