"""The state that an erasure depends on: memories, turns, and what was extracted from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from mnemolog.commands.sourced import EXTRACTOR
from mnemolog.commands.words import Words, after
from mnemolog.domain.artifact import Artifact
from mnemolog.domain.being import BeingEntry
from mnemolog.domain.document import Document
from mnemolog.domain.entity import Entity
from mnemolog.domain.memory import Content, Kind, Memory
from mnemolog.domain.message import Message
from mnemolog.domain.relation import Relation
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import name_key
from mnemolog.domain.todo import Todo
from mnemolog.domain.turn import Role
from mnemolog.domain.updated import updated, without
from mnemolog.events import memory as events
from mnemolog.events.checkpoints import CheckpointsErased, CheckpointsStarted
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.envelope import Happened, Recorded
from mnemolog.events.erasure import MemoryErased, ThreadErased, UserErased
from mnemolog.events.event import Event, memory_tag, sources_of
from mnemolog.events.graph import SAID, EntityEvent, RelationEvent
from mnemolog.events.graph_fold import ENTITY
from mnemolog.events.graph_tags import entity_tag
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.message import MessageEvent, MessagesErased
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile_fold import ProfileField
from mnemolog.events.registry import REGISTRY
from mnemolog.events.subjects import KNOWN, subject_of
from mnemolog.events.unread import Unread

NO_WORDS = Words()
# Of a message, rules read so many characters.
READ = 2000
KNOWING = tuple(event_type for one in KNOWN for event_type in one.folds)


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge. `rewritten`: the survivor got a new text, which may contain that of the absorbed memories."""

    survivor: UUID
    absorbed: tuple[UUID, ...]
    rewritten: bool

    @property
    def members(self) -> tuple[UUID, ...]:
        return (self.survivor, *self.absorbed)


@dataclass(frozen=True, slots=True)
class KnownSubject:
    """A subject other than a memory: the tags of its sources, and its current state.

    `thing` is None if only some of its events were or could be read; `writer` is then the agent that wrote it. `words`:
    the words of an entity.
    """

    sources: frozenset[str] = frozenset()
    thing: Entity | Relation | ProfileField | Todo | Artifact | Document | BeingEntry | None = None
    words: Words = NO_WORDS
    writer: str | None = None

    @property
    def scope(self) -> Scope:
        if self.thing is None and self.writer:
            return Scope.AGENT
        return self.thing.scope if self.thing else Scope.GLOBAL

    @property
    def agent_id(self) -> str | None:
        return self.thing.agent_id if self.thing else self.writer

    @property
    def purge_at(self) -> datetime | None:
        return getattr(self.thing, "purge_at", None)

    @property
    def erased(self) -> bool:
        return self.thing is not None and self.thing.is_erased

    @property
    def about(self) -> frozenset[str]:
        """The entities that a relation is about."""
        ends = (self.thing.subject_id, self.thing.object_id) if isinstance(self.thing, Relation) else ()
        return frozenset(map(entity_tag, filter(None, ends)))

    @property
    def merged_into(self) -> str | None:
        into = self.thing.merged_into if isinstance(self.thing, Entity) else None
        return entity_tag(into) if into else None

    @property
    def place(self) -> bool:
        """Whether it is a profile field, whose text may come from many sources."""
        return isinstance(self.thing, ProfileField)


@dataclass(frozen=True, slots=True)
class Written:
    """The memories and turns that a decision reads. `turns`: those that are not erased; `messages`: those hidden once.

    `texts`: what rules read of those of users, by their tags. `speakers`: the tag of the entity that spoke, by turn.
    `checkpoints`: the threads and agents that have some.
    """

    memories: Mapping[UUID, Memory] = field(default_factory=dict)
    sources: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    merges: tuple[Merge, ...] = ()
    turns: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    speakers: Mapping[str, str] = field(default_factory=dict)
    threads: Mapping[str, None] = field(default_factory=dict)
    checkpoints: frozenset[tuple[str, str]] = frozenset()
    messages: Mapping[str, Message] = field(default_factory=dict)
    known: Mapping[str, KnownSubject] = field(default_factory=dict)


def evolve(state: Written, event: Happened) -> Written:
    if isinstance(event.payload, Unread):
        return _unread(state, event.payload, event.meta.agent_id)
    if event.meta.actor == EXTRACTOR and isinstance(event, Recorded) and isinstance(event.payload, RelationEvent):
        known = _known(state, event.payload, said_to=event.header.stream.owner)
        return replace(state, known=updated(state.known, known))
    return _told(state, event.payload)


def _told(state: Written, payload: Event) -> Written:
    match payload:
        case TurnRecorded():
            return _heard(state, payload)
        case ThreadErased():
            left = {id_: thread for id_, thread in state.turns.items() if thread != payload.thread_id}
            kept = frozenset(one for one in state.checkpoints if one[0] != payload.thread_id)
            return replace(state, turns=left, checkpoints=kept)
        case CheckpointsStarted(thread_id=thread_id, agent_id=agent_id):
            checkpoints = state.checkpoints | {(thread_id, agent_id)}
            return replace(state, threads=updated(state.threads, {thread_id: None}), checkpoints=checkpoints)
        case CheckpointsErased(thread_id=thread_id, agent_id=agent_id):
            return replace(state, checkpoints=state.checkpoints - {(thread_id, agent_id)})
        case events.MemoriesMerged():
            state = replace(_with_sources(state, payload), merges=(*state.merges, _merge(state, payload)))
        case events.MemoryEvent():
            state = _with_sources(state, payload)
        case MemoryErased() | MessagesErased():
            state = replace(state, turns=without(state.turns, MESSAGE.touched(payload)))
        case MessageEvent():
            id_ = payload.turn_id
            before = state.messages.get(id_) or Message(id_, payload.thread_id)
            messages = updated(state.messages, {id_: before, **MESSAGE.evolve({id_: before}, payload)})
            return replace(state, messages=messages)
        case UserErased():
            found = ((tag, one, subject_of(tag)) for tag, one in state.known.items() if one.thing)
            known = {tag: replace(one, thing=kind.erased(one.thing), words=NO_WORDS) for tag, one, kind in found}
            state = replace(state, turns={}, known=known, checkpoints=frozenset())
    memories = updated(state.memories, MEMORY.evolve(state.memories, payload))
    return replace(state, memories=memories, known=updated(state.known, _known(state, payload)))


def _unread(state: Written, event: Unread, agent_id: str) -> Written:
    """An unreadable event, by its tags: the possible sources and targets of its text.

    Its owner is unknown, so it is treated as private to the agent that wrote it.
    """
    kind, turns = REGISTRY.types.get(event.type, Event), tuple(event.names("turn"))
    if event.shape is not None and not issubclass(kind, KNOWING):
        state = _told(state, event.shape)
    if issubclass(kind, TurnRecorded):
        [thread_id] = event.names("thread")
        read = updated(state.turns, dict.fromkeys(turns, thread_id))
        return replace(state, turns=read, threads=updated(state.threads, {thread_id: None}))
    for subject in KNOWN if issubclass(kind, KNOWING) else ():
        for tag in (f"{subject.name}:{name}" for name in event.names(subject.name)):
            before = state.known.get(tag, KnownSubject(writer=agent_id))
            state = replace(state, known=updated(state.known, {tag: _spoken_of(before, set(map(turn_tag, turns)))}))
    memories = tuple(map(UUID, event.names("memory"))) if issubclass(kind, events.MemoryEvent) else ()
    if issubclass(kind, events.MemoriesMerged) and event.shape is None:
        each = (Merge(one, tuple(id_ for id_ in memories if id_ != one), rewritten=True) for one in memories)
        state = replace(state, merges=(*state.merges, *each))
    hidden = Content("", "", 0.0, 0.0, pinned=False)
    for id_ in memories:
        memory = Memory(id_, Kind.FACT, Scope.AGENT, agent_id, hidden)
        sources = tuple(dict.fromkeys((*state.sources.get(id_, ()), *turns)))
        memories_known = updated(state.memories, {} if id_ in state.memories else {id_: memory})
        state = replace(state, memories=memories_known, sources=updated(state.sources, {id_: sources}))
    return state


def _heard(state: Written, turn: TurnRecorded) -> Written:
    """A turn without text was erased."""
    with_text = {turn.turn_id: turn.thread_id} if turn.text else {}
    threads = updated(state.threads, {turn.thread_id: None})
    read = {turn_tag(turn.turn_id): turn.text[:READ]} if turn.text and turn.role is Role.USER else {}
    state = replace(state, turns=updated(state.turns, with_text), threads=threads, texts=updated(state.texts, read))
    if turn.speaker_entity_id is None:
        return state
    speaker = entity_tag(turn.speaker_entity_id)
    known = {speaker: _spoken_of(state.known[speaker], {turn_tag(turn.turn_id)})} if speaker in state.known else {}
    speakers = updated(state.speakers, {turn.turn_id: speaker})
    return replace(state, speakers=speakers, known=updated(state.known, known))


def _with_sources(state: Written, event: events.MemoryEvent) -> Written:
    """Any event that put text of a turn into a memory: creation, update, merge or observation."""
    before = state.sources.get(event.memory_id, ())
    turns = tuple(dict.fromkeys((*before, *(sources_of(event) or ()))))
    return replace(state, sources=updated(state.sources, {event.memory_id: turns}))


def _merge(state: Written, merged: events.MemoriesMerged) -> Merge:
    before = state.memories.get(merged.memory_id)
    return Merge(merged.memory_id, merged.absorbed_ids, before is None or before.content.text != merged.text)


def _spoken_of(entity: KnownSubject, told: frozenset[str] | set[str]) -> KnownSubject:
    return replace(entity, words=entity.words.spoken_of(told), sources=entity.sources | told)


def _meant_by(state: Written, entity: KnownSubject, told: frozenset[str], user_id: str) -> KnownSubject:
    """Rules extracted a fact about an entity from these turns, which may call it only "she", or by a part of its name.

    What has no name of its own, as a mother or the user, is meant by each of them.
    """
    name = entity.words.traits.name if entity.words.traits else ""
    own = name.rpartition("'s ")[2]
    words = entity.words
    for one in told:
        text = name_key(state.texts.get(one, own))
        part = " ".join(word for word in own.split() if name_key(word) in text)
        if part == own or own.islower() or name_key(name) == name_key(user_id):
            words = words.spoken_of([one])
        elif part and not part.islower():
            words = words.called(part, one)
    return replace(entity, words=words, sources=entity.sources | told)


def _known(state: Written, event: Event, said_to: str | None = None) -> Mapping[str, KnownSubject]:
    """The new state of each subject of an event, and of the entities that a fact is about.

    `said_to`: the user from whose messages rules extracted it.
    """
    found: dict[str, KnownSubject] = {}
    for kind in KNOWN:
        before = {id_: state.known.get(kind.tag(id_), KnownSubject()) for id_ in kind.touched(event)}
        things = {id_: one.thing for id_, one in before.items() if one.thing}
        found |= {kind.tag(id_): replace(before[id_], thing=one) for id_, one in kind.evolve(things, event).items()}
    if not isinstance(event, KNOWING):
        return found
    tag = event.key_scope()
    own = found.get(tag) or state.known.get(tag, KnownSubject())
    if isinstance(event, EntityEvent):
        named = filter(state.known.__contains__, {tag, *map(entity_tag, ENTITY.touched(event))})
        words = after({one: state.known[one].words for one in named}, event).get(tag, NO_WORDS)
        return {**found, tag: replace(own, words=words, sources=own.sources | words.sources)}
    if event.shreds():
        return {**found, tag: own}
    told = _sources(event)
    ends = filter(state.known.__contains__, own.about if isinstance(event, RelationEvent) else ())
    about = {one: state.known[one] for one in ends}
    spoken = {
        one: _spoken_of(entity, told) if said_to is None else _meant_by(state, entity, told, said_to)
        for one, entity in about.items()
    }
    return {**found, **spoken, tag: replace(own, sources=own.sources | told)}


def _sources(event: Event) -> frozenset[str]:
    """None for an event without information about its sources, such as a merge."""
    turns = sources_of(event)
    if turns is None:
        return frozenset()
    memory_id = getattr(event, "memory_id", None)
    return frozenset({*map(turn_tag, turns), *([memory_tag(memory_id)] if memory_id else [])} or {SAID})
