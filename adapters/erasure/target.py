"""The target of a proof: the events, keys and ids of a memory, a thread or a user (X16)."""

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from mnemolog.commands.erasure import ERASURE, EraseMemory
from mnemolog.commands.erasure_requests import NAMED
from mnemolog.commands.erasure_state import KNOWING, Written
from mnemolog.commands.erasure_taken import Taken, ground_of, left_without_sources, taken, with_absorbed, with_told
from mnemolog.domain.errors import NotFound
from mnemolog.domain.memory import no_such_memory
from mnemolog.domain.message import no_such_message, subject_id
from mnemolog.domain.principal import beyond_agents
from mnemolog.domain.scope import Owned, private_to_others
from mnemolog.events.artifacts import blobs_in, texts_in
from mnemolog.events.checkpoints import CheckpointsStarted
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.documents import chunks_in
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.erasure import MemoryErased, ThreadErased, UserErased
from mnemolog.events.event import memory_tag, sources_of
from mnemolog.events.log import EventLog
from mnemolog.events.memory import MemoryCreated, MemoryEvent
from mnemolog.events.message import MessageEvent, MessagesErased
from mnemolog.events.subjects import subject_of
from mnemolog.events.summaries import SummaryWritten
from mnemolog.events.unread import Unread

# A seq that no event has: not cleared, although it must be.
NEVER = 2**63


@dataclass(frozen=True, slots=True)
class ProofSubject:
    """What was erased: one memory, message or thread, one subject given by its tag, or all of the user's stream."""

    stream: StreamId
    memory_id: UUID | None = None
    thread_id: str | None = None
    known: str | None = None
    message_id: str | None = None

    @property
    def everything(self) -> bool:
        return not any(one is not None for one in (self.memory_id, self.thread_id, self.known, self.message_id))


@dataclass(slots=True)
class Target:
    """Ids of what was erased; of its events with text, their `event_ids` and how many can still be decrypted.

    `rewritten`: subjects that lost only some text, with the seq before which their events must not decrypt.
    `summaries`: the episodes whose summary was erased and not written again.
    """

    subject: ProofSubject
    memory_ids: frozenset[UUID] = frozenset()
    turn_ids: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    rewritten: Mapping[str, int] = field(default_factory=dict)
    event_ids: set[UUID] = field(default_factory=set)
    seqs: set[int] = field(default_factory=set)
    key_ids: set[bytes] = field(default_factory=set)
    blobs: set[str] = field(default_factory=set)
    texts: set[UUID] = field(default_factory=set)
    summaries: set[UUID] = field(default_factory=set)
    opened: int = 0

    @property
    def tags(self) -> frozenset[str]:
        """The tags by which headers name it."""
        return frozenset({*map(memory_tag, self.memory_ids), *map(turn_tag, self.turn_ids), *self.known})

    @property
    def ids(self) -> frozenset[UUID]:
        """The ids of everything that has a UUID."""
        named = (subject_of(tag).id_of(tag) for tag in self.known)
        own = (id_ for id_ in named if isinstance(id_, UUID))
        return self.memory_ids.union(self.texts, map(subject_id, self.turn_ids), own)


async def target_of(log: EventLog, subject: ProofSubject, agents: frozenset[str] | None = None) -> Target:
    """Read the user's stream twice: first for what belongs together, then for what still decrypts.

    NotPermitted if part of it is, or was, private to an agent outside `agents`.
    """
    read = await _read(log, subject)
    found = read.target()
    state, known = read.state, (*found.known, *found.rewritten)
    meant: list[Owned] = [*(state.memories[id_] for id_ in found.memory_ids), *(state.known[tag] for tag in known)]
    if private_to_others(meant, agents):
        raise beyond_agents("agents outside of this API key keep some of this private, or did")
    async for stored, event in _events(log, subject.stream):
        concerned = event.seq < read.until and _concerned(found, event)
        if isinstance(event.payload, SummaryWritten) and (episode_id := event.payload.episode_id):
            gone = concerned or not event.payload.text
            (found.summaries.add if gone else found.summaries.discard)(episode_id)
        if concerned:
            found.event_ids.add(event.event_id)
            found.seqs.add(event.seq)
            found.opened += not event.erased
            found.key_ids |= _key_ids(stored)
            found.blobs |= set(blobs_in(stored.header))
            found.texts |= {*texts_in(event), *chunks_in(event)}
    return found


@dataclass(slots=True)
class _Read:
    """What a stream says about a subject. `until` is its last erasure, since later events do not count.

    `alone`: the messages that were erased without a memory.
    """

    subject: ProofSubject
    until: int
    state: Written = ERASURE.initial
    turns: dict[str, tuple[str, int]] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)
    told: dict[str, dict[str, int]] = field(default_factory=dict)
    shredded: dict[str, list[int]] = field(default_factory=dict)
    born: dict[UUID, int] = field(default_factory=dict)
    kept_turns: list[bool] = field(default_factory=list)
    checkpointed: set[str] = field(default_factory=set)
    alone: set[str] = field(default_factory=set)

    def take(self, event: Recorded) -> None:
        self.state = ERASURE.evolve(self.state, event)
        match event.payload:
            case TurnRecorded(turn_id=turn_id, thread_id=thread_id):
                self.turns[turn_id] = (thread_id, event.seq)
            case CheckpointsStarted(thread_id=thread_id):
                self.checkpointed.add(thread_id)
            case payload if isinstance(payload, KNOWING):
                tag = event.payload.key_scope()
                self.met.setdefault(tag, event.seq)
                self.told.setdefault(tag, {}).update(dict.fromkeys(sources_of(event.payload) or (), event.seq))
                if event.payload.shreds():
                    self.shredded.setdefault(tag, []).append(event.seq)
                    self.until = event.seq if tag == self.subject.known else self.until
            case MemoryCreated(memory_id=memory_id):
                self.born[memory_id] = event.seq
            case MemoryErased(memory_id=memory_id, turns=turns) if memory_id == self.subject.memory_id:
                self.kept_turns.append(not turns)
            case MessagesErased(turn_ids=turn_ids):
                self.alone.update(turn_ids)
            case UserErased() if self.subject.everything or self._of_thread():
                self.until = event.seq
            case ThreadErased(thread_id=thread_id) if thread_id == self.subject.thread_id:
                self.until = event.seq

    def _of_thread(self) -> bool:
        """Whether the subject is a thread in which something has been said."""
        return self.subject.thread_id in {*self.checkpointed, *(thread_id for thread_id, _ in self.turns.values())}

    def target(self) -> Target:
        subject, meant = self.subject, {id_: at for id_, (at, seq) in self.turns.items() if seq < self.until}
        if subject.memory_id is not None:
            kept = bool(self.kept_turns) and all(self.kept_turns)
            return self._with_known(_of_memory(self.state, subject, subject.memory_id, keep_turns=kept))
        if subject.thread_id is not None:
            if not self._of_thread():
                what = f"user {subject.stream.owner!r} has no thread {subject.thread_id!r}"
                raise NotFound(what, field="thread_id", fix="give the thread of a recorded turn")
            turns = {id_ for id_, at in meant.items() if at == subject.thread_id}
            return self._with_known(_of_thread(self.state, subject, turns))
        if subject.message_id is not None:
            if subject.message_id not in self.turns:
                raise no_such_message(subject.stream.owner, subject.message_id)
            only = frozenset({subject.message_id})
            found = Target(subject, turn_ids=only)
            return found if only <= self.alone else self._with_known(_of_thread(self.state, subject, set(only)))
        if subject.known is not None:
            return _of_known(self.state, subject, subject.known)
        if not (self.turns or self.born or self.met or self.checkpointed):
            raise NotFound(
                f"there is no user {subject.stream.owner!r}", field="user_id", fix="give a user that has memories"
            )
        born = frozenset(id_ for id_, seq in self.born.items() if seq < self.until)
        met = frozenset(tag for tag, seq in self.met.items() if seq < self.until)
        return Target(subject, born, frozenset(meant), met)

    def _with_known(self, target: Target) -> Target:
        """Adds what was extracted from these turns only, erased or not; for other subjects, their earlier text.

        A profile field is always rewritten, an entity where it loses text.
        """
        state, found = self.state, Taken(tuple(target.memory_ids), tuple(target.turn_ids))
        ground = ground_of(state, found, ())
        extracted = {tag: one for tag, one in state.known.items() if not ground.gone.isdisjoint(one.sources)}
        gone = [*left_without_sources(state, found), *(tag for tag, one in extracted.items() if one.erased)]
        known = frozenset(tag for tag in with_told(state, gone) if not state.known[tag].place)
        cleared = {tag: self._cleared(tag, target.turn_ids) for tag in extracted.keys() - known}
        losing = {tag: NEVER for tag in cleared if state.known[tag].place or ground.loses(tag)}
        return replace(target, known=known, rewritten={**losing, **{tag: at for tag, at in cleared.items() if at}})

    def _cleared(self, tag: str, turns: Collection[str]) -> int | None:
        """When it was cleared of the text from these turns."""
        last = max((seq for turn, seq in self.told.get(tag, {}).items() if turn in turns), default=0)
        return next((seq for seq in self.shredded.get(tag, ()) if seq > last), None)


async def _read(log: EventLog, subject: ProofSubject) -> _Read:
    found = _Read(subject, await log.head(subject.stream) + 1)
    async for _, event in _events(log, subject.stream):
        found.take(event)
    return found


def _of_memory(state: Written, subject: ProofSubject, memory_id: UUID, *, keep_turns: bool) -> Target:
    if memory_id not in state.memories:
        raise no_such_memory(subject.stream.owner, memory_id)
    wanted = EraseMemory(user_id=subject.stream.owner, memory_id=memory_id, keep_turns=keep_turns, with_survivors=True)
    found = taken(state, wanted)
    return Target(subject, frozenset(found.memories), frozenset(found.turns))


def _of_thread(state: Written, subject: ProofSubject, turns: set[str]) -> Target:
    extracted = [id_ for id_, sources in state.sources.items() if not turns.isdisjoint(sources)]
    return Target(subject, frozenset(with_absorbed(state, extracted)), frozenset(turns))


def _of_known(state: Written, subject: ProofSubject, tag: str) -> Target:
    if tag not in state.known:
        raise NotFound(
            f"user {subject.stream.owner!r} has no {tag!r}",
            field=NAMED[tag.partition(":")[0]],
            fix="use the id shown in history",
        )
    return Target(subject, known=frozenset(with_told(state, [tag])))


async def _events(log: EventLog, stream: StreamId) -> AsyncIterator[tuple[StoredEvent, Recorded]]:
    async for batch in log.scan(stream):
        decoded: Sequence[Recorded] = await log.decode(batch)
        for pair in zip(batch, decoded, strict=True):
            yield pair


def _concerned(target: Target, event: Recorded) -> bool:
    """Whether an event has, or had, a text that was erased."""
    if isinstance(event.payload, Unread):
        return target.subject.everything or not target.tags.isdisjoint(event.header.tags)
    if not event.payload.personal_fields():
        return False
    match event.payload:
        case TurnRecorded(turn_id=turn_id) | MessageEvent(turn_id=turn_id):
            return turn_id in target.turn_ids
        case CheckpointsStarted(thread_id=thread_id):
            return target.subject.everything or thread_id == target.subject.thread_id
        case MemoryEvent(memory_id=memory_id):
            return memory_id in target.memory_ids
        case payload if isinstance(payload, KNOWING):
            scope = event.payload.key_scope()
            return scope in target.known or event.seq < target.rewritten.get(scope, 0)
        case _:
            return target.subject.everything


def _key_ids(stored: StoredEvent) -> set[bytes]:
    """The id of the data key that encrypted an event; empty if it is not encrypted."""
    try:
        key_id = json.loads(stored.data).get("sealed", {}).get("key")
        return {bytes.fromhex(key_id)} if key_id else set()
    except (ValueError, AttributeError, TypeError):  # It cannot be decoded.
        return set()
