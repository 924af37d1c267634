"""Whoever has two names has one key: what was kept under both becomes one memory when it is told again (D04, D13)."""

from typing import Any
from uuid import UUID

import pytest

from mnemolog.commands.memories import MEMORIES, CreateMemory, Memories, MemoryCommand
from mnemolog.domain.bands import Band
from mnemolog.domain.scope import Scope
from mnemolog.events.event import Event
from mnemolog.events.graph import EntitiesMerged, EntityAliased, EntityObserved, EntityReverted
from mnemolog.events.graph_tags import entity_tag, name_tag
from mnemolog.events.memory import MemoriesMerged, MemoryCreated, MemoryObserved, MemoryUpdated, key_tag
from tests.testkit.decider import Story, given

MAKESH, MUKESH, FIRST, SECOND, NEW = (UUID(int=number) for number in range(1, 6))
SUBJECT = {"type": "PEOPLE", "fact_type": "relationship"}


def seen(entity_id: UUID, name: str, category: str = "Person") -> EntityObserved:
    return EntityObserved(entity_id=entity_id, category=category, scope=Scope.GLOBAL, name=name)


MERGED = EntitiesMerged(entity_id=MAKESH, absorbed_ids=(MUKESH,), category="Person", name="Makesh", aliases=("Mukesh",))
PARTED = [
    EntityReverted.model_validate(
        {"entity_id": id_, "category": "Person", "name": name, "undoes": id_, "was": "active", "status": "active"}
    )
    for id_, name in ((MAKESH, "Makesh"), (MUKESH, "Mukesh"))
]


def creating(ref: str, text: str, memory_id: UUID = NEW, **fields: Any) -> CreateMemory:
    about = {"user_id": "ana", "memory_id": memory_id, "entity_refs": [ref], "text": text}
    return CreateMemory.model_validate({**SUBJECT, **about, **fields})


def two(**fields: Any) -> Story[MemoryCommand, Memories]:
    """A memory of each, before anybody knows that they are one."""
    people = given(MEMORIES, seen(MAKESH, "Makesh"), seen(MUKESH, "Mukesh"))
    told = people.after(creating("person:makesh", "Makesh is my cousin", FIRST))
    return told.after(creating("person:mukesh", "Mukesh is my neighbour", SECOND, **fields))


def kinds(events: Any) -> list[type[Event]]:
    return [type(one) for one in events]


@pytest.mark.spec("D04")
@pytest.mark.spec_part("D13")
@pytest.mark.parametrize(("ref", "kept", "gone"), [("makesh", FIRST, SECOND), ("mukesh", SECOND, FIRST)])
def test_after_a_merge_the_next_statement_leaves_one_memory(ref: str, kept: UUID, gone: UUID) -> None:
    story = two().and_then(MERGED)
    command = creating(f"person:{ref}", "He moved to Pune")

    merge, update = story.when(command).events()

    assert isinstance(merge, MemoriesMerged)
    assert (merge.memory_id, merge.absorbed_ids, merge.match and merge.match.band) == (kept, (gone,), Band.KEY)
    assert isinstance(update, MemoryUpdated)
    assert (update.memory_id, update.text) == (kept, "He moved to Pune")
    after = story.after(command)
    assert [id_ for id_, one in after.state.known.items() if one.visible] == [kept]
    assert kinds(after.when(creating("person:mukesh", "he moved to pune")).events()) == [MemoryObserved]


@pytest.mark.spec("X03")
@pytest.mark.spec_part("D13")
def test_while_they_are_two_each_has_a_memory_also_after_their_merge_was_undone() -> None:
    for story in (two(), two().and_then(MERGED, *PARTED)):
        [update] = story.when(creating("person:mukesh", "He moved to Pune")).events()
        assert isinstance(update, MemoryUpdated)
        assert update.memory_id == SECOND


@pytest.mark.spec("D03")
@pytest.mark.spec_part("D13")
def test_what_is_pinned_takes_the_other_in_and_two_that_are_pinned_stay_two() -> None:
    [merge, _] = two(pinned=True).and_then(MERGED).when(creating("person:makesh", "He moved")).events()
    assert isinstance(merge, MemoriesMerged)
    assert (merge.memory_id, merge.absorbed_ids, merge.importance) == (SECOND, (FIRST,), 1.0)

    both = two(pinned=True).after(creating("person:makesh", "Makesh is my cousin", pinned=True)).and_then(MERGED)
    assert kinds(both.when(creating("person:makesh", "He moved")).events()) == [MemoryUpdated]


@pytest.mark.spec("A20")
@pytest.mark.spec_part("D13")
def test_an_alias_leads_to_the_same_memory() -> None:
    aliased = EntityAliased(entity_id=MAKESH, category="Person", name="Makesh", aliases=("Big Mac",), alias="Big Mac")
    story = given(MEMORIES, seen(MAKESH, "Makesh"), aliased).after(creating("person:makesh", "He cooks", FIRST))

    assert kinds(story.when(creating("person:big_mac", "he cooks")).events()) == [MemoryObserved]


@pytest.mark.parametrize(
    "others",
    [
        [seen(MAKESH, "Makesh"), seen(MUKESH, "Makesh")],
        [seen(MAKESH, "Makesh", "Project")],
    ],
)
def test_an_ambiguous_name_is_not_guessed_and_categories_are_distinct(others: list[Event]) -> None:
    alias = EntityAliased(entity_id=MAKESH, category="Person", name="Makesh", aliases=("Mukesh",), alias="Mukesh")
    if len(others) == 1:
        alias = alias.model_copy(update={"category": "Project"})
    story = given(MEMORIES, *others, alias).after(creating("person:mukesh", "He cooks", FIRST))

    assert kinds(story.when(creating("person:makesh", "He cooks")).events()) == [MemoryCreated]


def test_a_decision_depends_on_the_entity_and_all_its_keys() -> None:
    named = creating("person:makesh", "He cooks", memory_key="mine")
    tags = MEMORIES.tags(two().and_then(MERGED).state, creating("person:makesh", "He cooks"))

    assert {name_tag("makesh"), entity_tag(MAKESH), entity_tag(MUKESH)} <= tags
    assert key_tag(named.scope, None, "people|person|mukesh|relationship") in tags
    own = MEMORIES.tags(two().and_then(MERGED).state, named)
    assert key_tag(named.scope, None, "people|person|mukesh|relationship") not in own
    assert name_tag("makesh") in own, "so that it is known whom it is about"
