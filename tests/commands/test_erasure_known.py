"""What goes with a thread or a memory besides: entities, facts, profile and todos that were drawn from nothing else."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemolog.commands.erasure import ERASURE, EraseKnown, EraseThread
from mnemolog.domain.consent import PatchStatus as Decision
from mnemolog.domain.errors import NotFound
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.event import Event
from mnemolog.events.graph import (
    EntitiesMerged,
    EntityErased,
    EntityObserved,
    RelationAsserted,
    RelationErased,
    RelationForgotten,
    RelationObserved,
    RelationRestored,
)
from mnemolog.events.graph_tags import about_tag, relation_tag
from mnemolog.events.profile import ProfileDecided, ProfileErased, ProfileProposed, ProfileSet, TodoErased, TodoOpened
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import ended

MARTA, LISBON, FACT, TODO = (UUID(int=number) for number in (1, 2, 3, 4))
THREAD = EraseThread(user_id="ana", thread_id="main")


def said(turn_id: str, thread_id: str = "main") -> TurnRecorded:
    return TurnRecorded.model_validate({"turn_id": turn_id, "thread_id": thread_id, "role": "user", "text": "hello"})


def seen(entity_id: UUID = MARTA, **fields: Any) -> EntityObserved:
    about = {"entity_id": entity_id, "category": "Person", "scope": Scope.GLOBAL, "name": "Marta"}
    return EntityObserved.model_validate({**about, **fields})


def asserted(*turns: str, **fields: Any) -> RelationAsserted:
    about = {
        "relation_id": FACT,
        "scope": Scope.GLOBAL,
        "subject_id": MARTA,
        "predicate": "lives_in",
        "value": "Lisbon",
    }
    told = {"confidence": 1.0, "valid_from": START, "single": True, "validity": (), "source_turn_ids": turns}
    return RelationAsserted.model_validate({**about, **told, **fields})


def opened(*turns: str) -> TodoOpened:
    about = {"todo_id": TODO, "kind": "commitment", "agent_id": "coach", "due": START + timedelta(days=1)}
    return TodoOpened.model_validate({**about, "source_turn_ids": turns, "text": "call Marta"})


@pytest.mark.spec("A19", "X07")
@pytest.mark.parametrize(
    ("drawn", "gone"),
    [
        (asserted("t1"), RelationErased(relation_id=FACT)),
        (seen(source_turn_ids=("t1",)), EntityErased(entity_id=MARTA)),
        (
            ProfileSet(field="tone", source="api", source_turn_ids=("t1",), values=("warm",)),
            ProfileErased(field="tone"),
        ),
        (opened("t1"), TodoErased(todo_id=TODO)),
    ],
)
def test_what_was_drawn_from_an_erased_thread_alone_goes_with_it(drawn: Event, gone: Event) -> None:
    given(ERASURE, said("t1"), drawn).when(THREAD).then(gone, *ended("main", "t1"))


@pytest.mark.parametrize(
    "told_again",
    [
        [said("t9", "other"), RelationObserved(relation_id=FACT, confidence=1.0, source_turn_ids=("t9",))],
        [RelationObserved(relation_id=FACT, confidence=1.0)],
    ],
)
def test_what_somebody_said_elsewhere_too_stays(told_again: list[Event]) -> None:
    given(ERASURE, said("t1"), asserted("t1"), *told_again).when(THREAD).then(*ended("main", "t1"))


def test_what_was_said_in_two_turns_goes_with_the_second() -> None:
    both = (said("t1"), said("t2", "other"), asserted("t1", "t2"))
    other = EraseThread(user_id="ana", thread_id="other")

    story = given(ERASURE, *both).after(THREAD)

    story.when(other).then(RelationErased(relation_id=FACT), *ended("other", "t2"))


@pytest.mark.spec("A19", "X07", "B10")
def test_a_place_of_the_profile_loses_every_word_of_an_erased_turn_and_keeps_what_it_holds_from_another() -> None:
    told = [said("t1"), said("t9", "other")]
    first, second = (
        ProfileSet(field="tone", source="api", source_turn_ids=(turn,), values=(value,))
        for turn, value in (("t1", "warm"), ("t9", "dry"))
    )
    last = ended("main", "t1")

    given(ERASURE, *told, first, second).when(THREAD).then(ProfileErased(field="tone"), second, *last)
    given(ERASURE, *told, second, first).when(THREAD).then(ProfileErased(field="tone"), *last)
    story = given(ERASURE, *told, first, second).after(THREAD)
    story.when(THREAD).then_nothing()


@pytest.mark.spec("A19")
def test_whom_others_speak_of_stays_with_what_they_told_of_him() -> None:
    first = (said("t1"), seen(source_turn_ids=("t1",)), asserted("t1"))
    later = (said("t9", "other"), asserted("t9", relation_id=TODO, value="Porto"))

    given(ERASURE, *first, *later).when(THREAD).then(RelationErased(relation_id=FACT), *ended("main", "t1"))
    told = (EntityErased(entity_id=MARTA), RelationErased(relation_id=FACT))
    given(ERASURE, *first).when(THREAD).then(*told, *ended("main", "t1"))


@pytest.mark.spec("A19")
def test_an_entity_takes_what_it_was_merged_from_and_all_its_facts() -> None:
    merged = EntitiesMerged(entity_id=MARTA, absorbed_ids=(LISBON,), category="Person", name="Marta")
    told = asserted("t1", subject_id=LISBON)
    story = given(ERASURE, said("t1"), seen(), seen(LISBON), told, merged)
    command = EraseKnown(user_id="ana", kind="entity", name=str(MARTA))

    erased = story.when(command).events()

    assert set(erased) == {
        EntityErased(entity_id=MARTA),
        EntityErased(entity_id=LISBON),
        RelationErased(relation_id=FACT),
    }
    assert {about_tag(MARTA), about_tag(LISBON), relation_tag(FACT)} <= ERASURE.tags(story.state, command)
    story.after(command).when(command).then_nothing()


@pytest.mark.spec("A19", "B07")
def test_a_purge_takes_only_what_is_still_due() -> None:
    at = START + timedelta(days=30)
    purge = EraseKnown(user_id="ana", kind="relation", name=str(FACT), due=at)
    forgotten = RelationForgotten(relation_id=FACT, purge_at=at)
    restored = RelationRestored(relation_id=FACT)

    given(ERASURE, asserted(), forgotten).when(purge).then(RelationErased(relation_id=FACT))
    given(ERASURE, asserted(), forgotten, restored).when(purge).then_nothing()
    early = purge.model_copy(update={"due": at - timedelta(seconds=1)})
    given(ERASURE, asserted(), forgotten).when(early).then_nothing()


@pytest.mark.spec("A01")
def test_what_another_agent_knows_alone_is_not_there() -> None:
    private = asserted(scope=Scope.AGENT, agent_id="coach")
    command = EraseKnown(user_id="ana", agent_id="rival", kind="relation", name=str(FACT))

    given(ERASURE, private).when(command).then_refused(NotFound, "relation_id")


def proposed(patch: int, value: str, *turns: str) -> ProfileProposed:
    about = {"field": "city", "patch_id": UUID(int=patch), "sensitive": True, "source": "api", "value": value}
    signals = {"signals": max(1, len(turns)), "confidence": 0.5, "proposed_by": ("agent:coach",)}
    return ProfileProposed.model_validate({**about, **signals, "expires_at": START, "source_turn_ids": turns})


@pytest.mark.spec("A19", "X07", "B10")
def test_what_others_proposed_for_a_place_waits_on_without_the_erased_turn() -> None:
    told = [said("t1"), said("t9", "other")]
    mine, theirs, both, stated = (
        proposed(7, "Lisbon", "t1"),
        proposed(8, "Porto", "t9"),
        proposed(9, "Faro", "t1", "t9"),
        proposed(10, "Braga"),
    )
    refused = ProfileDecided(field="city", patch_id=UUID(int=11), decision=Decision.REFUSED, by="user")
    story = given(ERASURE, *told, mine, theirs, both, stated, proposed(11, "Evora", "t9"), refused)

    story.when(THREAD).then(
        ProfileErased(field="city"), theirs, proposed(9, "Faro", "t9"), stated, *ended("main", "t1")
    )
    story.after(THREAD).when(THREAD).then_nothing()
    story.when(EraseKnown(user_id="ana", kind="profile", name="city")).then(ProfileErased(field="city"))
