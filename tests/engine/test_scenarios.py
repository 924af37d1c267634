"""Stories through all writes: what is read afterwards, and that a rebuild from the log reads the same."""

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.engine.equality import assert_live_equals_rebuilt
from tests.engine.person import Person
from tests.engine.story import tell


@pytest.mark.spec("X09")
@pytest.mark.spec_part("X05")
async def test_every_projection_rebuilt_from_the_log_equals_the_live_one_and_reads_the_same(
    engine: Engine, user: str
) -> None:
    """On the engine that tests share: from all that every test before wrote."""
    ana = Person(engine, user)
    await tell(ana)
    await engine.settled(60)
    before = await ana.everything(), await engine.reads.session(ana.viewer, ana.thread)

    await assert_live_equals_rebuilt(engine)

    assert (await ana.everything(), await engine.reads.session(ana.viewer, ana.thread)) == before


async def test_the_story_ends_with_the_survivor_beside_the_turns(engine: Engine, user: str) -> None:
    ana = Person(engine, user)

    await tell(ana)

    told = ["Ana is lactose intolerant", "Ana: I moved to Lisbon [image: a yellow tram]", "Bot: That is wonderful"]
    assert sorted(await ana.finds("Ana")) == told
