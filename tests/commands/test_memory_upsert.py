"""Create where something is known already: by its key, or by what it says; and the neighbours that it is linked to."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.commands.memories import MEMORIES, CreateMemory, Near, RestoreMemory, Similar, UndoChange, UpdateMemory
from mnemolog.domain.bands import Band, Bands
from mnemolog.domain.errors import InvalidInput, TransitionRefused, UndoConflict
from mnemolog.domain.memory import PURGE_AFTER, Status
from mnemolog.domain.scope import Scope
from mnemolog.events import memory as events
from mnemolog.events.event import memory_tag
from mnemolog.events.memory import Match, Observation, key_tag, text_tag
from tests.domain.contradictions import CONTRADICTIONS
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import created, new, updated

A, B, C = uuid4(), uuid4(), uuid4()
KEY = "people|person|john_doe|habit"
BY_KEY = Match(band=Band.KEY, candidate_id=A)
KEPT = created(A, "John runs 5 km", memory_key=KEY)
BANDS = Bands(auto=0.93, check_low=0.76, fallback_low=0.5)


def create(memory_id: UUID = B, text: str = "John runs 5 km", **fields: Any) -> CreateMemory:
    return CreateMemory.model_validate({"user_id": "ana", "memory_id": memory_id, "text": text, **fields})


def similar(**near: float) -> Similar:
    ids = {"a": A, "c": C}
    found = tuple(Near(memory_id=ids[name], similarity=score) for name, score in near.items())
    return Similar(model="m", bands=BANDS, link_min=0.3, near=found)


def deleted(memory_id: UUID = A) -> events.MemorySoftDeleted:
    return events.MemorySoftDeleted(memory_id=memory_id, purge_at=START + PURGE_AFTER)


# By its key


@pytest.mark.spec("D04")
def test_a_key_follows_from_what_a_memory_is_about() -> None:
    about: dict[str, Any] = {"type": "PEOPLE", "fact_type": "habit", "entity_refs": ("person:john_doe", "org:acme")}

    [made] = given(MEMORIES).when(create(**about)).events()

    assert isinstance(made, events.MemoryCreated)
    assert made.memory_key == KEY
    assert key_tag(Scope.GLOBAL, None, KEY) in made.tags()


@pytest.mark.spec("D04")
@pytest.mark.spec_part("D13")
def test_the_same_words_under_a_key_are_an_observation() -> None:
    given(MEMORIES, created(A, "John runs 5 km", memory_key=KEY, confidence=0.5)).when(
        create(text="JOHN runs 5  km", memory_key=KEY, source_turn_ids=("t1",))
    ).then(
        events.MemoryObserved(
            memory_id=A,
            confidence=1 - 0.5 * 0.7,
            importance=0.55,
            cause=Observation.REPEAT,
            match=BY_KEY,
            source_turn_ids=("t1",),
        )
    )


@pytest.mark.spec("D04")
def test_other_words_under_a_key_are_an_update_and_never_make_it_matter_less() -> None:
    given(MEMORIES, KEPT).when(create(text="John swims", memory_key=KEY, confidence=0.75, importance=0.25)).then(
        updated(A, "John swims", confidence=0.75, changed=("confidence", "text"), match=BY_KEY)
    )


@pytest.mark.spec_part("D13")
def test_a_turn_that_was_heard_already_says_nothing_more() -> None:
    story = given(MEMORIES, KEPT).after(create(memory_key=KEY, source_turn_ids=("t1",)))

    story.when(create(C, memory_key=KEY, source_turn_ids=("t1",))).then_nothing()
    assert len(story.when(create(C, memory_key=KEY, source_turn_ids=("t1", "t2"))).events()) == 1


@pytest.mark.parametrize("other", [{"scope": "agent", "agent_id": "coach"}, {"memory_key": "another"}])
def test_a_key_counts_in_its_scope_only(other: dict[str, Any]) -> None:
    [made] = given(MEMORIES, KEPT).when(create(**{"memory_key": KEY, **other})).events()

    assert isinstance(made, events.MemoryCreated)


def test_a_hidden_memory_has_freed_its_key() -> None:
    [made] = given(MEMORIES, KEPT, deleted()).when(create(memory_key=KEY)).events()

    assert isinstance(made, events.MemoryCreated)


@pytest.mark.spec("D04")
def test_a_memory_whose_key_was_taken_is_not_restored() -> None:
    deletion = new(deleted())
    story = given(MEMORIES, KEPT, deletion, created(B, memory_key=KEY))

    story.when(RestoreMemory(user_id="ana", memory_id=A)).then_refused(TransitionRefused, "memory_id", str(B))
    undo = UndoChange(user_id="ana", memory_id=A, event_id=deletion.event_id, at=START)
    story.when(undo).then_refused(UndoConflict, "event_id", str(B))
    story.and_then(deleted(B)).when(undo).events()


def test_what_a_decision_on_a_key_reads_shows_step_by_step() -> None:
    asked, tag = create(memory_key=KEY), key_tag(Scope.GLOBAL, None, KEY)

    assert {tag, f"memory:{B}"} <= MEMORIES.tags(MEMORIES.initial, asked)
    assert f"memory:{A}" in MEMORIES.tags(given(MEMORIES, KEPT).state, asked)
    back = RestoreMemory(user_id="ana", memory_id=A)
    assert {tag, f"memory:{B}"} <= MEMORIES.tags(given(MEMORIES, KEPT, created(B, memory_key=KEY)).state, back)


# By what it says


def test_without_being_asked_nothing_that_is_alike_is_merged() -> None:
    asked = create(text="Ana has a view of Lisbon", similar=similar(a=0.99))

    [made, edge] = given(MEMORIES, created(A)).when(asked).events()

    assert isinstance(made, events.MemoryCreated)
    assert made.match is None
    assert edge == events.MemoriesLinked(memory_id=B, to_id=A, strength=0.99)


@pytest.mark.spec_part("B13")
def test_what_says_the_same_is_observed_with_its_words() -> None:
    asked = create(text="Ana is living in Lisbon", merge_similar=True, similar=similar(a=0.95))

    [observed] = given(MEMORIES, created(A)).when(asked).events()

    assert isinstance(observed, events.MemoryObserved)
    assert (observed.text, observed.match) == (
        "Ana is living in Lisbon",
        Match(band=Band.AUTO, similarity=0.95, model="m", candidate_id=A),
    )


def test_a_fuller_form_updates() -> None:
    asked = create(text="John runs along the river", merge_similar=True, similar=similar(a=0.9))

    [changed] = given(MEMORIES, created(A, "John runs")).when(asked).events()

    assert isinstance(changed, events.MemoryUpdated)
    assert (changed.memory_id, changed.text) == (A, "John runs along the river")


def test_a_fuller_form_with_a_subject_absorbs_the_old_one() -> None:
    about: dict[str, Any] = {"similar": similar(a=0.9), "entity_refs": ("person:john",)}
    asked = create(text="John runs along the river", merge_similar=True, **about)
    story = given(MEMORIES, created(A, "John runs", importance=0.75)).after(asked)

    known = story.state.known
    assert (known[A].status, known[A].merged_into) == (Status.DORMANT, B)
    assert (known[B].content.text, known[B].content.importance) == ("John runs along the river", 0.75)
    assert story.state.links == {}


@pytest.mark.spec_part("B02", "B13", "D04")
@pytest.mark.parametrize(("said", "denied"), [pair[1:] for pair in CONTRADICTIONS])
def test_what_contradicts_is_kept_beside_it_and_linked_however_alike_it_is(said: str, denied: str) -> None:
    asked = create(text=denied, merge_similar=True, similar=similar(a=0.99))

    [made, edge] = given(MEMORIES, created(A, said)).when(asked).events()

    assert isinstance(made, events.MemoryCreated)
    assert made.match == Match(band=Band.CONFLICT, similarity=0.99, model="m", candidate_id=A)
    assert edge == events.MemoriesLinked(memory_id=B, to_id=A, relation_type="contradicts", strength=0.99)


def test_an_update_that_contradicts_is_linked_and_one_that_agrees_again_is_no_longer() -> None:
    before = given(MEMORIES, created(A, "Ana is vegetarian"), created(B, "Ana eats no meat"))

    def updating(memory_id: UUID, text: str, **near: float) -> UpdateMemory:
        return UpdateMemory(user_id="ana", memory_id=memory_id, text=text, similar=similar(**near))

    against = before.after(updating(B, "Ana is not vegetarian", a=0.9))
    ids = (Near(memory_id=B, similarity=0.9),)
    agreeing = updating(A, "Ana is not vegetarian").model_copy(
        update={"similar": Similar(model="m", bands=BANDS, link_min=0.3, near=ids)}
    )

    assert against.state.links == {(B, A): ("contradicts", 0.9)}
    assert against.after(agreeing).state.links == {(B, A): ("related_to", 0.9)}


@pytest.mark.spec_part("D04")
def test_the_same_text_is_found_in_the_log_and_not_by_what_a_model_found() -> None:
    asked = create(text="john  RUNS 5 km.", merge_similar=True, source_turn_ids=("t1",))
    story = given(MEMORIES, created(A, "John runs 5 km", confidence=0.5))

    [observed] = story.when(asked).events()

    assert text_tag("John runs 5 km") in MEMORIES.tags(MEMORIES.initial, asked)
    assert memory_tag(A) in MEMORIES.tags(story.state, asked)
    assert isinstance(observed, events.MemoryObserved)
    assert (observed.memory_id, observed.match) == (A, Match(band=Band.AUTO, candidate_id=A))


@pytest.mark.parametrize(
    "other", [{}, {"kind": "episode"}, {"category": "tasks"}, {"scope": "agent"}, {"entity_refs": ("person:bob",)}]
)
def test_the_same_text_of_another_kind_or_owner_or_without_being_asked_is_another_memory(other: dict[str, Any]) -> None:
    asked = create(**{"agent_id": "coach", "merge_similar": bool(other), **other})

    first = given(MEMORIES, created(A, "John runs 5 km")).when(asked).events()[0]

    assert isinstance(first, events.MemoryCreated)


@pytest.mark.parametrize("other", [{"category": "tasks"}, {"kind": "insight"}, {"scope": "agent"}])
def test_only_possible_meanings_are_candidates(other: dict[str, Any]) -> None:
    asked = create(merge_similar=True, similar=similar(a=0.99), **{"agent_id": "coach", **other})

    first = given(MEMORIES, created(A, "John runs 5 km")).when(asked).events()[0]

    assert isinstance(first, events.MemoryCreated)
    assert first.match is None


def test_what_is_alike_and_not_the_same_names_its_pair_for_consolidation() -> None:
    asked = create(text="John likes to run", merge_similar=True, similar=similar(a=0.6))

    made = given(MEMORIES, created(A, "John runs 5 km")).when(asked).events()[0]

    assert isinstance(made, events.MemoryCreated)
    assert made.match == Match(band=Band.FALLBACK, similarity=0.6, model="m", candidate_id=A)


# Neighbours


@pytest.mark.spec("B02")
def test_no_edge_leads_to_what_is_hidden_gone_private_or_far() -> None:
    history = [created(A), deleted(), created(C, scope="agent", agent_id="default")]

    [made] = given(MEMORIES, *history).when(create(similar=similar(a=0.9, c=0.9))).events()

    assert isinstance(made, events.MemoryCreated)
    assert len(given(MEMORIES, created(A)).when(create(similar=similar(a=0.29))).events()) == 1


@pytest.mark.spec("B02")
def test_new_words_find_new_neighbours_and_keep_the_edges_that_there_are() -> None:
    edge = events.MemoriesLinked(memory_id=B, to_id=A, strength=1.0, relation_type="causes")
    asked = UpdateMemory(user_id="ana", memory_id=B, text="Ana moved", similar=similar(a=0.9, c=0.5))

    story = given(MEMORIES, created(A), created(B), created(C), edge).after(asked)

    assert story.state.links == {(B, A): ("causes", 1.0), (B, C): ("related_to", 0.5)}


# Pins and procedures


@pytest.mark.spec("D03")
def test_what_is_pinned_is_of_the_highest_importance_and_no_other() -> None:
    story = given(MEMORIES).after(create(A, pinned=True, importance=0.25))

    assert story.state.known[A].content.importance == 1.0
    story.when(UpdateMemory(user_id="ana", memory_id=A, importance=0.5)).then_refused(InvalidInput, "importance")
    unpinned = story.after(UpdateMemory(user_id="ana", memory_id=A, pinned=False)).state.known[A].content
    assert (unpinned.pinned, unpinned.importance) == (False, 1.0)


@pytest.mark.spec("B12")
def test_a_procedure_is_steps_and_of_its_own_category() -> None:
    given(MEMORIES).when(create(kind="procedure")).then_refused(InvalidInput, "text")
    story = given(MEMORIES).after(create(A, text="1. Fetch\n2. Build", category="procedural"))

    assert story.state.known[A].kind == "procedure"
    story.when(UpdateMemory(user_id="ana", memory_id=A, category="note")).then_refused(InvalidInput, "category")
    story.when(UpdateMemory(user_id="ana", memory_id=A, text="Build")).then_refused(InvalidInput, "text")
    given(MEMORIES, created(B)).when(UpdateMemory(user_id="ana", memory_id=B, category="procedural")).then_refused(
        InvalidInput, "category"
    )


@pytest.mark.parametrize(
    ("scale", "said", "kept"), [("unit", 0.25, 0.25), ("level3", 2, 2 / 3), ("level5", 2, 0.25), ("level3", 0, 0.0)]
)
def test_an_importance_is_read_on_the_scale_that_is_named(scale: str, said: float, kept: float) -> None:
    [made] = given(MEMORIES).when(create(importance=said, importance_scale=scale)).events()

    assert isinstance(made, events.MemoryCreated)
    assert made.importance == kept
