"""Consistency tokens: a read that is given one sees that write, or says which projection is late (X10)."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.engine.reads import Moment
from mnemolog.domain.errors import InvalidInput, ProjectionPoisoned, ReadTimeout
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.projections.working.projector import Place
from tests.engine.person import Person

Read = Callable[[Person, UUID, Moment], Awaitable[Any]]

READS: dict[str, Read] = {
    "query": lambda ana, id_, moment: ana.asks("tea", moment),
    "memory": lambda ana, id_, moment: ana.engine.reads.memory(ana.stream, ana.agent, id_, moment),
    "newest": lambda ana, id_, moment: ana.engine.reads.newest(ana.stream, ana.agent, 10, moment),
    "history": lambda ana, id_, moment: ana.engine.reads.history(ana.stream, ana.agent, id_, 100, moment),
    "changes": lambda ana, id_, moment: ana.changes(0, moment),
    "entities": lambda ana, id_, moment: ana.engine.reads.entities(ana.stream, ana.agent, moment),
    "session": lambda ana, id_, moment: ana.engine.reads.session(
        Place(ana.tenant, ana.user, ana.agent, ana.thread), moment
    ),
}
every_read = pytest.mark.parametrize("read", READS.values(), ids=READS)


def seen(receipt: Receipt) -> Moment:
    return Moment(after=Position.of_token(receipt.token))


# How many of the turns so far a read shows; one memory of its own is all that `memory` and `history` can show.
SHOWN: dict[str, Callable[[Any], int]] = {
    "query": lambda answer: len(answer.hits),
    "newest": len,
    "changes": lambda changes: len(changes.entries),
    "entities": len,
    "session": lambda session: session.msg_count,
}


@pytest.mark.spec("X10")
@pytest.mark.parametrize("name", READS)
async def test_a_read_sees_the_write_whose_token_it_is_given(engine: Engine, user: str, name: str) -> None:
    ana = Person(engine, user)
    for number in range(1, 9):
        receipt = await ana.says(f"tea number {number}", speaker=f"Ana {number}")
        newest = (await ana.memory_ids())[-1]

        answer = await READS[name](ana, newest, seen(receipt))

        assert name not in SHOWN or SHOWN[name](answer) == number


@pytest.mark.spec("X10")
@every_read
async def test_a_read_that_waits_too_long_names_the_projection(engine: Engine, user: str, read: Read) -> None:
    ana = Person(engine, user)
    await ana.says("I drink tea")
    [memory_id] = await ana.memory_ids()
    await ana.changes()
    impatient = engine.settings.model_copy(update={"read_deadline": 0.05})

    async with open_engine(impatient, attach=True) as attached:
        with pytest.raises(ReadTimeout, match=r"(memories|graph|working) is at seq 3 of .*, not yet at 99") as late:
            await read(Person(attached, user), memory_id, Moment(after=Position(ana.stream, 99)))

    assert late.value.field == "after"


@pytest.mark.spec("A11")
@every_read
async def test_a_token_of_another_users_write_is_refused(engine: Engine, user: str, read: Read) -> None:
    ana = Person(engine, user)
    memory_id = await ana.creates("Ana drinks tea")
    of_bob = Moment(after=Position(StreamId.of_user("bob"), 10**6))

    with pytest.raises(InvalidInput) as refused:
        await read(ana, memory_id, of_bob)

    assert refused.value.field == "after"
    assert "bob" not in str(refused.value)


async def test_a_stopped_projection_stops_only_the_reads_that_need_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I drink tea")
    await ana.caught_up()
    store = engine.projections.stores["graph"]
    await store.stop(ana.stream, 4, "ValueError: made up")
    await ana.says("I drink coffee")
    moment = Moment(after=Position(ana.stream, await engine.log.head(ana.stream)))
    assert len(await engine.reads.newest(ana.stream, ana.agent, 10, moment)) == 2
    with pytest.raises(ProjectionPoisoned, match=r"graph stopped .* made up"):
        await engine.reads.entities(ana.stream, ana.agent, moment)
    await store.resume()
    await engine.projections.running["graph"].catch_up()
    assert await engine.reads.entities(ana.stream, ana.agent, moment)
