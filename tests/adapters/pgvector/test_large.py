"""Owners with many vectors have an approximate index, which finds nearly all that an exact search finds."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import numpy as np
import pytest
from sqlalchemy import Select, select, text

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.minilm import InThread, Lexical
from mnemolog.adapters.pgvector import PgVectorIndex
from mnemolog.adapters.pgvector.tables import vectors
from mnemolog.adapters.postgres.locks import lock_if_free
from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.sqlalchemy import alone
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.projecting.projections import INDEXING, LOOK_SECONDS
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.owner import Owner
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.index import Point
from mnemolog.projections.vectors.projector import VectorsProjector
from mnemolog.projections.visibility import owned
from mnemolog.projections.words import Words

LARGE, MANY, DIMENSIONS, BEST = 200, 1500, 48, 50
MODEL = "a model"
ODD = r"o'dd \ 50% %(x)s $1 :y"
"""A user id of characters that mean something in SQL."""


class Lengthy(Lexical):
    """So that the vectors of this file have tables of their own."""

    model = "large"


@dataclass(frozen=True)
class Subjects:
    """Candidates that are in no other table: those of every `share`th id, or all."""

    share: int = 1

    @property
    def words(self) -> tuple[Words, ...]:
        return ()

    def documents(self, viewer: Viewer) -> Select[Any]:
        number = text(f"('x' || right(subject_id::text, 8))::bit(32)::bigint % {self.share} = 0")
        return select(vectors.c.subject_id.label("id")).where(owned(vectors, viewer), number)


class Place:
    """Tables of vectors of their own, with the index under test."""

    def __init__(self, engine: Engine) -> None:
        self.index = PgVectorIndex(LARGE)
        self.store = PostgresStore(engine.projections.live, VectorsProjector(InThread(Lengthy()), self.index))
        self.live = self.store.writing.execution_options(schema_translate_map=self.store.schemas)

    async def put(self, owner: Owner, rows: Vectors) -> list[UUID]:
        ids = [uuid4() for _ in rows]
        points = [
            Point((*owner, id_), id_.bytes, seq, row) for seq, (id_, row) in enumerate(zip(ids, rows, strict=True))
        ]
        async with self.live.begin() as connection:
            await self.index.put(connection, MODEL, points)
        return ids

    async def maintain(self) -> int:
        async with alone(self.live) as connection:
            return await self.index.maintain(connection)

    async def find(self, viewer: Viewer, vector: Vectors, limit: int = BEST, share: int = 1) -> list[UUID]:
        async with alone(self.live) as connection:
            return list(await self.index.search(connection, viewer, Subjects(share), MODEL, vector, limit))

    async def exact(self, viewer: Viewer, vector: Vectors, limit: int = BEST, share: int = 1) -> list[UUID]:
        """By another index, for which nobody is large."""
        async with alone(self.live) as connection:
            return list(await PgVectorIndex().search(connection, viewer, Subjects(share), MODEL, vector, limit))

    async def scans(self) -> dict[str, int]:
        """How often each approximate index was read."""
        reading = text("""
            SELECT indexrelname, idx_scan FROM pg_stat_all_indexes
            WHERE schemaname = :schema AND starts_with(indexrelname, 'near_')
        """)
        async with alone(self.live) as connection:
            rows = await connection.execute(reading, {"schema": self.store.schema})
            return {name: count for name, count in rows}  # noqa: C416  typed


@pytest.fixture(scope="module")
async def place(engine: Engine) -> AsyncIterator[Place]:
    opened = Place(engine)
    await opened.store.create()
    yield opened
    await opened.store.drop()


def clustered(count: int, seed: int) -> Vectors:
    """Vectors of length 1 around 30 centres, as sentences about 30 subjects would be."""
    numbers = np.random.default_rng(seed)
    centres = numbers.standard_normal((30, DIMENSIONS))
    rows = centres[numbers.integers(30, size=count)] + 0.6 * numbers.standard_normal((count, DIMENSIONS))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture(scope="module")
async def large(place: Place) -> Viewer:
    """A user with many vectors, and two with few, one of them of the same name in another tenant."""
    viewer = Viewer("default", ODD, "default")
    await place.put(("default", "user", ODD), clustered(MANY, 1))
    await place.put(("default", "user", "large-small"), clustered(LARGE // 4, 2))
    await place.put(("large-acme", "user", ODD), clustered(LARGE // 4, 3))
    assert await place.maintain() == 1
    assert await place.maintain() == 0
    return viewer


async def recall(place: Place, viewer: Viewer, share: int = 1) -> float:
    found = []
    for question in clustered(12, 9):
        exact = await place.exact(viewer, question, share=share)
        near = await place.find(viewer, question, share=share)
        assert len(near) == len(exact) == BEST
        found.append(len({*near} & {*exact}) / len(exact))
    return sum(found) / len(found)


async def test_a_large_owner_is_searched_by_an_index_that_finds_98_percent(place: Place, large: Viewer) -> None:
    before = await place.scans()
    assert await recall(place, large) >= 0.98
    async with alone(place.live) as connection:
        await connection.execute(text("SELECT pg_stat_force_next_flush()"))
    [(name, count)] = (await place.scans()).items()
    assert count > before[name]


async def test_filters_that_leave_one_in_forty_find_as_many_as_are_wanted(place: Place, large: Viewer) -> None:
    """One in forty of 1,500: fewer than 50, so all of them."""
    for question in clustered(3, 10):
        assert await place.find(large, question, share=40) == await place.exact(large, question, share=40)
    assert await recall(place, large, share=10) >= 0.98


async def test_others_find_their_own_and_nothing_of_the_large_owner(place: Place, large: Viewer) -> None:
    [question] = clustered(1, 11)
    for viewer in (replace(large, user_id="large-small"), replace(large, tenant="large-acme")):
        found = await place.find(viewer, question, limit=1000)
        assert found == await place.exact(viewer, question, limit=1000)
        assert len(found) == LARGE // 4


async def test_what_is_put_removed_and_replaced_later_is_in_the_index_at_once(place: Place, large: Viewer) -> None:
    owner = ("default", "user", ODD)
    [question] = clustered(1, 12)
    [new] = await place.put(owner, question[np.newaxis])
    assert (await place.find(large, question))[0] == new

    async with place.live.begin() as connection:
        await place.index.put(connection, MODEL, [Point((*owner, new), b"anew", 1, -question)])
    assert new not in await place.find(large, question)
    assert (await place.find(large, -question))[0] == new

    async with place.live.begin() as connection:
        await place.index.remove(connection, [(*owner, new)])
    assert new not in await place.find(large, -question)


@pytest.mark.spec_part("X07")
async def test_an_erased_owner_is_found_no_more_and_loses_the_index(place: Place) -> None:
    viewer = Viewer("default", "large-erased", "default")
    await place.put(("default", "user", "large-erased"), clustered(LARGE, 4))
    assert await place.maintain() == 1
    [question] = clustered(1, 13)
    assert await place.find(viewer, question)

    async with place.live.begin() as connection:
        await place.index.forget(connection, ("default", "user", "large-erased"), 9999)
    assert await place.find(viewer, question) == []
    indexes = len(await place.scans())
    assert await place.maintain() == 0
    assert len(await place.scans()) == indexes - 1


async def test_after_a_rebuild_a_search_is_exact_until_the_index_is_made_again(place: Place, large: Viewer) -> None:
    """Last: the tables of the shadow, which are empty here, take the place of the live ones."""
    beside = RebuildablePostgres(place.store)
    await beside.shadow()
    async with beside.quiet():
        await beside.swap()
    assert await place.scans() == {}

    ids = await place.put(("default", "user", ODD), clustered(MANY, 5))
    [question] = clustered(1, 14)
    exact = await place.exact(large, question)
    assert {*exact} <= {*ids}
    assert await place.find(large, question) == exact

    assert await place.maintain() == 1
    assert await recall(place, large) >= 0.98


async def test_an_engine_indexes_in_one_process_at_a_time_and_not_during_a_rebuild(engine: Engine) -> None:
    assert await engine.projections.index_vectors() == 0
    async with alone(engine.projections.live) as connection, lock_if_free(connection, INDEXING) as free:
        assert free
        with patch.object(PgVectorIndex, "maintain", side_effect=AssertionError):
            assert await engine.projections.index_vectors() == 0
        rebuilding = asyncio.create_task(engine.projections.rebuild("vectors"))
        done, _ = await asyncio.wait([rebuilding], timeout=3 * LOOK_SECONDS)
        assert not done
    assert (await rebuilding).events >= 0
