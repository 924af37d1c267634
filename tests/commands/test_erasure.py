"""What an erasure takes along, what stands in its way, and that nothing slips in beside it (X07)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import example, settings
from hypothesis import given as drawn
from hypothesis import strategies as st

from mnemolog.commands.erasure import ERASURE, USER_ERASURE, Erase, EraseMemory, EraseMessages, EraseThread, EraseUser
from mnemolog.commands.memories import MEMORIES, UpdateMemory
from mnemolog.commands.turns import TURNS, RecordTurn
from mnemolog.domain.errors import NotFound, TransitionRefused
from mnemolog.domain.memory import Cause, Memory, Status
from mnemolog.domain.turn import Role
from mnemolog.events import memory as events
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.erasure import USER, MemoryErased, SourceTurn, ThreadErased, UserErased
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.message import MessageDeleted, MessageRestored, MessagesErased
from tests.testkit.clock import START
from tests.testkit.decider import Story, given
from tests.testkit.events import created, ended
from tests.testkit.examples import examples

A, B, C, D = (UUID(int=number) for number in (10, 11, 12, 13))


def said(turn_id: str, thread: str = "main", text: str = "hello") -> TurnRecorded:
    return TurnRecorded(turn_id=turn_id, thread_id=thread, role=Role.USER, text=text)


def remembered(memory_id: UUID, *turn_ids: str, text: str = "hello") -> events.MemoryCreated:
    return created(memory_id, text, source_turn_ids=turn_ids)


def merged(survivor: UUID, *absorbed: UUID, text: str = "hello") -> events.MemoriesMerged:
    return events.MemoriesMerged.of(survivor, created(survivor, text).content, absorbed_ids=absorbed)


def undone(memory_id: UUID, text: str = "hello") -> events.MemoryReverted:
    content = created(memory_id, text).content
    return events.MemoryReverted.of(
        memory_id, content, undoes=uuid4(), was=Status.DORMANT, status=Status.ACTIVE, merged_into=None
    )


def erased(memory_id: UUID, *turns: tuple[str, str]) -> MemoryErased:
    named = tuple(SourceTurn(thread_id=thread, turn_id=turn) for thread, turn in turns)
    return MemoryErased(memory_id=memory_id, turns=named)


def memory(memory_id: UUID = A, **fields: Any) -> EraseMemory:
    return EraseMemory.model_validate({"user_id": "ana", "memory_id": memory_id, **fields})


def thread(thread_id: str = "main", **fields: Any) -> EraseThread:
    return EraseThread.model_validate({"user_id": "ana", "thread_id": thread_id, **fields})


def then(history: tuple[Event, ...], command: Erase, *expected: Event) -> None:
    given(ERASURE, *history).when(command).then(*expected)


# A memory


def test_a_memory_is_erased_with_its_source_turns() -> None:
    history = (said("t1"), said("t2", "other"), remembered(A, "t1", "t2"))

    then(history, memory(), erased(A, ("main", "t1"), ("other", "t2")))
    then(history, memory(keep_turns=True), erased(A))


def test_other_memories_from_the_turn_are_erased_and_their_other_turns_stay() -> None:
    history = (said("t1"), said("t2"), remembered(A, "t1"), remembered(B, "t1", "t2"), remembered(C, "t2"))

    then(history, memory(), erased(A, ("main", "t1")), erased(B))


def test_what_was_merged_into_it_goes_with_it_and_into_that_too() -> None:
    history = (created(A), created(B), created(C), merged(B, C), merged(A, B))

    then(history, memory(), erased(A), erased(B), erased(C))


def test_what_an_undo_took_out_of_it_again_stays() -> None:
    history = (created(A), created(B), merged(A, B), undone(A), undone(B))

    then(history, memory(), erased(A))


def test_an_absorbed_memory_is_erased_alone_if_the_survivor_kept_its_own_text() -> None:
    then((created(A, "tea"), created(B), merged(A, B, text="tea")), memory(B), erased(B))


@pytest.mark.parametrize("later", [(), (undone(A), undone(B)), (events.MemoryRestored(memory_id=B),)])
def test_an_absorbed_memory_does_not_go_without_a_survivor_that_was_rewritten(later: tuple[Event, ...]) -> None:
    """Also when the merge was undone since: the survivor's earlier events hold those words."""
    history = (created(A), created(B), merged(A, B, text="both"), *later)
    story = given(ERASURE, *history)

    refused = story.when(memory(B)).then_refused(TransitionRefused, "memory_id", str(A))

    assert "with-survivors" in refused.fix
    [*taken] = story.when(memory(B, with_survivors=True)).events()
    assert set(taken) == {erased(A), erased(B)}


def test_survivors_of_survivors_go_as_well() -> None:
    history = (created(A), created(B), created(C), merged(B, C, text="both"), merged(A, B, text="all"))

    then(history, memory(C, with_survivors=True), erased(C), erased(B), erased(A))


def test_what_is_erased_is_not_erased_again() -> None:
    history = (said("t1", text=""), remembered(A, "t1", text=""), erased(A, ("main", "t1")))

    then(history, memory())


def test_turns_that_were_kept_can_be_erased_later() -> None:
    history = (said("t1"), remembered(A, "t1", text=""), erased(A))

    then(history, memory(), erased(A, ("main", "t1")))


def test_a_memory_of_an_erased_user_is_erased_already() -> None:
    then((said("t1"), remembered(A, "t1"), UserErased()), memory())


@pytest.mark.spec("X07")
@pytest.mark.parametrize(
    "told",
    [
        events.MemoryUpdated.of(A, created(A, "Faro").content, changed=("text",), source_turn_ids=("t2",)),
        events.MemoryObserved(
            memory_id=A,
            confidence=1.0,
            importance=0.5,
            cause=events.Observation.REPEAT,
            source_turn_ids=("t2",),
            text="Faro",
        ),
    ],
)
def test_a_turn_that_changed_or_confirmed_a_memory_is_one_of_its_sources(told: Event) -> None:
    history = (said("t1"), remembered(A, "t1"), said("t2", "other"), told)

    then(history, thread("other"), erased(A), *ended("other", "t2"))
    then(history, memory(), erased(A, ("main", "t1"), ("other", "t2")))


def test_what_a_decision_reads_grows_with_what_it_finds() -> None:
    """So what comes between the reading and the append meets the guard, whatever it is."""
    story = given(ERASURE, said("t1"), remembered(A, "t1"), created(B), merged(B, A, text="both"))

    first = ERASURE.tags(ERASURE.initial, memory())
    whole = ERASURE.tags(story.state, memory())

    assert first == {memory_tag(A), USER}
    assert whole == {memory_tag(A), memory_tag(B), turn_tag("t1"), USER}


def test_an_unknown_memory_is_not_found() -> None:
    given(ERASURE).when(memory()).then_refused(NotFound, "memory_id")


@pytest.mark.spec("A01")
def test_a_memory_of_another_agent_is_not_found() -> None:
    private = created(A, scope="agent", agent_id="coach")

    given(ERASURE, private).when(memory(agent_id="planner")).then_refused(NotFound, "memory_id")
    then((private,), memory(agent_id="coach"), erased(A))


# A thread


@pytest.mark.spec("A19")
def test_a_thread_is_erased_with_what_was_extracted_from_it() -> None:
    history = (said("t1"), said("t2", "other"), remembered(A, "t1"), remembered(B, "t2"), created(C))

    then(history, thread(), erased(A), *ended("main", "t1"))


def test_a_thread_without_memories_is_erased() -> None:
    then((said("t1"),), thread(), *ended("main", "t1"))


def test_a_thread_is_erased_once_and_again_when_more_was_said() -> None:
    history = (said("t1"), remembered(A, "t1"), erased(A), *ended("main", "t1"))

    then(history, thread())
    then((*history, said("t2")), thread(), *ended("main", "t2"))


# A message


def message(*turn_ids: str, **fields: Any) -> EraseMessages:
    return EraseMessages.model_validate({"user_id": "ana", "message_ids": turn_ids, **fields})


def hidden(turn_id: str, purge_at: datetime) -> MessageDeleted:
    return MessageDeleted(turn_id=turn_id, thread_id="main", purge_at=purge_at, cause=Cause.ASKED)


def gone(*turn_ids: str, thread_id: str = "main", cause: Cause = Cause.ASKED) -> MessagesErased:
    return MessagesErased(thread_id=thread_id, turn_ids=turn_ids, cause=cause)


@pytest.mark.spec("X07")
def test_a_message_takes_the_memories_that_were_extracted_from_it_unless_they_are_kept() -> None:
    history = (said("t1"), said("t2"), remembered(A, "t1"), remembered(B, "t2"))

    then(history, message("t1"), erased(A, ("main", "t1")))
    then(history, message("t1", keep_memories=True), gone("t1"))


def test_a_message_without_memories_is_erased_once() -> None:
    story = given(ERASURE, said("t1"), said("t2"))

    story.when(message("t1")).then(gone("t1"))
    story.after(message("t1")).when(message("t1")).then_nothing()
    given(ERASURE).when(message("t1")).then_refused(NotFound, "message_id")


def test_messages_are_erased_by_thread() -> None:
    history = (said("t1"), said("t2", "other"), said("t3"))

    then(history, message("t1", "t2", "t3"), gone("t1", "t3"), gone("t2", thread_id="other"))


def test_a_purge_takes_those_that_are_still_deleted_and_due() -> None:
    due = {"due": START, "keep_memories": True}
    later = START + timedelta(days=1)
    history = (said("t1"), said("t2"), said("t3"), hidden("t1", START), hidden("t2", START), hidden("t3", later))

    then(
        (*history, MessageRestored(turn_id="t2", thread_id="main")),
        message("t1", "t2", "t3", **due, cause=Cause.TTL),
        gone("t1", cause=Cause.TTL),
    )


def test_an_unknown_thread_is_not_found() -> None:
    given(ERASURE, said("t1", "other")).when(thread()).then_refused(NotFound, "thread_id")


def test_a_survivor_outside_the_thread_prevents_its_erasure() -> None:
    story = given(ERASURE, said("t1"), remembered(A, "t1"), created(B), merged(B, A, text="both"))

    story.when(thread()).then_refused(TransitionRefused, "thread_id", str(B))
    taken = story.when(thread(with_survivors=True)).events()
    assert set(taken) == {erased(A), erased(B), *ended("main", "t1")}


# A user


def test_a_user_is_erased_in_one_event() -> None:
    given(USER_ERASURE).when(EraseUser(user_id="ana")).then(UserErased())


# Keys and tags


def test_each_erasure_destroys_exactly_its_keys() -> None:
    spine = "thread:/summaries"
    summaries = {"thread:main/summaries", spine}
    assert erased(A).shreds() == {f"memory:{A}"}
    assert erased(A, ("main", "t1")).shreds() == {f"memory:{A}", "thread:main/turn:t1", *summaries}
    assert gone("t1").shreds() == {"thread:main/turn:t1", *summaries}
    assert gone("t1", cause=Cause.TTL).shreds() == {"thread:main/turn:t1", *(f"{one}/extracts" for one in summaries)}
    assert ThreadErased(thread_id="main").shreds() == {"thread:main", spine}
    assert UserErased().shreds() == {""}


ids = st.text(st.sampled_from("ab/%2F"), min_size=1, max_size=6)


@example("a", "a/b", "t")
@example("a/b", "a", "b/turn:t")
@example("a%2Fb", "a/b", "t")
@drawn(ids, ids, ids)
def test_no_thread_covers_the_turns_of_another(one: str, other: str, turn: str) -> None:
    """A key scope covers what begins with it and a slash, whatever the ids hold."""
    scopes = ThreadErased(thread_id=one).shreds()

    covered = any(said(turn, other).key_scope().startswith(f"{scope}/") for scope in scopes)

    assert covered is (one == other)


def test_commands_that_meet_an_erasure_read_its_tags() -> None:
    """So an erasure that comes between their reading and their append is a conflict, never overlooked."""
    update = UpdateMemory(user_id="ana", memory_id=A, text="anew")
    turn = RecordTurn(user_id="ana", turn_id="t1", text="hello", occurred_at=START, entity_id=B)
    spoken = turn.model_copy(update={"speaker": "Ana"})

    for event in (erased(A), UserErased()):
        assert not MEMORIES.tags(MEMORIES.initial, update).isdisjoint(event.tags())
    for event in (erased(A, ("main", "t1")), UserErased()):
        assert not TURNS.tags(TURNS.initial, spoken).isdisjoint(event.tags())
    beside: tuple[Event, ...] = (said("t9"), ThreadErased(thread_id="main"), UserErased())
    for one in beside:
        assert not ERASURE.tags(ERASURE.initial, thread()).isdisjoint(one.tags())


# Any history

ALL = (A, B, C, D)
members = st.sampled_from(ALL)
sources_of_all = st.lists(
    st.lists(st.sampled_from(["t1", "t2", "t3"]), unique=True, max_size=2), min_size=4, max_size=4
)
steps = st.tuples(st.sampled_from(["merge", "rewrite", "restore", "erase"]), members, members)


class Words:
    """Follows the words themselves: each memory and turn begins with its own, and a rewriting merge joins them."""

    def __init__(self, sources: list[list[str]]) -> None:
        self.sources = dict(zip(ALL, sources, strict=True))
        self.ever = {one: {str(one), *own} for one, own in self.sources.items()}
        self.story: Story[Erase, Any] = given(ERASURE, *(said(turn, text=turn) for turn in ("t1", "t2", "t3")))
        for one, own in self.sources.items():
            self.story = self.story.and_then(remembered(one, *own, text=f"text of {one}"))

    def play(self, number: int, what: str, one: UUID, other: UUID) -> None:
        match what:
            case "erase":
                self.erase(one)
            case "restore" if not self.gone(one) and not self.memory(one).visible:
                self.story = self.story.and_then(events.MemoryRestored(memory_id=one))
            case "merge" | "rewrite" if one != other and self.memory(one).visible and self.memory(other).visible:
                self.merge(one, other, f"text {number}" if what == "rewrite" else None)

    def merge(self, survivor: UUID, absorbed: UUID, text: str | None) -> None:
        if text:
            self.ever[survivor] |= self.ever[absorbed]
        text = text or self.memory(survivor).content.text
        self.story = self.story.and_then(merged(survivor, absorbed, text=text))

    def erase(self, one: UUID) -> None:
        command = memory(one, with_survivors=True)
        self.story = self.story.and_then(*self.story.when(command).events())
        standing = set().union(*(self.ever[left] for left in ALL if not self.gone(left)), self.story.state.turns)
        assert standing.isdisjoint({str(one), *self.sources[one]})

    def memory(self, one: UUID) -> Memory:
        found: Memory = self.story.state.memories[one]
        return found

    def gone(self, one: UUID) -> bool:
        return self.memory(one).status is Status.PURGED


@settings(max_examples=examples(300))
@drawn(sources_of_all, st.lists(steps, max_size=10))
def test_after_any_history_no_text_of_an_erased_memory_is_left(
    sources: list[list[str]], played: list[tuple[str, UUID, UUID]]
) -> None:
    words = Words(sources)
    for number, (what, one, other) in enumerate(played):
        words.play(number, what, one, other)
