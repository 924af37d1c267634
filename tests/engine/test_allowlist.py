"""An agent's allowlist holds for everything that it reads, not for the search alone (B §5, B05)."""

from dataclasses import replace

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.events.fields import validated
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import MemoryQuery


@pytest.mark.spec("B05")
async def test_what_an_agent_may_not_read_shows_in_no_read_of_it(engine: Engine, user: str) -> None:
    fields = {"user_id": user, "category": "profile", "text": "Ana has diabetes"}
    memory_id, receipt = await engine.writes.create(fields)
    moment = Moment(after=receipt.position)
    planner = Viewer(receipt.stream.tenant, user, "planner")
    request = {"agent": "planner", "query": "diabetes", "filters": {"user_id": user}, "since_rev": 0}
    answer = await engine.reads.query(validated(MemoryQuery, request), moment)
    assert (answer.header, list(answer.hits)) == ("", [])
    assert (await engine.reads.changes(planner, "main", 0, moment)).header == ""
    assert await engine.reads.newest(planner, 10, moment) == []
    for read in (engine.reads.memory, engine.reads.history):
        with pytest.raises(NotFound):
            await read(planner, memory_id)
        assert await read(replace(planner, agent_id="default"), memory_id)
