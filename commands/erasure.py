"""Erase a memory, a thread or a user: what goes with it, and what stands in the way (X07).

A text may stand in more than one place: in the turn that a memory was drawn from, in what else was drawn from that
turn, in the memories that were merged into it, and in those that it was merged into. The first three go with it; of the
last the caller must say so, since more than was asked for is lost then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.errors import NotFound, TransitionRefused
from mnemolog.domain.memory import Memory, Status, no_such_memory
from mnemolog.domain.scope import readable
from mnemolog.events import memory as events
from mnemolog.events.conversation import TurnRecorded, thread_tag, turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER, MemoryErased, SourceTurn, ThreadErased, UserErased
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.fields import Flag, Id, Uuid


class Erase(Command):
    """With `with_survivors`, memories that absorbed a text that goes are erased as well."""

    with_survivors: Flag = False

    def subject(self) -> str:
        raise NotImplementedError


class EraseMemory(Erase):
    """Its text, and that of the turns that it was drawn from unless `keep_turns`."""

    memory_id: Uuid
    keep_turns: Flag = False

    def subject(self) -> str:
        return memory_tag(self.memory_id)


class EraseThread(Erase):
    """Every turn of `thread_id`, and every memory that was drawn from one."""

    thread_id: Id

    def subject(self) -> str:
        return thread_tag(self.thread_id)


class EraseUser(Command):
    """Everything of a user."""


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
class Written:
    """What was written of the memories and turns that a decision reads. `turns`: those whose text still stands."""

    memories: Mapping[UUID, Memory] = field(default_factory=dict)
    sources: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    merges: tuple[Merge, ...] = ()
    turns: Mapping[str, str] = field(default_factory=dict)
    threads: frozenset[str] = frozenset()


def evolve(state: Written, event: Happened) -> Written:
    payload = event.payload
    match payload:
        case TurnRecorded():
            return _heard(state, payload)
        case ThreadErased():
            left = {id_: thread for id_, thread in state.turns.items() if thread != payload.thread_id}
            return replace(state, turns=left)
        case events.MemoryCreated():
            state = replace(state, sources={**state.sources, payload.memory_id: payload.source_turn_ids})
        case events.MemoriesMerged():
            state = replace(state, merges=(*state.merges, _merge(state, payload)))
        case MemoryErased():
            gone = {turn.turn_id for turn in payload.turns}
            state = replace(state, turns={id_: one for id_, one in state.turns.items() if id_ not in gone})
        case UserErased():
            state = replace(state, turns={})
    return replace(state, memories={**state.memories, **events.evolve(state.memories, payload)})


def _heard(state: Written, turn: TurnRecorded) -> Written:
    """A turn without text is one that was erased."""
    standing = {turn.turn_id: turn.thread_id} if turn.text else {}
    return replace(state, turns={**state.turns, **standing}, threads=state.threads | {turn.thread_id})


def _merge(state: Written, merged: events.MemoriesMerged) -> Merge:
    before = state.memories.get(merged.memory_id)
    return Merge(merged.memory_id, merged.absorbed_ids, before is None or before.content.text != merged.text)


@dataclass(frozen=True, slots=True)
class Reach:
    """What an erasure takes: memories, the one that was asked for first, and turns. `survivors` stand in its way."""

    memories: tuple[UUID, ...]
    turns: tuple[str, ...]
    survivors: tuple[UUID, ...] = ()


def reach(state: Written, command: Erase) -> Reach:
    """What the command takes along, by what was read so far."""
    found = _reach(state, command, ())
    while command.with_survivors and found.survivors:
        found = _reach(state, command, (*found.memories, *found.survivors))
    return found


def _tags(state: Written, command: Erase) -> frozenset[str]:
    """The memories and turns that the decision depends on, by what was read so far; when they are read, maybe more."""
    found = reach(state, command)
    going = {*found.memories, *found.survivors}
    partners = {id_ for merge in state.merges if not going.isdisjoint(merge.members) for id_ in merge.members}
    return frozenset({command.subject(), USER, *map(memory_tag, going | partners), *map(turn_tag, found.turns)})


def decide(state: Written, command: Erase) -> Sequence[Event]:
    """The erasure of each memory, and of the thread; none when nothing is left of it."""
    _require_there(state, command)
    found = reach(state, command)
    if found.survivors:
        raise TransitionRefused(
            f"its text may live on in what it was merged into: {', '.join(map(str, found.survivors))}",
            field="memory_id" if isinstance(command, EraseMemory) else "thread_id",
            fix="erase that as well: --with-survivors, or with_survivors=true",
        )
    thread = command.thread_id if isinstance(command, EraseThread) else None
    left = {id_: state.turns[id_] for id_ in found.turns if id_ in state.turns}
    erased: list[Event] = list(_erased(state, found.memories, {id_: at for id_, at in left.items() if at != thread}))
    ended = [ThreadErased(thread_id=thread)] if thread is not None and (left or erased) else []
    return [*erased, *ended]


def _reach(state: Written, command: Erase, more: tuple[UUID, ...]) -> Reach:
    own = with_absorbed(state, (*([command.memory_id] if isinstance(command, EraseMemory) else []), *more))
    turns = dict.fromkeys(id_ for id_, at in state.turns.items() if _of_thread(command, at))
    if not (isinstance(command, EraseMemory) and command.keep_turns):
        turns |= dict.fromkeys(id_ for one in own for id_ in state.sources.get(one, ()))
    drawn = [one for one, sources in state.sources.items() if not turns.keys().isdisjoint(sources)]
    memories = with_absorbed(state, (*own, *drawn))
    return Reach(memories, tuple(turns), _survivors(state, memories))


def _of_thread(command: Erase, thread_id: str) -> bool:
    return isinstance(command, EraseThread) and command.thread_id == thread_id


def with_absorbed(state: Written, memories: Iterable[UUID]) -> tuple[UUID, ...]:
    """These, and what was merged into them and stands so, and into that, and so on."""
    inside: dict[UUID | None, list[UUID]] = {}
    for id_, memory in state.memories.items():
        inside.setdefault(memory.merged_into, []).append(id_)
    found = dict.fromkeys(memories)
    queue = list(found)
    for one in queue:  # It grows on the way.
        new = [id_ for id_ in inside.get(one, ()) if id_ not in found]
        found |= dict.fromkeys(new)
        queue += new
    return tuple(found)


def _survivors(state: Written, going: Sequence[UUID]) -> tuple[UUID, ...]:
    """Memories that stay and got a text of their own when they absorbed one that goes, also if that was undone since.

    What an undo took out of a memory stands in its earlier events, which `as_of` reads.
    """
    lost = set(going)
    found = [merge.survivor for merge in state.merges if merge.rewritten and not lost.isdisjoint(merge.absorbed)]
    return tuple(id_ for id_ in dict.fromkeys(found) if id_ not in lost and not _purged(state, id_))


def _erased(state: Written, going: Sequence[UUID], turns: dict[str, str]) -> Iterable[MemoryErased]:
    """One event a memory, with those of its turns that no other one takes. What is erased already needs none."""
    for id_ in going:
        own = [turn_id for turn_id in state.sources.get(id_, ()) if turn_id in turns]
        if own or not _purged(state, id_):
            places = tuple(SourceTurn(thread_id=turns.pop(turn_id), turn_id=turn_id) for turn_id in own)
            yield MemoryErased(memory_id=id_, turns=places)


def _purged(state: Written, memory_id: UUID) -> bool:
    return memory_id in state.memories and state.memories[memory_id].status is Status.PURGED


def _require_there(state: Written, command: Erase) -> None:
    match command:
        case EraseMemory(memory_id=memory_id):
            found = state.memories.get(memory_id)
            if found is None or not readable(found.scope, found.agent_id, command.agent_id):
                raise no_such_memory(command.user_id, memory_id)
        case EraseThread(thread_id=thread_id) if thread_id not in state.threads:
            what = f"user {command.user_id!r} has no thread {thread_id!r}"
            raise NotFound(what, field="thread_id", fix="name the thread of a turn")


ERASURE: Decider[Erase, Written] = Decider(
    initial=Written(),
    subject=lambda command: command.subject(),
    tags=_tags,
    evolve=evolve,
    decide=decide,
)
USER_ERASURE: Decider[EraseUser, None] = Decider(
    initial=None,
    subject=lambda command: USER,
    tags=lambda state, command: frozenset({USER}),
    evolve=lambda state, event: None,
    decide=lambda state, command: [UserErased()],
)
