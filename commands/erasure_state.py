"""What an erasure depends on: what was written of memories and turns, and what else was drawn from these."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from mnemolog.domain.memory import Memory
from mnemolog.domain.scope import Scope
from mnemolog.events import memory as events
from mnemolog.events import memory_fold
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import MemoryErased, ThreadErased, UserErased
from mnemolog.events.event import Event, memory_tag, sources_of
from mnemolog.events.graph import (
    EntitiesMerged,
    EntityEvent,
    EntityForgotten,
    EntityObserved,
    EntityRestored,
    EntityReverted,
    RelationAsserted,
    RelationEvent,
    RelationForgotten,
    RelationRestored,
    RelationReverted,
)
from mnemolog.events.graph_tags import entity_tag
from mnemolog.events.profile import FieldEvent, ProfileSet, TodoEvent, TodoOpened

# Said by somebody, and drawn from nothing.
SAID = "said"
KNOWN = EntityEvent | RelationEvent | FieldEvent | TodoEvent


@dataclass(frozen=True, slots=True)
class Merge:
    """Who absorbed whom. `rewritten`: the survivor got a text of its own then, which may hold that of the absorbed."""

    survivor: UUID
    absorbed: tuple[UUID, ...]
    rewritten: bool

    @property
    def members(self) -> tuple[UUID, ...]:
        return (self.survivor, *self.absorbed)


@dataclass(frozen=True, slots=True)
class Known:
    """An entity, a relation, a place of the profile or a todo: the tags of what it was drawn from, and whose it is.

    `about`: the entities that it tells of, or was merged from. `holds`: what it holds, if it is a `place` of
    the profile. `erased`: nothing of it stands.
    """

    sources: frozenset[str] = frozenset()
    scope: Scope = Scope.GLOBAL
    agent_id: str | None = None
    about: frozenset[str] = frozenset()
    holds: ProfileSet | None = None
    place: bool = False
    purge_at: datetime | None = None
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of the memories and turns that a decision reads. `turns`: those whose text still stands."""

    memories: Mapping[UUID, Memory] = field(default_factory=dict)
    sources: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    merges: tuple[Merge, ...] = ()
    turns: Mapping[str, str] = field(default_factory=dict)
    threads: frozenset[str] = frozenset()
    known: Mapping[str, Known] = field(default_factory=dict)


def evolve(state: Written, event: Happened) -> Written:
    payload = event.payload
    match payload:
        case EntityEvent() | RelationEvent() | FieldEvent() | TodoEvent():
            own = _known(state, payload)
            return replace(state, known={**state.known, payload.key_scope(): own, **_told_of(state, payload, own)})
        case TurnRecorded():
            return _heard(state, payload)
        case ThreadErased():
            left = {id_: thread for id_, thread in state.turns.items() if thread != payload.thread_id}
            return replace(state, turns=left)
        case events.MemoriesMerged():
            state = replace(_drawn(state, payload), merges=(*state.merges, _merge(state, payload)))
        case events.MemoryEvent():
            state = _drawn(state, payload)
        case MemoryErased():
            gone = {turn.turn_id for turn in payload.turns}
            state = replace(state, turns={id_: one for id_, one in state.turns.items() if id_ not in gone})
        case UserErased():
            known = {tag: replace(one, erased=True) for tag, one in state.known.items()}
            state = replace(state, turns={}, known=known)
    return replace(state, memories={**state.memories, **memory_fold.evolve(state.memories, payload)})


def _heard(state: Written, turn: TurnRecorded) -> Written:
    """A turn without text is one that was erased."""
    standing = {turn.turn_id: turn.thread_id} if turn.text else {}
    return replace(state, turns={**state.turns, **standing}, threads=state.threads | {turn.thread_id})


def _drawn(state: Written, event: events.MemoryEvent) -> Written:
    """Whatever put words of a turn into a memory: its making, an update, a merge, an observation."""
    before = state.sources.get(event.memory_id, ())
    turns = tuple(dict.fromkeys((*before, *(sources_of(event) or ()))))
    return replace(state, sources={**state.sources, event.memory_id: turns})


def _merge(state: Written, merged: events.MemoriesMerged) -> Merge:
    before = state.memories.get(merged.memory_id)
    return Merge(merged.memory_id, merged.absorbed_ids, before is None or before.content.text != merged.text)


def _known(state: Written, event: EntityEvent | RelationEvent | FieldEvent | TodoEvent) -> Known:
    """A subject is named by the tag that its key goes by."""
    before = state.known.get(event.key_scope(), Known(place=isinstance(event, FieldEvent)))
    if event.shreds():
        return replace(before, holds=None, purge_at=None, erased=True)
    match event:
        case EntityForgotten() | RelationForgotten() | EntityReverted() | RelationReverted():
            before = replace(before, purge_at=event.purge_at)
        case EntityRestored() | RelationRestored() | EntityObserved():
            before = replace(before, purge_at=None)
    match event:
        case EntityObserved(scope=scope, agent_id=agent_id):
            before = replace(before, scope=scope, agent_id=agent_id)
        case RelationAsserted(scope=scope, agent_id=agent_id, subject_id=subject_id, object_id=object_id):
            ends = frozenset(map(entity_tag, filter(None, (subject_id, object_id))))
            before = replace(before, scope=scope, agent_id=agent_id, about=ends)
        case EntitiesMerged(absorbed_ids=absorbed_ids):
            before = replace(before, about=before.about.union(map(entity_tag, absorbed_ids)))
        case ProfileSet():
            before = replace(before, holds=event)
        case TodoOpened(agent_id=agent_id):
            before = replace(before, scope=Scope.AGENT, agent_id=agent_id)
    return replace(before, sources=before.sources | _sources(event), erased=False)


def _told_of(state: Written, event: Event, relation: Known) -> Mapping[str, Known]:
    """Who a fact tells of was spoken of where the fact was told."""
    if not isinstance(event, RelationEvent) or event.shreds():
        return {}
    told = _sources(event)
    return {
        tag: replace(state.known[tag], sources=state.known[tag].sources | told)
        for tag in relation.about & state.known.keys()
    }


def _sources(event: Event) -> frozenset[str]:
    """None for an event that tells nothing of where its words come from, such as a merge."""
    turns = sources_of(event)
    if turns is None:
        return frozenset()
    memory_id = getattr(event, "memory_id", None)
    return frozenset({*map(turn_tag, turns), *([memory_tag(memory_id)] if memory_id else [])} or {SAID})
