"""Whole streams: what is of the user `ana` and what is of the agent `ana` never mix, whatever has one name."""

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import MetaData, select

from mnemolog.adapters.engine.engine import Engine, new_id
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.commands.erasure import EraseUser
from mnemolog.domain.errors import MnemologError
from mnemolog.events.envelope import NewEvent, StreamId
from mnemolog.events.erasure import UserErased
from mnemolog.events.log import Append
from mnemolog.projections.working.projector import SessionPlace
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.story import tell


async def told_twice(engine: Engine, user: str) -> tuple[Person, StreamId]:
    """A user with a story, and an agent of the same name to whom the very same events happened, ids and all."""
    ana = Person(engine, user)
    await tell(ana)
    await engine.writes.remember({"user_id": user, "subject": "me", "predicate": "likes", "object": "jazz"})
    await engine.writes.open_todo({"user_id": user, "kind": "commitment", "text": "call mother"})
    agent = StreamId(ana.tenant, f"agent:{user}")
    for event in await engine.log.read(ana.stream):
        await append(engine, agent, NewEvent(new_id(), event.payload, event.meta, event.occurred_at))
    await engine.settled(60)
    return ana, agent


async def append(engine: Engine, stream: StreamId, event: NewEvent) -> None:
    [outcome] = await engine.log.append([Append(stream, (event,))])
    if isinstance(outcome, MnemologError):
        raise outcome


async def held(engine: Engine, stream: StreamId) -> dict[str, list[Any]]:
    """Every row of a stream by table, without its MAC and whose it is; and the keys of its sessions."""
    found: dict[str, list[Any]] = {}
    for store in engine.projections.stores.values():
        if not isinstance(store, PostgresStore):
            continue
        for one in store.projector.tables.sorted_tables:
            rows = one.to_metadata(MetaData(), schema=store.schema)
            own = (rows.c.stream_kind == stream.kind) & (rows.c.user_id == stream.owner)
            shown = [column for column in rows.columns if column.name not in ("stream_kind", "mac")]
            async with store.engine.connect() as connection:
                statement = select(*shown).where(rows.c.tenant == stream.tenant, own)
                found[f"{store.name}.{one.name}"] = sorted(map(repr, await connection.execute(statement)))
    keys = await engine.projections.working.keys_of(stream)
    found["sessions"] = [SessionPlace.of_key(stream, key).chat_id for key in keys]
    return found


def without_events(rows: dict[str, list[Any]]) -> Counter[str]:
    return Counter({name: len(found) for name, found in rows.items()})


@pytest.mark.spec("X05", "X09")
async def test_a_user_and_an_agent_of_one_name_have_rows_of_their_own_and_replayed_ones_equal_them(
    engine: Engine, user: str
) -> None:
    ana, agent = await told_twice(engine, user)
    alone = Person(engine, f"{user}-alone")
    await tell(alone)

    users, agents = await held(engine, ana.stream), await held(engine, agent)

    assert without_events(users) == without_events(agents)
    assert all(users[name] for name in ("memories.memories", "vectors.vectors", "history.history", "graph.relations"))
    assert users["sessions"] == agents["sessions"] == [ana.thread]
    assert len((await ana.changes()).entries) == len((await alone.changes()).entries)
    assert [row["text"] for row in await engine.reads.newest(ana.viewer, 99)] == [
        row["text"] for row in await engine.reads.newest(alone.viewer, 99)
    ]
    await assert_live_equals_replayed(engine, ana.stream, agent)


@pytest.mark.spec("X09")
@pytest.mark.parametrize("healed", ["user", "agent"])
async def test_healing_one_leaves_the_other_as_it_is(engine: Engine, user: str, healed: str) -> None:
    ana, agent = await told_twice(engine, user)
    before = await held(engine, ana.stream), await held(engine, agent)

    for projection in engine.projections.running.values():
        await projection.heal(ana.stream if healed == "user" else agent)

    assert (await held(engine, ana.stream), await held(engine, agent)) == before


@pytest.mark.spec("X07")
async def test_erasing_an_agents_stream_leaves_the_user_and_the_other_way(engine: Engine, user: str) -> None:
    ana, agent = await told_twice(engine, user)
    users, everything = await held(engine, ana.stream), await ana.everything()
    [first] = await engine.log.read(agent, until=1)

    await append(engine, agent, NewEvent(new_id(), UserErased(), first.meta, first.occurred_at))
    await engine.settled(60)

    assert not +without_events(await held(engine, agent))
    assert (await held(engine, ana.stream), await ana.everything()) == (users, everything)

    ana, agent = await told_twice(engine, f"{user}-other")
    agents = await held(engine, agent)
    await erase(engine, EraseUser(user_id=ana.user))
    assert not +without_events(await held(engine, ana.stream))
    assert await held(engine, agent) == agents
    await assert_live_equals_replayed(engine, ana.stream, agent)
