"""A turn with what was drawn from it: one append, once, and what is said twice is kept once."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.commands.facts import Remember
from mnemolog.commands.heard import HEARD, HearTurn
from mnemolog.commands.memories import CreateMemory
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.graph import EntityObserved, RelationAsserted, RelationObserved
from mnemolog.events.memory import MemoryCreated, MemoryObserved
from tests.testkit.clock import START
from tests.testkit.decider import given

ANA: dict[str, Any] = {"user_id": "ana"}
TEA = "Ana drinks tea"


def memory(text: str = TEA, turn_id: str = "t1") -> CreateMemory:
    about = {"memory_id": uuid4(), "memory_key": "drink", "source_turn_ids": (turn_id,)}
    return CreateMemory.model_validate({**ANA, **about, "text": text})


def fact(turn_id: str = "t1") -> Remember:
    drawn = {name: uuid4() for name in ("relation_id", "subject_id", "object_id")}
    told = {"subject": "Marta", "predicate": "lives_in", "object": "Lisbon", "source_turn_ids": (turn_id,)}
    return Remember.model_validate({**ANA, **drawn, **told, "at": START, "rule": PredicatePolicy().rule("lives_in")})


def turn(turn_id: str = "t1", **fields: Any) -> HearTurn:
    said = {
        "turn_id": turn_id,
        "text": "hello",
        "occurred_at": START,
        "entity_id": UUID(int=2),
    }
    return HearTurn.model_validate({**ANA, **said, **fields})


@pytest.mark.spec("D04", "A08")
def test_a_turn_carries_the_memories_and_facts_extracted_from_it() -> None:
    events = given(HEARD).when(turn(memories=(memory(),), facts=(fact(),))).events()

    assert [type(event) for event in events] == [
        TurnRecorded,
        MemoryCreated,
        EntityObserved,
        EntityObserved,
        RelationAsserted,
    ]


@pytest.mark.spec("D04", "A08", "X13")
def test_what_is_known_already_is_observed_and_not_kept_twice() -> None:
    story = given(HEARD).after(turn(memories=(memory(),), facts=(fact(),)))

    again = turn("t2", memories=(memory(turn_id="t2"),), facts=(fact("t2"),))
    events = story.when(again).events()

    assert [type(event) for event in events] == [TurnRecorded, MemoryObserved, RelationObserved]


def test_what_one_turn_says_twice_is_kept_once() -> None:
    events = given(HEARD).when(turn(memories=(memory(), memory()), facts=(fact(), fact()))).events()

    assert sum(isinstance(event, MemoryCreated) for event in events) == 1
    assert sum(isinstance(event, RelationAsserted) for event in events) == 1


@pytest.mark.spec("X14")
def test_a_repeated_turn_changes_nothing_even_with_other_extractions() -> None:
    story = given(HEARD).after(turn())

    story.when(turn(memories=(memory(),))).then_nothing()
