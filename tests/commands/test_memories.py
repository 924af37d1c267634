"""Every command on memories: what it decides, what it refuses, and that asking again changes nothing."""

from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel

from mnemolog.commands.decider import Command
from mnemolog.commands.entities import ObserveEntity
from mnemolog.commands.facts import Remember
from mnemolog.commands.memories import (
    MEMORIES,
    CreateMemory,
    LinkMemories,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UndoChange,
    UpdateMemory,
)
from mnemolog.domain.errors import (
    Erased,
    IdempotencyConflict,
    InvalidInput,
    NotFound,
    TransitionRefused,
    UndoConflict,
)
from mnemolog.domain.memory import MAX_MERGE, PURGE_AFTER, Cause, Kind, Status
from mnemolog.domain.predicates import Predicate
from mnemolog.domain.scope import Scope
from mnemolog.events import memory as events
from mnemolog.events.envelope import NewEvent
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import created, new, updated

A, B, C = uuid4(), uuid4(), uuid4()
ANA: dict[str, Any] = {"user_id": "ana"}


def create(memory_id: UUID = A, **fields: Any) -> CreateMemory:
    told = {"memory_id": memory_id, "text": "Ana lives in Lisbon", "importance": 0.5}
    return CreateMemory.model_validate({**ANA, **told, **fields})


def update(memory_id: UUID = A, **fields: Any) -> UpdateMemory:
    return UpdateMemory.model_validate({**ANA, "memory_id": memory_id, **fields})


def merge(survivor: UUID, *absorbed: UUID, **fields: Any) -> MergeMemories:
    return MergeMemories.model_validate({**ANA, "memory_id": survivor, "absorbed_ids": absorbed, **fields})


def soft_delete(memory_id: UUID = A, **fields: Any) -> SoftDeleteMemory:
    return SoftDeleteMemory.model_validate({**ANA, "memory_id": memory_id, "at": START, **fields})


def restore(memory_id: UUID = A, **fields: Any) -> RestoreMemory:
    return RestoreMemory.model_validate({**ANA, "memory_id": memory_id, **fields})


def link(one: UUID = A, other: UUID = B, **fields: Any) -> LinkMemories:
    return LinkMemories.model_validate({**ANA, "memory_id": one, "to_id": other, **fields})


def undo(event: NewEvent, **fields: Any) -> UndoChange:
    payload = event.payload
    assert isinstance(payload, events.MemoryEvent)
    return UndoChange.model_validate(
        {**ANA, "memory_id": payload.memory_id, "event_id": event.event_id, "at": START, **fields}
    )


def deleted(memory_id: UUID = A, reason: str = "") -> events.MemorySoftDeleted:
    return events.MemorySoftDeleted(memory_id=memory_id, purge_at=START + PURGE_AFTER, reason=reason)


def merged(survivor: UUID, *absorbed: UUID, text: str = "Ana lives in Lisbon") -> events.MemoriesMerged:
    return events.MemoriesMerged.of(survivor, created(survivor, text).content, absorbed_ids=absorbed)


def reverted(payload: events.ContentEvent, undoes: NewEvent, was: Status, **fields: Any) -> events.MemoryReverted:
    after = {"undoes": undoes.event_id, "was": was, "status": Status.ACTIVE, **fields}
    return events.MemoryReverted.of(payload.memory_id, payload.content, **after)


HIDDEN_AGAIN = {"status": Status.SOFT_DELETED, "purge_at": START + PURGE_AFTER}
PRIVATE = created(A, scope=Scope.AGENT, agent_id="coach", origin="agent")
HIDDEN: dict[str, tuple[Event, ...]] = {
    "soft-deleted": (created(A), deleted(A)),
    "absorbed": (created(A), created(B), merged(B, A)),
}


# Create


def test_create_starts_a_memory_with_its_complete_content() -> None:
    given(MEMORIES).when(
        create(category="preference", importance=0.75, confidence=0.9, kind="insight", run_id="run-1")
    ).then(created(A, category="preference", importance=0.75, confidence=0.9, kind=Kind.INSIGHT, run_id="run-1"))


@pytest.mark.spec("A01")
def test_create_names_the_agent_of_an_agent_scoped_memory_only() -> None:
    given(MEMORIES).when(create(agent_id="coach", scope="agent")).then(PRIVATE)
    given(MEMORIES).when(create(agent_id="coach")).then(created(A, origin="agent"))


def test_create_again_changes_nothing() -> None:
    given(MEMORIES, created(A)).when(create()).then_nothing()
    given(MEMORIES, created(A), updated(A, "Ana lives in Porto"), deleted(A)).when(create()).then_nothing()


@pytest.mark.spec("X14")
@pytest.mark.parametrize(
    "other", [{"text": "Ana lives in Porto"}, {"kind": "episode"}, {"scope": "agent", "agent_id": "x"}]
)
def test_create_under_an_id_that_holds_something_else_is_refused(other: dict[str, Any]) -> None:
    given(MEMORIES, created(A)).when(create(**other)).then_refused(IdempotencyConflict, "memory_id")


# Update


def test_an_update_has_the_complete_content_and_names_the_changed_fields() -> None:
    given(MEMORIES, created(A)).when(update(text="Ana lives in Porto")).then(updated(A, "Ana lives in Porto"))
    given(MEMORIES, created(A)).when(update(confidence=0.5, importance=0.25)).then(
        updated(A, "Ana lives in Lisbon", confidence=0.5, importance=0.25, changed=("confidence", "importance"))
    )


def test_update_to_what_holds_already_changes_nothing() -> None:
    given(MEMORIES, created(A)).when(update(text="Ana lives in Lisbon", pinned=False)).then_nothing()


def test_update_of_nothing_is_refused() -> None:
    given(MEMORIES, created(A)).when(update()).then_refused(InvalidInput, "text", "no change is given")


@pytest.mark.parametrize("hidden", HIDDEN)
def test_update_of_a_hidden_memory_is_refused(hidden: str) -> None:
    given(MEMORIES, *HIDDEN[hidden]).when(update(text="x")).then_refused(TransitionRefused, "memory_id")


# Merge


@pytest.mark.spec("X03")
def test_merge_hides_the_absorbed_and_keeps_the_most_of_each() -> None:
    weak = created(A, importance=0.25, confidence=0.5)
    strong = created(B, "Ana moved to Lisbon", importance=0.75, confidence=0.9, category="travel")
    expected = created(A, importance=0.75, confidence=0.9)

    story = given(MEMORIES, weak, strong)

    story.when(merge(A, B)).then(events.MemoriesMerged.of(A, expected.content, absorbed_ids=(B,)))
    after = story.after(merge(A, B)).state.known
    assert (after[A].content, after[A].status) == (expected.content, Status.ACTIVE)
    assert (after[B].content, after[B].status, after[B].merged_into) == (strong.content, Status.DORMANT, A)


def test_merge_takes_a_text_of_its_own() -> None:
    given(MEMORIES, created(A), created(B)).when(merge(A, B, text="Both")).then(merged(A, B, text="Both"))


def test_merge_again_changes_nothing() -> None:
    done = given(MEMORIES, created(A), created(B), created(C)).after(merge(A, B, C, text="All"))

    done.when(merge(A, B, C, text="All")).then_nothing()
    done.when(merge(A, C)).then_nothing()


def test_merge_again_under_another_text_is_refused_and_not_forgotten() -> None:
    done = given(MEMORIES, created(A), created(B)).after(merge(A, B, text="One"))

    done.when(merge(A, B, text="Other")).then_refused(TransitionRefused, "absorbed_ids[0]", f"merged into {A}|dormant")


@pytest.mark.parametrize("absorbed", [(), (A,), (B, B), (B, A)], ids=["none", "itself", "twice", "itself too"])
def test_merge_takes_different_memories(absorbed: tuple[UUID, ...]) -> None:
    given(MEMORIES, created(A), created(B)).when(merge(A, *absorbed)).then_refused(InvalidInput, "absorbed_ids")


def test_merge_takes_no_more_than_fifty_at_once() -> None:
    many = [uuid4() for _ in range(MAX_MERGE + 1)]
    story = given(MEMORIES, created(A), *map(created, many))

    story.when(merge(A, *many)).then_refused(InvalidInput, "absorbed_ids")
    story.when(merge(A, *many[1:])).then(merged(A, *many[1:]))


@pytest.mark.spec("A01")
def test_merge_across_scopes_or_agents_is_refused() -> None:
    across = given(MEMORIES, created(A), created(B, scope=Scope.AGENT, agent_id="coach"))

    across.when(merge(A, B, agent_id="coach")).then_refused(TransitionRefused, "absorbed_ids", "a different scope")
    across.when(merge(B, A, agent_id="coach")).then_refused(TransitionRefused, "absorbed_ids", "a different scope")


@pytest.mark.parametrize("hidden", HIDDEN)
def test_merge_of_a_hidden_memory_is_refused(hidden: str) -> None:
    story = given(MEMORIES, *HIDDEN[hidden], created(C))

    story.when(merge(C, A)).then_refused(TransitionRefused, "absorbed_ids[0]")
    story.when(merge(A, C)).then_refused(TransitionRefused, "memory_id")


def test_merge_names_the_absorbed_memory_that_is_not_there() -> None:
    given(MEMORIES, created(A), created(B)).when(merge(A, B, C)).then_refused(NotFound, "absorbed_ids[1]")


# Soft-delete and restore


@pytest.mark.spec("B07", "A19")
def test_soft_delete_hides_a_memory_and_says_when_it_will_be_purged() -> None:
    story = given(MEMORIES, created(A))

    story.when(soft_delete(reason="wrong")).then(deleted(A, reason="wrong"))
    after = story.after(soft_delete()).state.known[A]
    assert (after.status, after.purge_at) == (Status.SOFT_DELETED, START + timedelta(days=30))


def test_soft_delete_again_does_not_put_the_purge_off() -> None:
    given(MEMORIES, created(A), deleted(A)).when(soft_delete(at=START + timedelta(days=9))).then_nothing()


def test_soft_delete_of_an_absorbed_memory_is_refused() -> None:
    given(MEMORIES, *HIDDEN["absorbed"]).when(soft_delete(A)).then_refused(TransitionRefused, "memory_id")


@pytest.mark.spec("B07")
@pytest.mark.parametrize("hidden", HIDDEN)
def test_restore_brings_a_hidden_memory_back(hidden: str) -> None:
    story = given(MEMORIES, *HIDDEN[hidden])

    story.when(restore()).then(events.MemoryRestored(memory_id=A))
    after = story.after(restore()).state.known[A]
    assert (after.status, after.purge_at, after.merged_into) == (Status.ACTIVE, None, None)


def test_restore_of_a_visible_memory_changes_nothing() -> None:
    given(MEMORIES, created(A)).when(restore()).then_nothing()


@pytest.mark.spec("X07")
@pytest.mark.parametrize("erasure", [MemoryErased(memory_id=A), UserErased()])
def test_nothing_can_be_done_to_an_erased_memory(erasure: Event) -> None:
    erased = given(MEMORIES, created(A), created(B), deleted(A), erasure)

    for command in (update(text="anew"), merge(A, B), restore(), soft_delete(), link()):
        erased.when(command).then_refused(Erased, "memory_id", "was erased")


@pytest.mark.spec("X07")
def test_an_erased_memory_is_not_created_again_under_its_id() -> None:
    given(MEMORIES, created(A, text=""), MemoryErased(memory_id=A)).when(create(text="anew")).then_nothing()


# Link


@pytest.mark.spec("B02")
def test_link_joins_two_memories() -> None:
    expected = events.MemoriesLinked(memory_id=A, to_id=B, relation_type="causes", strength=0.5)

    given(MEMORIES, created(A), created(B)).when(link(relation_type="causes", strength=0.5)).then(expected)


@pytest.mark.spec("B02")
def test_link_of_the_same_two_is_one_edge_that_can_change() -> None:
    story = given(MEMORIES, created(A), created(B)).after(link(strength=0.5))

    story.when(link(strength=0.5)).then_nothing()
    story.when(link(strength=0.6)).then(events.MemoriesLinked(memory_id=A, to_id=B, strength=0.6))
    story.when(link(B, A, strength=0.5)).then(events.MemoriesLinked(memory_id=B, to_id=A, strength=0.5))
    renamed = story.after(link(strength=0.5, relation_type="causes"))
    renamed.when(link(strength=0.5)).then(events.MemoriesLinked(memory_id=A, to_id=B, strength=0.5))


def test_link_to_itself_to_a_hidden_or_to_no_memory_is_refused() -> None:
    story = given(MEMORIES, created(A), created(B), deleted(B))

    story.when(link(A, A)).then_refused(InvalidInput, "to_id")
    story.when(link(A, C)).then_refused(NotFound, "to_id")
    story.when(link(A, B)).then_refused(TransitionRefused, "to_id", str(B))


# Undo


@pytest.mark.spec("X03")
def test_undo_of_an_update_gives_the_content_back() -> None:
    change = new(updated(A, "Ana lives in Porto", importance=0.9))

    given(MEMORIES, created(A), change).when(undo(change)).then(reverted(created(A), change, Status.ACTIVE))


@pytest.mark.spec("X03")
def test_undo_of_a_merge_gives_every_memory_back_as_it_was() -> None:
    change = new(merged(A, B, C, text="All of it"))
    before = [created(A, "one"), created(B, "two", pinned=True), created(C, "three")]

    given(MEMORIES, *before, change).when(undo(change)).then(
        reverted(before[0], change, Status.ACTIVE),
        reverted(before[1], change, Status.DORMANT),
        reverted(before[2], change, Status.DORMANT),
    )


@pytest.mark.spec("X03")
def test_undo_of_a_deletion_and_of_a_restoration() -> None:
    deletion, restoration = new(deleted(A)), new(events.MemoryRestored(memory_id=A))

    given(MEMORIES, created(A), deletion).when(undo(deletion)).then(reverted(created(A), deletion, Status.SOFT_DELETED))
    given(MEMORIES, created(A), deletion, restoration).when(undo(restoration)).then(
        reverted(created(A), restoration, Status.ACTIVE, **HIDDEN_AGAIN, cause=Cause.ASKED)
    )


@pytest.mark.spec("X03")
def test_undo_of_a_restoration_hides_an_absorbed_memory_in_its_survivor_again() -> None:
    restoration = new(events.MemoryRestored(memory_id=A))

    after = given(MEMORIES, *HIDDEN["absorbed"], restoration).after(undo(restoration)).state.known[A]

    assert (after.status, after.merged_into) == (Status.DORMANT, B)


def test_undo_twice_changes_nothing() -> None:
    change = new(merged(A, B))
    story = given(MEMORIES, created(A), created(B), change).after(undo(change))

    story.when(undo(change)).then_nothing()
    story.and_then(updated(A, "later")).when(undo(change)).then_nothing()


def test_successive_undos_go_back_step_by_step() -> None:
    first, second = new(updated(A, "Porto")), new(updated(A, "Faro"))
    story = given(MEMORIES, created(A), first, second).after(undo(second))

    assert story.state.known[A].content.text == "Porto"
    assert story.after(undo(first)).state.known[A].content == created(A).content


@pytest.mark.spec("X03")
@pytest.mark.parametrize(
    "later", [updated(A, "later"), updated(B, "later"), deleted(A), events.MemoryRestored(memory_id=B), merged(C, A)]
)
def test_undo_with_a_later_change_in_the_way_is_refused(later: Event) -> None:
    change, last = new(merged(A, B)), new(later)

    error = (
        given(MEMORIES, created(A), created(B), created(C), change, last)
        .when(undo(change))
        .then_refused(UndoConflict, "event_id", str(last.event_id))
    )

    assert later.type_name() in error.message


def test_what_stands_in_the_way_of_an_undo_can_itself_be_undone() -> None:
    change, deletion = new(updated(A, "Porto")), new(deleted(A))
    restoration = new(events.MemoryRestored(memory_id=A))
    story = given(MEMORIES, created(A), change, deletion, restoration)

    after = story.after(undo(restoration)).after(undo(deletion)).after(undo(change))

    assert after.state.known[A].content == created(A).content


def test_a_link_does_not_stand_in_the_way_of_an_undo() -> None:
    change = new(updated(A, "Porto"))
    story = given(MEMORIES, created(A), created(B), change).after(link())

    assert story.after(undo(change)).state.known[A].content == created(A).content


@pytest.mark.spec("X03")
def test_undo_of_a_creation_deletes_softly_and_undo_of_that_brings_it_back() -> None:
    birth = new(created(A))
    [gone] = given(MEMORIES, birth).when(undo(birth)).events()
    revert = new(gone)
    story = given(MEMORIES, birth, revert)

    assert gone == reverted(created(A), birth, Status.ACTIVE, **HIDDEN_AGAIN, cause=Cause.UNDONE)
    assert story.after(undo(revert)).state.known == given(MEMORIES, birth).state.known


@pytest.mark.spec("X03")
def test_undo_of_a_link_gives_the_edge_back_that_it_replaced_or_none() -> None:
    first, second = (new(events.MemoriesLinked(memory_id=A, to_id=B, strength=at)) for at in (0.5, 0.9))
    story = given(MEMORIES, created(A), created(B), first, second).after(undo(second))

    assert story.state.links == {(A, B): ("related_to", 0.5)}
    assert story.after(undo(first)).state.links == {}


@pytest.mark.spec("X03")
def test_an_undo_can_be_undone_as_long_as_nothing_came_later() -> None:
    change = new(updated(A, "Porto"))
    undone = new(given(MEMORIES, created(A), change).when(undo(change)).events()[0])
    story = given(MEMORIES, created(A), change, undone)
    again = new(story.when(undo(undone)).events()[0])

    assert story.and_then(again).state.known[A].content.text == "Porto"
    story.and_then(again).when(undo(undone)).then_nothing()
    after = story.and_then(again).after(undo(change))
    assert after.state.known[A].content == created(A).content, "what was done again can be undone again"
    story.and_then(again, updated(A, "Faro")).when(undo(again)).then_refused(UndoConflict, "event_id")


def test_undo_without_an_event_undoes_the_last_change_in_force() -> None:
    story = given(MEMORIES, created(A), new(updated(A, "Porto")), new(updated(A, "Faro")))
    last = UndoChange.model_validate({**ANA, "memory_id": A, "at": START})

    assert story.after(last).state.known[A].content.text == "Porto"
    assert story.after(last).after(last).state.known[A].content == created(A).content


def test_undo_without_an_event_goes_on_behind_what_was_done_again_and_undone_again() -> None:
    first, second = new(updated(A, "Porto")), new(updated(A, "Faro"))
    story = given(MEMORIES, created(A), first, second)
    change = second
    for _ in range(3):  # Undone, done again, undone again.
        change = new(story.when(undo(change)).events()[0])
        story = story.and_then(change)
    last = UndoChange.model_validate({**ANA, "memory_id": A, "at": START})

    assert story.state.known[A].content.text == "Porto"
    assert story.after(last).state.known[A].content == created(A).content


def test_undo_of_something_else_is_refused() -> None:
    story = given(MEMORIES, created(A), new(updated(A, "Porto")))

    story.when(undo(new(updated(A, "never written")))).then_refused(NotFound, "event_id")


# Whose memory


@pytest.mark.spec("A01", "C01")
@pytest.mark.parametrize(
    ("command", "field"),
    [
        (update(text="x"), "memory_id"),
        (soft_delete(), "memory_id"),
        (restore(), "memory_id"),
        (merge(A, B), "memory_id"),
        (merge(B, A), "absorbed_ids[0]"),
        (link(A, B), "memory_id"),
        (link(B, A), "to_id"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseModel) else value,
)
def test_the_memory_of_another_agent_is_not_there(command: Any, field: str) -> None:
    other = command.model_copy(update={"agent_id": "rival"})
    owner = command.model_copy(update={"agent_id": "coach"})
    story = given(MEMORIES, PRIVATE, created(B))

    hidden = story.when(other).then_refused(NotFound, field)
    missing = given(MEMORIES, created(B)).when(other).then_refused(NotFound, field)

    assert hidden.message == missing.message, "it cannot even be told that it exists"
    with suppress(TransitionRefused):  # a merge or link across scopes: found, and refused for what it is
        story.when(owner).events()


@pytest.mark.spec("A01", "C01")
def test_the_change_of_another_agent_cannot_be_undone() -> None:
    change = new(updated(A, "Porto"))
    story = given(MEMORIES, PRIVATE, change)

    story.when(undo(change, agent_id="rival")).then_refused(NotFound, "event_id")
    assert story.when(undo(change, agent_id="coach")).events()


# Requests that cannot be read


@pytest.mark.parametrize(
    ("model", "fields", "field"),
    [
        (CreateMemory, {"text": ""}, "text"),
        (CreateMemory, {"text": "  \n"}, "text"),
        (CreateMemory, {"text": "nul \0"}, "text"),
        (CreateMemory, {"text": "x" * (1024 * 1024)}, "text"),
        (CreateMemory, {"text": "half an emoji \ud83d"}, "text"),
        (CreateMemory, {"text": 7}, "text"),
        (CreateMemory, {"memory_id": "not-a-uuid"}, "memory_id"),
        (CreateMemory, {"importance": 1.1}, "importance"),
        (CreateMemory, {"importance": float("nan")}, "importance"),
        (CreateMemory, {"importance": "0.5"}, "importance"),
        (CreateMemory, {"confidence": True}, "confidence"),
        (CreateMemory, {"pinned": 1}, "pinned"),
        (CreateMemory, {"kind": "rumour"}, "kind"),
        (CreateMemory, {"scope": "planet"}, "scope"),
        (CreateMemory, {"user_id": ""}, "user_id"),
        (CreateMemory, {"user_id": "a\nb"}, "user_id"),
        (CreateMemory, {"tenant": "a/b"}, "tenant"),
        (CreateMemory, {"colour": "red"}, "colour"),
        (SoftDeleteMemory, {"at": START.replace(tzinfo=None)}, "at"),
        (MergeMemories, {"absorbed_ids": ["no"]}, "absorbed_ids[0]"),
        (LinkMemories, {"strength": -0.1}, "strength"),
    ],
)
def test_a_request_that_cannot_be_read_names_its_field(model: Any, fields: dict[str, Any], field: str) -> None:
    valid: dict[type[BaseModel], dict[str, Any]] = {
        CreateMemory: {"text": "fine"},
        SoftDeleteMemory: {"at": START},
        MergeMemories: {"absorbed_ids": [B]},
        LinkMemories: {"to_id": B},
    }

    with pytest.raises(InvalidInput) as caught:
        validated(model, {**ANA, "memory_id": A, **valid[model], **fields})

    assert caught.value.field == field
    assert caught.value.fix


def test_the_fingerprint_of_a_request_ignores_generated_ids() -> None:
    assert create(A).fingerprint() == create(B).fingerprint()
    assert soft_delete(at=START).fingerprint() == soft_delete(at=START + timedelta(days=1)).fingerprint()
    assert create(text="one").fingerprint() != create(text="other").fingerprint()
    assert update(A, text="one").fingerprint() != update(B, text="one").fingerprint()


@pytest.mark.spec("A01")
@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (CreateMemory, {"memory_id": A, "text": "tea"}),
        (Remember, {"subject": "Ana", "predicate": "likes", "object": "tea", "at": START, "rule": Predicate("likes")}),
        (ObserveEntity, {"name": "Ana", "entity_id": A}),
    ],
)
def test_what_is_one_agents_own_names_that_agent(kind: type[Command], fields: dict[str, Any]) -> None:
    drawn: dict[str, Any] = {
        name: A for name in ("relation_id", "subject_id", "object_id") if name in kind.model_fields
    }
    with pytest.raises(InvalidInput, match="needs an agent") as refused:
        validated(kind, {**ANA, **drawn, **fields, "scope": "agent"})

    assert refused.value.field == "agent_id"
    assert refused.value.fix
    assert validated(kind, {**ANA, **drawn, **fields, "scope": "agent", "agent_id": "coach"}).agent_id == "coach"


@pytest.mark.spec("D01")
def test_existing_open_loops_are_read_and_new_ones_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(CreateMemory, {**ANA, "memory_id": A, "text": "call back", "type": "OPEN_LOOP"})

    assert refused.value.field == "type"
    assert given(MEMORIES, created(A, "call back", type="OPEN_LOOP")).state.known[A].identity.type == "OPEN_LOOP"
