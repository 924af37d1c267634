"""Words of an entity go with the turns that told them, and with no other; the entity stays while others speak of it."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from mnemolog.commands.entities import ENTITIES, AddAlias, MergeEntities, ObserveEntity, UpdateEntity
from mnemolog.commands.erasure import ERASURE, EraseKnown, EraseThread, at_stake
from mnemolog.commands.erasure_state import Written
from mnemolog.commands.graph_undo import GRAPH_UNDO, UndoGraph
from mnemolog.domain.errors import MnemologError, NotFound, UndoConflict
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.event import Event
from mnemolog.events.graph import (
    EntitiesMerged,
    EntityCleared,
    EntityErased,
    EntityKept,
    EntityObserved,
    EntityUpdated,
    RelationAsserted,
    Telling,
)
from mnemolog.events.graph_tags import about_tag, entity_tag
from tests.testkit.clock import START
from tests.testkit.decider import Story, given
from tests.testkit.events import ended, new

MARTA, OTHER, FACT = (UUID(int=number) for number in (1, 2, 3))
WHO: dict[str, Any] = {"user_id": "ana"}


def said(turn_id: str, **fields: Any) -> TurnRecorded:
    """Each turn in a thread of its own."""
    told = {"turn_id": turn_id, "thread_id": turn_id, "role": "user", "text": "hello"}
    return TurnRecorded.model_validate({**told, **fields})


def observing(name: str, *turns: str, **fields: Any) -> ObserveEntity:
    return ObserveEntity.model_validate({**WHO, "name": name, "source_turn_ids": turns, "entity_id": MARTA, **fields})


def told(*commands: Any) -> list[Event]:
    """What the commands leave of a graph, after a turn of each name that they use."""
    story = given(ENTITIES)
    events: list[Event] = [said(f"t{number}") for number in range(1, 5)]
    for command in commands:
        decided = story.when(command).events()
        events += decided
        story = story.and_then(*decided)
    return events


def erasing(turn_id: str, **fields: Any) -> EraseThread:
    return EraseThread.model_validate({**WHO, "thread_id": turn_id, **fields})


def kept(events: Sequence[Event]) -> EntityKept:
    [found] = [event for event in events if isinstance(event, EntityKept)]
    return found


@pytest.mark.spec("A19", "X07")
def test_an_alias_is_erased_with_its_turn_and_text_from_other_turns_stays() -> None:
    story = given(
        ERASURE,
        *told(
            observing("Marta", "t1", category="Person"),
            observing("Marta", "t2", aliases=("Zanzi",), attributes={"job": "spy"}),
            observing("Marta", "t3", attributes={"city": "Porto"}),
        ),
    )

    story.when(erasing("t2")).then(
        EntityCleared(entity_id=MARTA),
        EntityKept(
            entity_id=MARTA,
            category="Person",
            name="Marta",
            attributes={"city": "Porto"},
            source_turn_ids=("t1", "t3"),
            told=(
                Telling(sources=("turn:t1", "turn:t3"), names=("Marta",)),
                Telling(sources=("turn:t3",), attributes=("city",)),
            ),
        ),
        *ended("t2", "t2"),
    )
    story.after(erasing("t2")).when(erasing("t2")).then_nothing()


@pytest.mark.spec("A19", "X07")
def test_what_was_replaced_since_goes_too_since_earlier_events_hold_it() -> None:
    events = told(
        observing("Marta", "t1", attributes={"job": "spy"}), observing("Marta", "t2", attributes={"job": "baker"})
    )

    left = kept(given(ERASURE, *events).when(erasing("t1")).events())

    assert (left.name, left.attributes) == ("Marta", {"job": "baker"})


@pytest.mark.spec("A19")
def test_a_text_from_two_turns_stays_until_both_are_erased() -> None:
    twice = [observing("Marta", turn, aliases=("Zanzi",)) for turn in ("t2", "t3")]
    story = given(ERASURE, *told(observing("Marta", "t1"), *twice))

    story.when(erasing("t2")).then(*ended("t2", "t2"))
    assert kept(story.after(erasing("t2")).when(erasing("t3")).events()).aliases == ()


@pytest.mark.spec("A19")
def test_who_lost_the_name_bears_one_that_others_told() -> None:
    both = told(observing("Zanzi", "t1"), observing("Zanzi", "t1", aliases=("Marta",)))
    again = EntityUpdated(
        entity_id=MARTA,
        category="Thing",
        name="Zanzi",
        aliases=("Marta",),
        changed=(),
        source_turn_ids=("t2",),
        told=(Telling(sources=("turn:t2",), names=("Marta",)),),
    )

    left = kept(given(ERASURE, *both, again).when(erasing("t1")).events())

    assert (left.name, left.aliases) == ("Marta", ())


@pytest.mark.spec("A19")
def test_a_name_stays_where_facts_or_turns_of_others_use_it() -> None:
    fact = RelationAsserted(
        relation_id=FACT,
        scope=Scope.GLOBAL,
        subject_id=MARTA,
        predicate="likes",
        value="tea",
        confidence=1.0,
        valid_from=START,
        single=False,
        validity=(),
        source_turn_ids=("t3",),
    )
    events = told(observing("Marta", "t1", aliases=("Zanzi",)))

    for elsewhere in (fact, said("t9", speaker="Marta", speaker_entity_id=MARTA)):
        left = kept(given(ERASURE, *events, elsewhere).when(erasing("t1")).events())
        assert (left.name, left.aliases, left.told) == ("Marta", (), ())


@pytest.mark.spec("A19", "X07")
def test_a_speaker_is_erased_with_the_last_turn_they_spoke() -> None:
    seen = EntityObserved(entity_id=MARTA, category="Person", scope=Scope.GLOBAL, name="Marta", source_turn_ids=("t1",))
    speaks = [said(turn, speaker="Marta", speaker_entity_id=MARTA) for turn in ("t1", "t2")]
    story = given(ERASURE, seen, *speaks)

    story.when(erasing("t1")).then(*ended("t1", "t1"))
    last = story.after(erasing("t1")).and_then(said("t1", text="", speaker="", speaker_entity_id=MARTA))
    last.when(erasing("t2")).then(EntityErased(entity_id=MARTA), *ended("t2", "t2"))


def test_where_a_speaker_speaks_elsewhere_is_looked_up_for_the_decision() -> None:
    seen = EntityObserved(entity_id=MARTA, category="Person", scope=Scope.GLOBAL, name="Marta", source_turn_ids=("t1",))
    state = given(ERASURE, seen, said("t1", speaker="Marta", speaker_entity_id=MARTA)).state

    assert at_stake(state, erasing("t1")) == {MARTA}
    assert {turn_tag("t9"), entity_tag(MARTA), about_tag(MARTA)} <= ERASURE.tags(state, erasing("t1", spoken_in=["t9"]))


@pytest.mark.spec("A19")
@pytest.mark.spec_part("D13")
def test_what_was_merged_takes_its_words_out_of_what_it_was_merged_into() -> None:
    merge = MergeEntities(**WHO, entity_id=MARTA, absorbed_ids=(OTHER,))
    story = given(
        ERASURE,
        *told(
            observing("Marta", "t1", attributes={"city": "Porto"}),
            observing("Zanzi", "t2", attributes={"job": "spy"}, entity_id=OTHER),
            merge,
        ),
    )

    events = story.when(erasing("t2")).events()

    assert events[0] == EntityErased(entity_id=OTHER)
    assert (kept(events).name, kept(events).aliases, kept(events).attributes) == ("Marta", (), {"city": "Porto"})
    named = EraseKnown(**WHO, kind="entity", name=str(OTHER))
    assert set(map(type, story.when(named).events())) == {EntityErased, EntityCleared, EntityKept}
    assert kept(story.when(erasing("t1")).events()).name == "Zanzi"


@pytest.mark.spec("A19", "X03")
def test_what_was_parted_again_is_not_erased_with_the_other() -> None:
    merged = EntitiesMerged(entity_id=MARTA, absorbed_ids=(OTHER,), category="Thing", name="Marta", aliases=("Zanzi",))
    history = [new(event) for event in told(observing("Marta"), observing("Zanzi", entity_id=OTHER))]
    merge = new(merged)
    undo = UndoGraph(**WHO, about=entity_tag(MARTA), event_id=merge.event_id, at=START)
    parted = given(GRAPH_UNDO, *history, merge).when(undo).events()
    command = EraseKnown(**WHO, kind="entity", name=str(MARTA))

    given(ERASURE, *history, merge, *parted).when(command).then(EntityErased(entity_id=MARTA))


@pytest.mark.spec("A19", "X03")
def test_an_undo_restores_nothing_that_was_erased() -> None:
    history = [new(event) for event in told(observing("Marta", "t1"), observing("Marta", "t2", aliases=("Zanzi",)))]
    erased = [new(event) for event in given(ERASURE, *history).when(erasing("t2")).events()]
    story = given(GRAPH_UNDO, *history, *erased)

    def undo(event: Any) -> UndoGraph:
        return UndoGraph(**WHO, about=entity_tag(MARTA), event_id=event.event_id, at=START)

    refused = story.when(undo(history[-1])).then_refused(UndoConflict, "event_id", "EntityCleared")
    assert "cannot be undone" in refused.fix, "no advice to undo what nobody can"
    for event in erased[:2]:
        story.when(undo(event)).then_refused(NotFound, "event_id")
    later = new(given(ENTITIES, *history, *erased).when(observing("Marta", "t3", aliases=("Mar",))).events()[0])
    [back] = story.and_then(later).when(undo(later)).events()
    assert back.aliases == ()  # type: ignore[attr-defined]


def test_an_observation_that_tells_nothing_new_is_in_no_undos_way() -> None:
    history = [new(event) for event in told(observing("Marta", "t1"), observing("Marta", "t2", aliases=("Mar",)))]
    again = new(given(ENTITIES, *history).when(observing("Marta", "t3")).events()[0])
    undo = UndoGraph(**WHO, about=entity_tag(MARTA), event_id=history[-1].event_id, at=START)

    [back] = given(GRAPH_UNDO, *history, again).when(undo).events()

    assert back.aliases == ()  # type: ignore[attr-defined]


def test_a_repeated_turn_adds_nothing() -> None:
    story = given(ENTITIES).after(observing("Marta", "t1"))

    story.when(observing("Marta", "t1")).then_nothing()
    story.when(observing("Marta")).then_nothing()
    story.after(observing("Marta", "t2")).when(observing("Marta", "t2")).then_nothing()


def test_what_a_user_put_there_himself_stays_as_long_as_the_entity() -> None:
    events = told(
        observing("Marta", "t1"),
        UpdateEntity(**WHO, entity_id=MARTA, attributes={"city": "Porto"}),
        AddAlias(**WHO, entity_id=MARTA, alias="Mar"),
        observing("Marta", "t2", aliases=("Mar",)),
        observing("Marta", "t3", aliases=("Zanzi",)),
    )
    story = given(ERASURE, *events)

    left = kept(story.when(erasing("t3")).events())
    assert (left.aliases, left.attributes) == (("Mar",), {"city": "Porto"})
    story.after(erasing("t3")).when(erasing("t2")).then(*ended("t2", "t2"))
    last = story.after(erasing("t3")).after(erasing("t2")).when(erasing("t1"))
    last.then(EntityErased(entity_id=MARTA), *ended("t1", "t1"))


def test_what_an_older_version_did_not_say_stays_as_long_as_the_entity() -> None:
    before = EntityUpdated(entity_id=MARTA, category="Thing", name="Marta", aliases=("Mar",), changed=("aliases",))
    story = given(ERASURE, *told(observing("Marta", "t1")), before)

    story.when(erasing("t1")).then(EntityErased(entity_id=MARTA), *ended("t1", "t1"))


BY_NAME = {"marta": MARTA, "martha": OTHER, "zanzi": FACT}
names = st.sampled_from(sorted(BY_NAME))
turns = st.sampled_from(["t1", "t2", "t3", "t4"])
steps = st.one_of(
    st.builds(
        lambda name, turn, alias, job: observing(
            name, turn, aliases=alias, attributes={"job": job} if job else {}, entity_id=BY_NAME[name]
        ),
        names,
        turns,
        st.sampled_from([(), ("mar",), ("zanzi",)]),
        st.sampled_from(["", "spy", "baker"]),
    ),
    st.builds(lambda: MergeEntities(**WHO, entity_id=MARTA, absorbed_ids=(OTHER,))),
)


@pytest.mark.spec("A19", "X07")
@for_all(st.lists(steps, max_size=8), st.permutations(["t1", "t2", "t3", "t4"]), st.integers(1, 4))
def test_whatever_was_told_no_word_outlives_the_last_turn_that_told_it_and_every_other_stays(
    asked: list[Any], order: list[str], count_: int
) -> None:
    graph, written = given(ENTITIES), given(ERASURE, *(said(f"t{number}") for number in range(1, 5)))
    tellers: dict[str, set[str]] = {}
    for command in asked:
        try:
            decided = graph.when(command).events()
        except MnemologError:
            continue
        if isinstance(command, ObserveEntity):
            for word in (command.name, *command.aliases, *map(str, command.attributes.values())):
                tellers.setdefault(word, set()).update(command.source_turn_ids)
        graph, written = graph.and_then(*decided), written.and_then(*decided)
    gone = set(order[:count_])
    for turn in order[:count_]:
        written = written.after(erasing(turn)).and_then(said(turn, text=""))

    left = words_in(written)
    assert not {word for word in left if tellers.get(word, {"?"}) <= gone}
    assert {name for name in (*BY_NAME, "mar") if tellers.get(name, set()) - gone} <= left


def words_in(story: Story[Any, Written]) -> set[str]:
    """What events that can still be read say of entities, replaced or not."""
    known = [one.words for one in story.state.known.values() if not one.erased]
    return {word if key is None else json.loads(word) for words in known for key, word in words.told}
