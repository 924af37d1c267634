"""Statements that are compiled once for all viewers, and questions that are asked together."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import CompoundSelect, Select

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import ask, together
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.requests import Filters, MemoryQuery
from tests.engine.person import Person


async def test_a_statement_that_is_kept_shows_each_viewer_only_its_own(engine: Engine, user: str) -> None:
    ana, ben = Person(engine, user), Person(engine, f"{user}-ben")
    of_ana, of_ben = await ana.creates("tea"), await ben.creates("coffee")
    await engine.settled(60)

    async def documents(viewer: Viewer) -> list[object]:
        async with engine.projections.live.connect() as connection:
            return [row[0] for row in await ask(connection, viewer, _documents, Candidates())]

    assert await documents(ana.viewer) == [of_ana]
    assert await documents(ben.viewer) == [of_ben]
    assert await documents(Viewer("another", ana.viewer.user_id, ana.viewer.agent_id)) == []
    assert await documents(ana.viewer.within(frozenset({"health"}))) == []
    assert await documents(ana.viewer) == [of_ana]


def _documents(viewer: Viewer, candidates: Candidates) -> Select[Any] | CompoundSelect[Any]:
    return candidates.documents(viewer)


async def test_a_filter_by_metadata_finds_by_each_of_its_values(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    red = await ana.creates("tea in the kitchen", metadata={"team": "red", "of": {"n": [1, None]}})
    await ana.creates("tea in the garden", metadata={"team": "blue"})
    now = await ana.caught_up()

    for wanted in ({"team": "red"}, {"of": {"n": [None]}}):
        request = MemoryQuery(user_id=user, query="tea", filters=Filters.model_validate({"metadata": wanted}))
        hits = (await engine.reads.query(request, now)).hits
        assert [hit.id for hit in hits] == [str(red)]


def test_filters_by_metadata_differ_by_a_parameter_alone() -> None:
    red, blue = (Candidates(filters=Filters(metadata={"team": team})) for team in ("red", "blue"))
    (shape, of_red), (other, of_blue) = red.shaped(), blue.shaped()
    assert (shape, hash(shape)) == (other, hash(other))
    assert shape != Candidates().shaped()[0]
    assert [list(of_red.values()), list(of_blue.values())] == [['{"team":"red"}'], ['{"team":"blue"}']]


async def test_an_error_is_raised_once_nothing_else_is_asked() -> None:
    ended = asyncio.Event()

    async def fails() -> None:
        raise ValueError("no such table")

    async def is_slow() -> None:
        await asyncio.sleep(0)
        ended.set()

    with pytest.raises(ValueError, match="no such table"):
        await together(fails(), is_slow())
    assert ended.is_set()
