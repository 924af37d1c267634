"""The vector index on Qdrant: it proposes the nearest subjects, and the rows in Postgres decide (ADR 69)."""

import asyncio
import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from uuid import UUID, uuid5

import numpy as np
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse
from qdrant_client.models import (
    CreateAlias,
    CreateAliasOperation,
    Distance,
    FieldCondition,
    Filter,
    HnswConfigDiff,
    KeywordIndexParams,
    KeywordIndexType,
    MatchValue,
    PayloadSchemaType,
    PointIdsList,
    PointStruct,
    Record,
    ScoredPoint,
    VectorParams,
)
from sqlalchemy import MetaData, Row, Select, select, true, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.pgvector import PgVectorIndex
from mnemolog.adapters.pgvector.tables import vectors
from mnemolog.adapters.postgres.sqlalchemy import alone
from mnemolog.domain.errors import ServerFailed
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId
from mnemolog.projections.former import FormerSchema
from mnemolog.projections.full_text import Searchable
from mnemolog.projections.owner import Owner, indexed
from mnemolog.projections.raw_sql import live_schema, options_of, schema_of
from mnemolog.projections.rows import Key
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.index import Point, Text
from mnemolog.projections.vectors.projector import NAME
from mnemolog.projections.visibility import viewed

POINTS = UUID("5d0f6a35-7d1f-5c43-9b5e-2f1b8c0d9a17")  # Derives the id of a point from its owner and subject.
WIDER = 4  # How many more it asks for than are wanted, and again each time that filters leave too few.
PAGE = 500
# A search holds a connection of Postgres meanwhile, and Postgres can answer by itself.
ANSWER_SECONDS = 2.0
ALONE_SECONDS = 10.0  # After a failure, Postgres searches alone for so long.
KEY = (*indexed(vectors), vectors.c.subject_id)
Hashed = tuple[bytes, Vectors]  # The hash of a text, and its vector.
FAILURES = (ApiException, QdrantException, OSError)

_logger = logging.getLogger("mnemolog.projections")


class QdrantIndex:
    """Implements `mnemolog.projections.vectors.index.VectorIndex`.

    The embeddings stand in Postgres as ever: sealed, rebuilt and compared there. The live ones are copied to a
    collection, which a search asks for the nearest of one user; Postgres filters and orders these. So an index that is
    late, or was changed by somebody, finds too little, but shows nothing that it must not. Until a collection is
    complete, and if the server does not answer, Postgres searches alone.
    """

    def __init__(self, client: AsyncQdrantClient, prefix: str) -> None:
        self._client, self._prefix, self._rows = client, prefix, PgVectorIndex()
        self._there, self._complete, self._settled = set[str](), set[str](), set[str]()
        self._alone_until = float("-inf")
        self.tables: MetaData = self._rows.tables

    async def put(self, connection: AsyncConnection, model: str, points: Sequence[Point]) -> None:
        await self._rows.put(connection, model, points)
        if _is_copied(connection):
            await connection.execute(select(true()))  # Sends the deferred rows: their locks come before the points.
        await self._copy(connection, model, {one.key: (one.content_hash, one.vector) for one in points})

    async def put_kept(self, connection: AsyncConnection, model: str, wanted: Sequence[Text]) -> Collection[Key]:
        keys = await self._rows.put_kept(connection, model, wanted)
        if keys and _is_copied(connection):
            rows = (await connection.execute(_of(keys))).all()
            await self._copy(connection, model, _copied(rows, model))
        return keys

    async def remove(self, connection: AsyncConnection, keys: Collection[Key]) -> None:
        await self._rows.remove(connection, keys)
        if keys and _is_live(connection):
            await self._delete(PointIdsList(points=[str(_id(key)) for key in keys]))

    async def forget(self, connection: AsyncConnection, owner: Owner, before: int) -> None:
        await self._rows.forget(connection, owner, before)
        if _is_live(connection):
            await self._delete(Filter(must=[_is("owner", _stream(owner))]))

    async def held_outside(self, owner: Owner) -> Sequence[tuple[str, UUID]]:
        """In the collections of former models and versions as well."""
        of_owner = Filter(must=[_is("owner", _stream(owner))])
        found = list[tuple[str, UUID]]()
        try:
            for name in await self._collections():
                with _or_gone():
                    found += [(name, _subject(one)) for one in await self._points(name, of_owner)]
        except FAILURES as error:
            raise _unavailable(error) from error
        return found

    async def settle(self, connection: AsyncConnection, *, rebuilt: bool) -> None:
        """Copy every live vector that the collection lacks; an alias says that this was done. A crash repeats it.

        An alias from before says little: the setting may have been off meanwhile, or a backup restored on either side.
        """
        await self._rows.settle(connection, rebuilt=rebuilt)
        name = self._collection(connection)
        try:
            if rebuilt:
                self._lose(name)
                await self._client.delete_collection(name)
            await self._copy_lacking(connection, name)
        except FAILURES as error:
            raise _unavailable(error) from error

    async def is_settled(self, engine: AsyncEngine) -> bool:
        async with alone(engine) as connection:
            name = self._collection(connection)
            try:
                if name not in self._settled:
                    return False
                self._complete.discard(name)
                return await self._is_complete(name) or not await self._rows_are_there(connection)
            except FAILURES:  # It is asked again.
                return True

    async def maintain(self, connection: AsyncConnection) -> int:
        """Nothing: the collection has an index for each owner."""
        return 0

    async def _copy_lacking(self, connection: AsyncConnection, name: str) -> None:
        """Vectors are locked until they are copied: one that is replaced meanwhile is copied after it."""
        page = select(*KEY, vectors.c.model, vectors.c.content_hash).order_by(*KEY).limit(PAGE)
        last: Key | None = None
        while True:
            beyond = page if last is None else page.where(tuple_(*KEY) > last)
            rows = (await connection.execute(beyond)).all()
            wanted = {tuple(row[: len(KEY)]): (row.model, row.content_hash.hex()) for row in rows}
            there = await self._held(name, list(wanted))
            lacking = [one for one, text in wanted.items() if there.get(str(_id(one))) != text]
            if lacking:
                found = (await connection.execute(_of(lacking).with_for_update())).all()
                for model in {row.model for row in found}:
                    await self._copy(connection, model, _copied(found, model))
            await connection.commit()
            if len(rows) < PAGE:
                break
            last = tuple(rows[-1][: len(KEY)])
        self._settled.add(name)
        if name in self._there or await self._client.collection_exists(name):
            await self._name_complete(name)

    async def _held(self, name: str, keys: Sequence[Key]) -> Mapping[str, tuple[Any, Any]]:
        """The model and the hash of the text of each of these points that the collection has."""
        if not keys or not await self._client.collection_exists(name):
            return {}
        ids = [str(_id(key)) for key in keys]
        points = await self._client.retrieve(name, ids, with_payload=["model", "hash"])
        payloads = {str(one.id): one.payload or {} for one in points}
        return {id_: (payload.get("model"), payload.get("hash")) for id_, payload in payloads.items()}

    async def _rows_are_there(self, connection: AsyncConnection) -> bool:
        return (await connection.execute(select(vectors.c.subject_id).limit(1))).first() is not None

    def _lose(self, name: str) -> None:
        for known in (self._there, self._complete, self._settled):
            known.discard(name)

    async def _name_complete(self, name: str) -> None:
        alias = CreateAliasOperation(create_alias=CreateAlias(collection_name=name, alias_name=_alias(name)))
        await self._client.update_collection_aliases([alias])
        self._there.add(name)
        self._complete.add(name)

    async def vectors_of(
        self, connection: AsyncConnection, viewer: Viewer, ids: Collection[UUID]
    ) -> Mapping[UUID, Vectors]:
        return await self._rows.vectors_of(connection, viewer, ids)

    async def dimensions(self, connection: AsyncConnection, model: str) -> int | None:
        return await self._rows.dimensions(connection, model)

    async def search(
        self,
        connection: AsyncConnection,
        viewer: Viewer,
        candidates: Searchable,
        model: str,
        vector: Vectors,
        limit: int,
        only: Collection[UUID] | None = None,
    ) -> Mapping[UUID, float]:
        wanted, alone = limit, only is not None or not _is_live(connection)
        while not alone:
            wanted *= WIDER
            near = await self._proposed(self._collection(connection), viewer, model, vector, wanted)
            if near is None:
                break
            found = await self._rows.search(connection, viewer, candidates, model, vector, limit, near)
            if len(found) == limit:
                return found
            if len(near) < wanted:  # So few are cheap to look at, and some may be lacking there.
                break
        return await self._rows.search(connection, viewer, candidates, model, vector, limit, only)

    async def _proposed(
        self, name: str, viewer: Viewer, model: str, vector: Vectors, limit: int
    ) -> Collection[UUID] | None:
        """The nearest that Qdrant has, some of which may be nobody's; None if Postgres is to search alone."""
        if time.monotonic() < self._alone_until:
            return None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if await self._is_complete(name):
                    asked = await self._client.query_points(
                        _alias(name),
                        query=np.asarray(vector, dtype=np.float32).tolist(),
                        query_filter=Filter(must=[_is("owner", str(viewed(viewer))), _is("model", model)]),
                        limit=limit,
                        with_payload=["subject"],
                    )
                    return [_subject(one) for one in asked.points]
        except FAILURES as error:
            if _is_gone(error):
                self._complete.discard(name)
                return None
            self._alone_until = time.monotonic() + ALONE_SECONDS
            _logger.warning("Qdrant does not answer (%s): Postgres searches instead", type(error).__name__)
        return None

    async def _copy(self, connection: AsyncConnection, model: str, found: Mapping[Key, Hashed]) -> None:
        if not found or not _is_copied(connection):
            return
        name = self._collection(connection)
        points = [
            PointStruct(
                id=str(_id(key)),
                vector=np.asarray(vector, dtype=np.float32).tolist(),
                payload={"owner": _stream(key[:3]), "model": model, "subject": str(key[3]), "hash": digest.hex()},
            )
            for key, (digest, vector) in found.items()
        ]
        try:
            _, first = next(iter(found.values()))
            await self._create(name, len(first))
            await self._client.upsert(name, points, wait=True)
        except FAILURES as error:
            if _is_gone(error):  # The server lost its data: what is tried again finds out.
                self._lose(name)
            raise _unavailable(error) from error

    async def _create(self, name: str, dimensions: int) -> None:
        """Create the collection unless it is there: one graph of neighbours for each owner, and none across them."""
        if name in self._there:
            return
        if not await self._client.collection_exists(name):
            try:
                await self._client.create_collection(
                    name,
                    vectors_config=VectorParams(size=dimensions, distance=Distance.COSINE),
                    hnsw_config=HnswConfigDiff(m=0, payload_m=16),
                )
            except (UnexpectedResponse, ValueError):  # Another process created it meanwhile.
                if not await self._client.collection_exists(name):
                    raise
            of_owner = KeywordIndexParams(type=KeywordIndexType.KEYWORD, is_tenant=True)
            await self._client.create_payload_index(name, "owner", of_owner, wait=True)
            await self._client.create_payload_index(name, "model", PayloadSchemaType.KEYWORD, wait=True)
            if name in self._settled:  # It has the first vector of all.
                await self._name_complete(name)
        self._there.add(name)

    async def _is_complete(self, name: str) -> bool:
        if name not in self._complete:
            aliases = (await self._client.get_aliases()).aliases
            if not any((one.alias_name, one.collection_name) == (_alias(name), name) for one in aliases):
                return False
            self._there.add(name)
            self._complete.add(name)
        return True

    def _collection(self, connection: AsyncConnection) -> str:
        return f"{self._prefix}-{live_schema(connection, NAME)}"

    async def _delete(self, which: PointIdsList | Filter) -> None:
        """From the collections of former models and versions as well, which stay."""
        try:
            for name in await self._collections():
                with _or_gone():
                    await self._client.delete(name, which, wait=True)
        except FAILURES as error:
            raise _unavailable(error) from error

    async def _points(self, name: str, which: Filter) -> Sequence[Record]:
        found, more = await self._client.scroll(name, which, PAGE, with_payload=["subject"])
        while more is not None:
            page, more = await self._client.scroll(name, which, PAGE, offset=more, with_payload=["subject"])
            found += page
        return found

    async def _collections(self) -> Sequence[str]:
        found = (await self._client.get_collections()).collections
        return [one.name for one in found if one.name.startswith(f"{self._prefix}-")]


def _of(keys: Collection[Key]) -> Select[Any]:
    wanted = tuple_(*KEY).in_(sorted(keys))
    return select(*KEY, vectors.c.model, vectors.c.content_hash, vectors.c.embedding).where(wanted)


def _copied(rows: Sequence[Row[Any]], model: str) -> Mapping[Key, Hashed]:
    return {tuple(row[: len(KEY)]): (row.content_hash, row.embedding) for row in rows if row.model == model}


@contextmanager
def _or_gone() -> Iterator[None]:
    """What was in a collection that another process deleted is gone."""
    try:
        yield
    except FAILURES as error:
        if not _is_gone(error):
            raise


def _is_gone(error: Exception) -> bool:
    """Whether the server answered that it has no such collection, or alias of one."""
    return isinstance(error, UnexpectedResponse) and error.status_code == HTTPStatus.NOT_FOUND


def _is_live(connection: AsyncConnection) -> bool:
    """Neither a shadow, nor a replay's tables, nor those of another model or version."""
    return schema_of(connection, vectors) == live_schema(connection, NAME)


def _is_copied(connection: AsyncConnection) -> bool:
    """Not while the live schema shows those of a former model or version, whose vectors may have another length."""
    place = options_of(connection)["schema_translate_map"][NAME]
    return _is_live(connection) and not isinstance(place, FormerSchema)


def _alias(collection: str) -> str:
    """Its name once it is complete."""
    return f"{collection}-complete"


def _stream(owner: Sequence[Any]) -> str:
    tenant, kind, whose = owner
    return str(StreamId(tenant, f"{kind}:{whose}"))


def _id(key: Key) -> UUID:
    """Two users may have a subject of the same id, since one may import what the other exported."""
    return uuid5(POINTS, f"{_stream(key[:3])}\n{key[3]}")


def _subject(point: ScoredPoint | Record) -> UUID:
    """One that somebody else wrote may name none; no subject has this id."""
    try:
        return UUID((point.payload or {})["subject"])
    except (KeyError, ValueError, TypeError, AttributeError):
        return POINTS


def _is(name: str, value: str) -> FieldCondition:
    return FieldCondition(key=name, match=MatchValue(value=value))


class QdrantUnavailable(ServerFailed, ConnectionError):
    """Transient for a projection, like any server that cannot be reached."""


def _unavailable(error: Exception) -> QdrantUnavailable:
    return QdrantUnavailable(
        f"Qdrant does not answer ({type(error).__name__})", field="vectors_url", fix="start it, or try again"
    )
