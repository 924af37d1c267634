"""Undo as a property: whatever was done to some memories, undoing it backwards gives each earlier state exactly."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from mnemolog.commands.memories import (
    MEMORIES,
    ChangeStatus,
    CreateMemory,
    ExpireMemory,
    LinkMemories,
    Memories,
    MemoryCommand,
    MergeMemories,
    Near,
    ObserveUse,
    RestoreMemory,
    Similar,
    SoftDeleteMemory,
    UndoChange,
    UpdateMemory,
)
from mnemolog.domain.bands import Bands
from mnemolog.domain.corroboration import corroborated
from mnemolog.domain.errors import Conflict, InvalidInput, NotFound
from mnemolog.domain.memory import Memory, Status
from mnemolog.domain.retention import Retention
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import NewEvent
from mnemolog.events.event import memory_tag
from mnemolog.events.memory import MemoryEvent, MemoryObserved, MemoryReverted, Observation
from mnemolog.events.memory_fold import LINK
from tests.testkit.clock import START
from tests.testkit.decider import Story, given
from tests.testkit.events import created, new, updated

IDS = [uuid4() for _ in range(4)]
LATER = [uuid4() for _ in range(3)]
BANDS = Bands(auto=0.9, check_low=0.7, fallback_low=0.5)
WHO: dict[str, Any] = {"user_id": "ana", "agent_id": "coach"}
Told = Story[MemoryCommand, Memories]
Done = Sequence[tuple[NewEvent, Memories]]

memory_ids = st.sampled_from([*IDS, *LATER])
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
similar = st.builds(
    lambda near: Similar(model="m", bands=BANDS, link_min=0.4, near=tuple(near)),
    st.lists(st.builds(Near, memory_id=memory_ids, similarity=units), max_size=3, unique_by=lambda one: one.memory_id),
)
creations = st.builds(
    CreateMemory,
    memory_id=st.sampled_from(LATER),
    text=texts,
    confidence=units,
    pinned=st.booleans(),
    memory_key=st.sampled_from(["", "k", "l"]),
    merge_similar=st.booleans(),
    scope=st.sampled_from(Scope),
    source_turn_ids=st.sampled_from([(), ("t1",), ("t2",)]),
    similar=st.none() | similar,
    **{name: st.just(value) for name, value in WHO.items()},
)
statuses = st.builds(
    lambda id_, to: ChangeStatus(**WHO, memory_id=id_, status=to),
    memory_ids,
    st.sampled_from([Status.ACTIVE, Status.DYING, Status.DORMANT]),
)
uses = st.builds(lambda id_: ObserveUse(**WHO, memory_id=id_), memory_ids)
fadings = st.builds(
    lambda id_, seen: ExpireMemory(
        **WHO,
        memory_id=id_,
        seen=created(id_, importance=0.25).content if seen else created(id_).content,
        retention=Retention(ttl_importance=0.75),
        last_accessed=START - timedelta(days=90),
        at=START,
    ),
    memory_ids,
    st.booleans(),
)
wishes = st.one_of(updates, merges, deletions, restorations, links, statuses, fadings)
commands = wishes | creations | uses


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
        except (Conflict, InvalidInput, NotFound):
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
        assert (there(story.state, before), story.state.links) == (before.known, before.links)


def there(state: Memories, before: Memories) -> Mapping[UUID, Memory]:
    """What a reader sees: a memory that did not exist then is known, and hidden."""
    return {id_: one for id_, one in state.known.items() if one.visible or id_ in before.known}


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
    since = [other for other, _ in done[done.index((event, before)) + 1 :]]
    later = {one for other in since if not is_use(other) for one in subjects(story, other)}
    uses = Counter(one for other in since if is_use(other) for one in subjects(story, other))

    if later.intersection(ours):
        with pytest.raises(Conflict, match="was changed later by"):
            story.when(undo(event)).events()
    else:
        after = story.after(undo(event)).state
        assert seen(after, ours) == {**used(seen(before, ours), uses), **seen(after, begun(before, ours))}
        assert all(not after.known[id_].visible for id_ in LATER if memory_tag(id_) in begun(before, ours))
        others = set(story.state.changes.of).difference(ours)
        assert seen(after, others) == seen(story.state, others)


def is_use(event: NewEvent) -> bool:
    return isinstance(event.payload, MemoryObserved) and event.payload.cause is Observation.USE


def used(seen: Mapping[str, object], uses: Mapping[str, int]) -> Mapping[str, object]:
    """The same, with memories grown as often as they were used: that they were outlives an undo."""
    return {subject: one and _used(one, uses[subject]) for subject, one in seen.items()}


def _used(one: object, times: int) -> object:
    return one if not times or not isinstance(one, Memory) else _used(grown(one), times - 1)


def grown(memory: Memory) -> Memory:
    return replace(memory, content=corroborated(memory.content))


def begun(before: Memories, subjects: Iterable[str]) -> list[str]:
    """The memories that a change made: undone, they are hidden."""
    return [
        one for one in subjects if one in map(memory_tag, LATER) and UUID(one.partition(":")[2]) not in before.known
    ]


def subjects(story: Told, event: NewEvent) -> Sequence[str]:
    return story.state.changes.subjects(event.event_id)


def seen(state: Memories, subjects: Iterable[str]) -> Mapping[str, object]:
    """What each subject is."""
    known = {memory_tag(id_): memory for id_, memory in state.known.items()}
    links = {LINK.tag(ends): edge for ends, edge in state.links.items()}
    return {subject: {**known, **links}.get(subject) for subject in subjects}


@pytest.mark.spec("X03")
@pytest.mark.spec_part("D13")
def test_the_use_of_a_memory_blocks_no_undo_and_is_kept() -> None:
    update, use = new(updated(IDS[0], "Ana moved", importance=0.25)), ObserveUse(**WHO, memory_id=IDS[0])
    story = beginning().and_then(update).after(use).after(use)
    first = beginning().state.known[IDS[0]]

    back = story.after(undo(update))
    assert back.state.known[IDS[0]] == grown(grown(first))
    [again] = map(new, story.when(undo(update)).events())
    forth = story.and_then(again).after(use).after(undo(again)).state.known[IDS[0]]
    assert forth == grown(story.state.known[IDS[0]])


@pytest.mark.spec("X03")
def test_the_last_change_of_a_memory_is_what_somebody_did_to_it() -> None:
    update = new(updated(IDS[0], "Ana moved"))
    story = beginning().and_then(update).after(ObserveUse(**WHO, memory_id=IDS[0]))

    [back] = story.when(UndoChange(**WHO, memory_id=IDS[0], at=START)).events()

    assert isinstance(back, MemoryReverted)
    assert back.undoes == update.event_id


@pytest.mark.spec("X03")
def test_where_nothing_is_left_to_undo_that_is_said_of_a_memory_that_there_is() -> None:
    back = UndoChange(**WHO, memory_id=IDS[0], at=START)
    begun = beginning().after(back)

    with pytest.raises(Conflict, match="has no change left to undo"):
        begun.when(back).events()
    with pytest.raises(NotFound):
        begun.when(UndoChange(**WHO, memory_id=LATER[0], at=START)).events()


@pytest.mark.spec("X03")
def test_a_use_can_be_undone_itself_and_one_of_several_too() -> None:
    use = ObserveUse(**WHO, memory_id=IDS[0])
    first = [new(event) for event in beginning().when(use).events()]
    story = beginning().and_then(*first).after(use)

    assert story.after(undo(first[0])).state.known[IDS[0]] == beginning().after(use).state.known[IDS[0]]


@for_all(st.lists(commands, max_size=8), wishes)
def test_whatever_is_allowed_changes_nothing_when_it_is_asked_again(
    asked: list[MemoryCommand], command: MemoryCommand
) -> None:
    story, _ = carried_out(asked)
    try:
        after = story.after(command)
    except (Conflict, InvalidInput, NotFound):
        return

    assert list(after.when(command).events()) == []


@pytest.mark.spec("D03", "D04")
@for_all(st.lists(commands | st.integers(0, 40), max_size=16))
def test_whatever_is_asked_and_undone_the_invariants_hold(asked: list[MemoryCommand | int]) -> None:
    """A number undoes the change of that number. Unique keys, pins, bounds, and no edge to what is not there."""
    story, done = beginning(), list[NewEvent]()
    for one in asked:
        if isinstance(one, int) and one >= len(done):
            continue
        try:
            decided = story.when(undo(done[one]) if isinstance(one, int) else one).events()
        except (Conflict, InvalidInput, NotFound):
            continue
        fresh = list(map(new, decided))
        done += fresh
        story = story.and_then(*fresh)
        require_sound(story.state)


def require_sound(state: Memories) -> None:
    known = state.known.values()
    keys = [(one.identity.key, one.scope, one.agent_id) for one in known if one.visible and one.identity.key]
    assert len(keys) == len(set(keys))
    for one in known:
        content = one.content
        assert 0 <= content.importance <= 1
        assert 0 <= content.confidence <= 1
        if content.pinned:
            assert content.importance == 1
            assert one.status in (Status.ACTIVE, Status.SOFT_DELETED)
    assert {end for ends in state.links for end in ends} <= state.known.keys()
