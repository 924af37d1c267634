"""What a write costs, counted: statements, and events that its decision reads."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import pytest_asyncio

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.maintenance.extracting import extract_anew
from mnemolog.adapters.postgres.chained import ChainedRows
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import MnemologError
from mnemolog.events.envelope import StoredEvent
from mnemolog.events.graph import RelationAsserted
from mnemolog.events.memory import MemoriesLinked
from mnemolog.projections.filling import fill
from mnemolog.projections.reads.reading import MEMORIES, VECTORS
from tests.engine.person import Person
from tests.engine.sent import statements
from tests.engine.teller import Teller
from tests.testkit.settings import settings_in

WRITE = query("write").decode()


@pytest_asyncio.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine that does nothing of its own accord."""
    async with open_engine(settings_in(tmp_path), passive=True) as engine:
        yield engine


@contextmanager
def events_read() -> Iterator[list[StoredEvent]]:
    """Lists the events that are found by tags or ids."""
    read = list[StoredEvent]()
    some = ChainedRows.some

    async def listing(self: ChainedRows, *args: Any, **values: Any) -> list[StoredEvent]:
        found = await some(self, *args, **values)
        read.extend(found)
        return found

    with patch.object(ChainedRows, "some", listing):
        yield read


async def test_a_fact_of_a_known_subject_and_predicate_takes_one_statement(quiet: Engine) -> None:
    ana = Teller(quiet, "ana")
    for number in range(6):
        await ana.tells("me", "counted_to", str(number), literal=True)

    with statements() as sent:
        await ana.tells("me", "counted_to", "6", literal=True)

    assert sent == [WRITE]


async def test_a_fact_with_another_predicate_of_a_known_subject_is_read_once(quiet: Engine) -> None:
    ana = Teller(quiet, "ana")
    for number in range(6):
        await ana.tells("me", "counted_to", str(number), literal=True)

    with statements() as sent, events_read() as read:
        await ana.tells("me", "drinks", "tea", literal=True)

    assert len([one for one in sent if one == WRITE]) == 1
    assert len([one for one in sent if "mnemolog.tags" in one and one != WRITE]) == 1
    assert read == []


async def test_one_value_more_of_many_reads_none_of_the_others(quiet: Engine) -> None:
    ana = Teller(quiet, "ana")
    for number in range(80):
        await ana.tells("me", "likes", f"thing {number}")

    with events_read() as read:
        await ana.tells("me", "likes", "one more")

    assert read == []


async def test_what_messages_state_is_recorded_on_few_reads_of_what_is_known(quiet: Engine) -> None:
    ana = Teller(quiet, "ana")
    for number in range(50):
        await ana.says(f"I like dish {number}.", turn_id=str(number), speaker="")

    with events_read() as read:
        await extract_anew(quiet, ana.stream, ana.agent, "extraction")

    facts = [one for one in await quiet.log.read(ana.stream) if isinstance(one.payload, RelationAsserted)]
    assert len(facts) == 50
    assert len(read) < 4 * len(facts), "each message for itself reads what those before it told"


async def test_a_new_memory_reads_its_neighbours_and_not_their_links(quiet: Engine) -> None:
    ana = Person(quiet, "ana")
    for number in range(12):
        await ana.creates(f"Ana rents flat {number} with a view of the river in Lisbon")
        await fill(quiet.log, [quiet.projections.stores[name] for name in (MEMORIES, VECTORS)])

    with statements() as sent, events_read() as read:
        memory_id = await ana.creates("Ana rents flat 13 with a view of the river in Lisbon")

    linked = [one.payload for one in await quiet.log.read(ana.stream) if isinstance(one.payload, MemoriesLinked)]
    assert len([one for one in linked if one.memory_id == memory_id]) == 5
    assert len(read) == 6, "five neighbours, and the last event that concerns one of them"
    assert len(sent) <= 6


async def test_a_link_reads_the_two_memories_and_not_their_links_with_others(quiet: Engine) -> None:
    ana = Person(quiet, "ana")
    hub, *spokes = [await ana.creates(letter * 8) for letter in "abcdefghijklmn"]
    for spoke in spokes[:-1]:
        await ana.links(hub, spoke)

    with events_read() as read:
        await ana.links(hub, spokes[-1])
    assert [one.header.type for one in read] == ["MemoryCreated", "MemoryCreated", "MemoriesLinked"]

    with events_read() as read:
        await ana.links(hub, spokes[0], strength=0.5)
    assert [one.header.type for one in read].count("MemoriesLinked") == 2, "of these two, and the last"

    with events_read() as read:
        await ana.deletes(hub)
    assert [one.header.type for one in read].count("MemoriesLinked") == 1


async def test_what_links_do_not_concern_is_decided_as_if_all_were_read(quiet: Engine) -> None:
    ana = Person(quiet, "ana")
    hub, *spokes = [await ana.creates(letter * 8) for letter in "abcdef"]
    for spoke in spokes:
        await ana.links(hub, spoke)

    assert (await ana.links(hub, spokes[0])).already
    stronger = await ana.links(hub, spokes[0], strength=0.5)
    assert not stronger.already
    assert (await ana.links(hub, spokes[0], strength=0.5)).already
    await quiet.writes.undo_event(ana.stream, stronger.event_ids[0])
    assert not (await ana.links(hub, spokes[0], strength=0.5)).already
    await asyncio.gather(*(ana.links(hub, spoke, strength=0.4) for spoke in (*spokes, *spokes)))
    linked = [one.payload for one in await quiet.log.read(ana.stream) if isinstance(one.payload, MemoriesLinked)]
    assert Counter(one.to_id for one in linked if one.strength == 0.4) == Counter(spokes)

    await ana.deletes(hub)
    assert (await ana.deletes(hub)).already
    with pytest.raises(MnemologError, match="cannot be linked"):
        await ana.links(hub, spokes[0], strength=0.3)
