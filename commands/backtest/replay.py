"""Replays a recorded stream under another policy, into a shadow (X06)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from mnemolog.commands.backtest.facts import FactReplay
from mnemolog.commands.backtest.memories import MemoryReplay, is_statement
from mnemolog.commands.backtest.profile import ProfileReplay
from mnemolog.commands.backtest.shadow import Shadow, Similarity, Terms
from mnemolog.domain.profile import place_of
from mnemolog.events import memory
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.event import Event
from mnemolog.events.graph import EntityEvent, EntityObserved, RelationAsserted, RelationEvent, RelationRetired
from mnemolog.events.profile import FieldEvent


def replayed(
    events: Sequence[Recorded],
    terms: Terms,
    at: datetime,
    similarity: Similarity = lambda one, other: None,
    left_out: Collection[int] = (),
) -> Shadow:
    """The shadow of a stream at a time. The events at the seqs `left_out` would not have been recorded by then.

    Each decision is made again by the deciders themselves where the policies decide it otherwise, or where what it
    depends on is otherwise in the shadow. All else is kept as it was recorded.
    """
    shadow = Shadow(terms, similarity)
    memories, facts, profile = MemoryReplay(shadow), FactReplay(shadow), ProfileReplay(shadow)
    for group in grouped(since_erasure(events)):
        payload, dropped = group[0].payload, group[0].seq in left_out
        match payload:
            case memory.MemoryEvent() | MemoryErased() if not dropped:
                memories.take(group)
            case RelationEvent() | EntityEvent():
                (facts.drop if dropped else facts.take)(group)
            case FieldEvent():
                (profile.drop if dropped else profile.take)(group)
            case _ if not dropped:
                shadow.keep(group)
        shadow.recorded(group)
    profile.expire(at)
    return shadow


def since_erasure(events: Sequence[Recorded]) -> Sequence[Recorded]:
    """The events since the last erasure of the user: nobody can read what was before."""
    last = max((place for place, one in enumerate(events) if isinstance(one.payload, UserErased)), default=-1)
    return events[last + 1 :]


def grouped(events: Iterable[Recorded]) -> Iterator[Sequence[Recorded]]:
    """The events that one decision recorded together, as far as they concern one subject."""
    group: list[Recorded] = []
    for event in events:
        together = bool(group) and (group[0].occurred_at, group[0].meta) == (event.occurred_at, event.meta)
        if together and _belongs(group, event.payload):
            group.append(event)
            continue
        if group:
            yield group
        group = [event]
    if group:
        yield group


def _belongs(group: Sequence[Recorded], later: Event) -> bool:
    """Whether an event follows from the decision of the first."""
    first, last = group[0].payload, group[-1].payload
    match first:
        case memory.MemoryCreated() | memory.MemoryUpdated() | memory.MemoryObserved():
            if isinstance(later, memory.MemoriesMerged):
                return is_statement(first) and later.memory_id == first.memory_id and later.match is not None
            return isinstance(later, memory.MemoriesLinked) and first.memory_id in (later.memory_id, later.to_id)
        case memory.MemoryReverted() | memory.LinkReverted():
            return isinstance(later, memory.MemoryReverted | memory.LinkReverted) and later.undoes == first.undoes
        case EntityObserved() if isinstance(last, EntityObserved):
            own = isinstance(later, RelationAsserted) and first.entity_id in (later.subject_id, later.object_id)
            return own or isinstance(later, EntityObserved)
        case RelationRetired():
            asserted = isinstance(later, RelationAsserted | RelationRetired)
            return asserted and isinstance(last, RelationRetired)
        case FieldEvent():
            return isinstance(later, FieldEvent) and place_of(later.field) == place_of(first.field)
    return False
