"""What an erasure depends on: what was written of memories and turns, and what else was drawn from these."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from mnemolog.commands.words import Words, after
from mnemolog.domain.memory import Memory
from mnemolog.domain.scope import Scope
from mnemolog.events import memory as events
from mnemolog.events import memory_fold
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import MemoryErased, ThreadErased, UserErased
from mnemolog.events.event import Event, memory_tag, sources_of
from mnemolog.events.graph import (
    SAID,
    EntitiesMerged,
    EntityErased,
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
from mnemolog.events.profile import FieldEvent, ProfileDecided, ProfileProposed, ProfileSet, TodoEvent, TodoOpened

NO_WORDS = Words()


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

    `about`: the entities that a relation tells of. `words`: those of an entity, and `merged_into` whom it stands for.
    `holds`: what it holds, if it is a `place` of the profile, and `waiting`: what is proposed for it. `erased`: nothing
    of it stands.
    """

    sources: frozenset[str] = frozenset()
    scope: Scope = Scope.GLOBAL
    agent_id: str | None = None
    about: frozenset[str] = frozenset()
    words: Words = NO_WORDS
    merged_into: str | None = None
    holds: ProfileSet | None = None
    waiting: Mapping[UUID, ProfileProposed] = field(default_factory=dict)
    place: bool = False
    purge_at: datetime | None = None
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of the memories and turns that a decision reads. `turns`: those whose text still stands.

    `speakers`: by turn, the entity that spoke, as a tag.
    """

    memories: Mapping[UUID, Memory] = field(default_factory=dict)
    sources: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    merges: tuple[Merge, ...] = ()
    turns: Mapping[str, str] = field(default_factory=dict)
    speakers: Mapping[str, str] = field(default_factory=dict)
    threads: frozenset[str] = frozenset()
    known: Mapping[str, Known] = field(default_factory=dict)


def evolve(state: Written, event: Happened) -> Written:
    payload = event.payload
    match payload:
        case EntityEvent():
            return replace(state, known={**state.known, **_entities(state, payload)})
        case RelationEvent() | FieldEvent() | TodoEvent():
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
            known = {tag: replace(one, words=NO_WORDS, waiting={}, erased=True) for tag, one in state.known.items()}
            state = replace(state, turns={}, known=known)
    return replace(state, memories={**state.memories, **memory_fold.evolve(state.memories, payload)})


def _heard(state: Written, turn: TurnRecorded) -> Written:
    """A turn without text is one that was erased."""
    standing = {turn.turn_id: turn.thread_id} if turn.text else {}
    state = replace(state, turns={**state.turns, **standing}, threads=state.threads | {turn.thread_id})
    if turn.speaker_entity_id is None:
        return state
    speaker = entity_tag(turn.speaker_entity_id)
    known = {speaker: _spoken_of(state.known[speaker], {turn_tag(turn.turn_id)})} if speaker in state.known else {}
    speakers = {**state.speakers, turn.turn_id: speaker}
    return replace(state, speakers=speakers, known={**state.known, **known})


def _drawn(state: Written, event: events.MemoryEvent) -> Written:
    """Whatever put words of a turn into a memory: its making, an update, a merge, an observation."""
    before = state.sources.get(event.memory_id, ())
    turns = tuple(dict.fromkeys((*before, *(sources_of(event) or ()))))
    return replace(state, sources={**state.sources, event.memory_id: turns})


def _merge(state: Written, merged: events.MemoriesMerged) -> Merge:
    before = state.memories.get(merged.memory_id)
    return Merge(merged.memory_id, merged.absorbed_ids, before is None or before.content.text != merged.text)


def _entities(state: Written, event: EntityEvent) -> Mapping[str, Known]:
    """What an event leaves of its entity, and of those that it merges."""
    tag = event.key_scope()
    merged = map(entity_tag, event.absorbed_ids) if isinstance(event, EntitiesMerged) else ()
    absorbed = {one: replace(state.known[one], merged_into=tag) for one in merged if one in state.known}
    words = after({one: known.words for one, known in state.known.items()}, event).get(tag, NO_WORDS)
    own = _entity(state.known.get(tag, Known()), event)
    return {tag: replace(own, words=words, sources=own.sources | words.sources), **absorbed}


def _entity(before: Known, event: EntityEvent) -> Known:
    match event:
        case EntityErased():
            return replace(before, purge_at=None, erased=True)
        case EntityForgotten(purge_at=purge_at):
            return replace(before, purge_at=purge_at)
        case EntityRestored():
            return replace(before, purge_at=None)
        case EntityObserved(scope=scope, agent_id=agent_id):
            return replace(before, scope=scope, agent_id=agent_id, purge_at=None, erased=False)
        case EntityReverted(purge_at=purge_at, merged_into=merged_into):
            into = entity_tag(merged_into) if merged_into else None
            return replace(before, purge_at=purge_at, merged_into=into)
        case _:
            return before


def _spoken_of(entity: Known, told: frozenset[str] | set[str]) -> Known:
    return replace(entity, words=entity.words.spoken_of(told), sources=entity.sources | told)


def _known(state: Written, event: RelationEvent | FieldEvent | TodoEvent) -> Known:
    """A subject is named by the tag that its key goes by."""
    before = state.known.get(event.key_scope(), Known(place=isinstance(event, FieldEvent)))
    if event.shreds():
        return replace(before, holds=None, waiting={}, purge_at=None, erased=True)
    match event:
        case RelationForgotten() | RelationReverted():
            before = replace(before, purge_at=event.purge_at)
        case RelationRestored():
            before = replace(before, purge_at=None)
        case RelationAsserted(scope=scope, agent_id=agent_id, subject_id=subject_id, object_id=object_id):
            ends = frozenset(map(entity_tag, filter(None, (subject_id, object_id))))
            before = replace(before, scope=scope, agent_id=agent_id, about=ends)
        case ProfileProposed(patch_id=patch_id):
            before = replace(before, waiting={**before.waiting, patch_id: event})
        case ProfileDecided(patch_id=patch_id):
            waiting = {id_: one for id_, one in before.waiting.items() if id_ != patch_id}
            before = replace(before, waiting=waiting)
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
    return {tag: _spoken_of(state.known[tag], told) for tag in relation.about & state.known.keys()}


def _sources(event: Event) -> frozenset[str]:
    """None for an event that tells nothing of where its words come from, such as a merge."""
    turns = sources_of(event)
    if turns is None:
        return frozenset()
    memory_id = getattr(event, "memory_id", None)
    return frozenset({*map(turn_tag, turns), *([memory_tag(memory_id)] if memory_id else [])} or {SAID})
