"""The graph on real servers: many at once, who is meant, undo, and that the text of a refusal is no one's name."""

import asyncio
from collections import Counter

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.entities import MergeEntities
from mnemolog.domain.errors import AmbiguousEntity
from mnemolog.events.envelope import Position
from mnemolog.events.fields import validated
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person

MANY = 200


@pytest.fixture
def person(engine: Engine, user: str) -> Person:
    return Person(engine, user)


def who(person: Person) -> dict[str, str]:
    return {"tenant": person.stream.tenant, "user_id": person.stream.owner}


@pytest.mark.spec("A08")
async def test_two_hundred_concurrent_statements_of_one_fact_leave_one_relation_with_all_observations(
    person: Person,
) -> None:
    fact = {**who(person), "subject": "Alice", "predicate": "lives_in", "object": "Berlin", "confidence": 0.5}

    told = await asyncio.gather(*(person.engine.writes.remember(fact) for _ in range(MANY)))

    assert len({relation_id for relation_id, _ in told}) == 1
    kinds = Counter(event.payload.type_name() for event in await person.engine.log.read(person.stream))
    assert kinds == {"EntityObserved": 2, "RelationAsserted": 1, "RelationObserved": MANY - 1}


@pytest.mark.spec("A07")
async def test_two_hundred_concurrent_writers_of_one_name_create_one_entity(person: Person) -> None:
    entity = {**who(person), "name": "Alice"}

    made = await asyncio.gather(*(person.engine.writes.observe_entity(entity) for _ in range(MANY)))

    assert len({entity_id for entity_id, _ in made}) == 1
    assert len(await person.engine.log.read(person.stream)) == 1


@pytest.mark.spec("A20")
async def test_an_ambiguous_name_means_the_entity_last_seen(person: Person) -> None:
    writes, entity = person.engine.writes, {**who(person), "name": "Marta", "another": True}
    await writes.observe_entity(entity)
    later, _ = await writes.observe_entity(entity)

    fact = {**who(person), "subject": "Marta", "predicate": "likes", "object": "tea"}
    _, receipt = await writes.remember(fact)

    [told] = await person.engine.reads.facts(person.viewer, moment=Moment(after=Position.of_token(receipt.token)))
    assert told["subject_id"] == later


@pytest.mark.spec("A20")
@pytest.mark.spec("B02")
async def test_a_turn_whose_fact_has_an_ambiguous_name_uses_the_resolved_entity(person: Person) -> None:
    writes, entity = person.engine.writes, {**who(person), "name": "Marta", "another": True}
    await writes.observe_entity(entity)
    later, _ = await writes.observe_entity(entity)
    fact = {"subject": "Marta", "predicate": "likes", "object": "tea"}
    drawn = {"memories": [{"text": "Marta drinks tea"}], "facts": [fact]}

    await writes.create({**who(person), "text": "Marta drinks tea every day"})
    await person.engine.settled()
    receipt = await writes.record_turn({**who(person), "turn_id": "t1", "text": "tea!", **drawn})

    [told] = await person.engine.reads.facts(person.viewer, moment=Moment(after=Position.of_token(receipt.token)))
    assert told["subject_id"] == later
    kinds = Counter(event.payload.type_name() for event in await person.engine.log.read(person.stream))
    assert kinds["TurnRecorded"] == 1
    assert kinds["MemoriesLinked"] == 1, "what was drawn is linked to its neighbour"


@pytest.mark.spec_part("D13")
async def test_a_merge_is_undone_by_its_event(person: Person) -> None:
    writes = person.engine.writes
    makesh, _ = await writes.observe_entity({**who(person), "name": "Makesh"})
    mukesh, _ = await writes.observe_entity({**who(person), "name": "Mukesh"})
    command = validated(MergeEntities, {**who(person), "entity_id": makesh, "absorbed_ids": [mukesh]})
    merged = await writes.handle(command)
    assert (await writes.observe_entity({**who(person), "name": "Mukesh"}))[0] == makesh

    await writes.undo_event(person.stream, merged.event_ids[0])

    assert (await writes.observe_entity({**who(person), "name": "Mukesh"}))[0] == mukesh


async def test_a_retry_with_its_key_gives_the_first_fact(person: Person) -> None:
    fact = {**who(person), "subject": "Alice", "predicate": "likes", "object": "tea"}

    first, receipt = await person.engine.writes.remember(fact, "key")
    again, second = await person.engine.writes.remember(fact, "key")

    assert (first, receipt.event_ids) == (again, second.event_ids)
    assert second.already


async def test_the_message_of_a_refusal_does_not_reveal_the_entity() -> None:
    error = AmbiguousEntity("subject", "work Marta or family Marta?", [])

    assert "Marta" not in f"{error} {error.message} {error.fix}"
    assert error.as_dict()["question"] == "work Marta or family Marta?"
