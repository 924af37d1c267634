"""An entity that a turn names in passing was seen then, and is what its session is about (A07, A12)."""

import asyncio
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.commands.erasure import EraseMessages
from mnemolog.events.conversation import TurnRecorded
from mnemolog.projections.graph.tables import entities
from mnemolog.projections.reads.graph import GraphReads
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.teller import Teller


async def mentioned(ana: Person) -> tuple[UUID, ...]:
    turns = [one.payload for one in await ana.engine.log.read(ana.stream) if isinstance(one.payload, TurnRecorded)]
    return turns[-1].mentioned_ids


async def active(ana: Person) -> list[str]:
    session = await ana.engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())
    return list(session.active_entity_ids)


@pytest.mark.spec("A07", "A20")
@pytest.mark.spec_part("A12")
async def test_a_name_in_passing_moves_last_seen_and_the_session(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    marta = await ana.knows_of("Marta Silva")
    await ana.calls(marta, "Marta")
    await ana.knows_of("Bob")
    [bob, before] = await engine.reads.entities(ana.viewer, await ana.caught_up())
    assert bob["name"] == "Bob"

    await ana.says("Marta's train is late", speaker="")

    [first, _] = await engine.reads.entities(ana.viewer, await ana.caught_up())
    assert await mentioned(ana) == (marta,)
    assert (first["entity_id"], first["last_seen"] > before["last_seen"]) == (marta, True)
    assert await active(ana) == [str(marta)]
    await assert_live_equals_replayed(engine, ana.stream)


async def test_the_longest_name_is_meant_and_of_two_with_one_name_neither(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.knows_of("York", category="Location")
    new_york = await ana.knows_of("New York", category="Location")
    for _ in range(2):
        await ana.knows_of("Jo", another=True)
    await ana.caught_up()
    await engine.settled(60)

    await ana.says("Jo and I fly to New York", speaker="")

    assert await mentioned(ana) == (new_york,)


@pytest.mark.spec("A01")
async def test_what_another_agent_knows_for_itself_is_not_mentioned(engine: Engine, user: str) -> None:
    planner = Teller(engine, user, agent="planner")
    await planner.knows_of("Zed", scope="agent")
    await engine.settled(60)

    await Person(engine, user).says("Zed called", speaker="")
    assert await mentioned(planner) == ()
    await planner.says("Zed called again", speaker="")
    assert len(await mentioned(planner)) == 1


@pytest.mark.spec("X07")
async def test_a_mention_leaves_the_session_with_its_erased_turn(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    marta = await ana.knows_of("Marta")
    await engine.settled(60)
    await ana.says("Hello", speaker="")
    await ana.says("Marta called", speaker="", turn_id=f"{user}-1")
    assert await active(ana) == [str(marta)]

    await erase(engine, EraseMessages(user_id=user, message_ids=(f"{user}-1",)))

    assert await active(ana) == []


async def test_turns_at_once_share_look_ups_and_mention_what_their_own_user_knows(engine: Engine, user: str) -> None:
    tellers = [Teller(engine, f"{user}-{number}") for number in range(3)]
    known = [await teller.knows_of("Marta") for teller in tellers]
    await engine.settled(60)
    asked = list[int]()
    look_up = GraphReads.named_in

    async def counted(reads: GraphReads, group: Any) -> Any:
        asked.append(len(group))
        return await look_up(reads, group)

    with patch.object(GraphReads, "named_in", counted):
        await asyncio.gather(*(teller.says("Marta called", speaker="") for teller in tellers for _ in range(5)))

    assert [await mentioned(teller) for teller in tellers] == [(one,) for one in known]
    assert (sum(asked), len(asked) < 15) == (15, True)


async def test_a_forged_row_is_healed_and_hides_no_mention_of_others(engine: Engine, user: str) -> None:
    tellers = [Teller(engine, f"{user}-{number}") for number in range(3)]
    known = [await teller.knows_of("Marta") for teller in tellers]
    await engine.settled(60)
    forged = update(entities).where(entities.c.user_id == f"{user}-1").values(status="soft_deleted")
    async with engine.projections.live.begin() as connection:
        await connection.execute(forged)

    await asyncio.gather(*(teller.says("Marta called", speaker="") for teller in tellers for _ in range(2)))

    assert [await mentioned(teller) for teller in tellers] == [(one,) for one in known]


async def test_a_turn_is_recorded_though_nobody_can_say_what_it_mentions(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.knows_of("Marta")
    await engine.settled(60)

    with patch.object(GraphReads, "named_in", side_effect=OperationalError("SELECT", None, OSError("gone"))):
        await ana.says("Marta called", speaker="")

    assert await mentioned(ana) == ()
