"""Undo as a property: whatever was done to some memories, undoing it backwards gives each earlier state exactly."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from mnemolog.commands.memories import (
    MEMORIES,
    LinkMemories,
    Memories,
    MemoryCommand,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UndoChange,
    UpdateMemory,
    link_tag,
)
from mnemolog.domain.errors import Conflict, InvalidInput
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import NewEvent
from mnemolog.events.event import memory_tag
from mnemolog.events.memory import MemoryEvent
from tests.testkit.clock import START
from tests.testkit.decider import Story, given
from tests.testkit.events import created, new

IDS = [uuid4() for _ in range(4)]
WHO: dict[str, Any] = {"user_id": "ana", "agent_id": "coach"}
Told = Story[MemoryCommand, Memories]
Done = Sequence[tuple[NewEvent, Memories]]

memory_ids = st.sampled_from(IDS)
units = st.sampled_from([0.0, 0.25, 1.0])
texts = st.sampled_from(["Ana lives in Lisbon", "Ana lives in Porto", "Ana moved"])
updates = st.builds(
    UpdateMemory,
    memory_id=memory_ids,
    text=st.none() | texts,
    importance=st.none() | units,
    pinned=st.none() | st.booleans(),
    **{name: st.just(value) for name, value in WHO.items()},
)
merges = st.builds(
    lambda ids, text: MergeMemories(**WHO, memory_id=ids[0], absorbed_ids=tuple(ids[1:]), text=text),
    st.lists(memory_ids, min_size=2, max_size=3, unique=True),
    st.none() | texts,
)
deletions = st.builds(
    lambda id_, days: SoftDeleteMemory(**WHO, memory_id=id_, at=START + timedelta(days=days)),
    memory_ids,
    st.integers(0, 3),
)
restorations = st.builds(lambda id_: RestoreMemory(**WHO, memory_id=id_), memory_ids)
links = st.builds(
    lambda ids, strength: LinkMemories(**WHO, memory_id=ids[0], to_id=ids[1], strength=strength),
    st.lists(memory_ids, min_size=2, max_size=2, unique=True),
    units,
)
commands = st.one_of(updates, merges, deletions, restorations, links)


def beginning() -> Told:
    """Three memories of all agents, and one of the coach's own."""
    return given(MEMORIES, *map(created, IDS[:3]), created(IDS[3], scope=Scope.AGENT, agent_id="coach"))


def undo(event: NewEvent) -> UndoChange:
    assert isinstance(event.payload, MemoryEvent)
    return UndoChange(**WHO, memory_id=event.payload.memory_id, event_id=event.event_id, at=START)


def carried_out(asked: Sequence[MemoryCommand]) -> tuple[Told, Done]:
    """The story after the commands that are allowed, and each change with the memories as they were before it."""
    story, done = beginning(), []
    for command in asked:
        try:
            decided = story.when(command).events()
        except (Conflict, InvalidInput):
            continue
        for event in map(new, decided):
            done.append((event, story.state))
            story = story.and_then(event)
    return story, done


@pytest.mark.spec("X03")
@for_all(st.lists(commands, max_size=12))
def test_undoing_all_changes_backwards_gives_back_each_earlier_state(asked: list[MemoryCommand]) -> None:
    story, done = carried_out(asked)

    for event, before in reversed(done):
        story = story.after(undo(event))
        assert (story.state.known, story.state.links) == (before.known, before.links)


@pytest.mark.spec("X03")
@for_all(st.lists(commands, min_size=1, max_size=12), st.data())
def test_undoing_any_one_change_touches_its_memories_only_or_is_refused(
    asked: list[MemoryCommand], data: st.DataObject
) -> None:
    story, done = carried_out(asked)
    if not done:
        return
    event, before = data.draw(st.sampled_from(done))
    ours = story.state.changes.subjects(event.event_id)
    later = {one for other, _ in done[done.index((event, before)) + 1 :] for one in subjects(story, other)}

    if later.intersection(ours):
        with pytest.raises(Conflict, match="was changed later by"):
            story.when(undo(event)).events()
    else:
        after = story.after(undo(event)).state
        assert seen(after, ours) == seen(before, ours)
        others = set(story.state.changes.of).difference(ours)
        assert seen(after, others) == seen(story.state, others)


def subjects(story: Told, event: NewEvent) -> Sequence[str]:
    return story.state.changes.subjects(event.event_id)


def seen(state: Memories, subjects: Iterable[str]) -> Mapping[str, object]:
    """What each subject is."""
    known = {memory_tag(id_): memory for id_, memory in state.known.items()}
    links = {link_tag(*ends): edge for ends, edge in state.links.items()}
    return {subject: {**known, **links}.get(subject) for subject in subjects}


@for_all(st.lists(commands, max_size=8), commands)
def test_whatever_is_allowed_changes_nothing_when_it_is_asked_again(
    asked: list[MemoryCommand], command: MemoryCommand
) -> None:
    story, _ = carried_out(asked)
    try:
        after = story.after(command)
    except (Conflict, InvalidInput):
        return

    assert list(after.when(command).events()) == []
