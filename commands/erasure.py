"""Erase a memory, a thread or a user: what goes with it, and what stands in the way (X07).

A text may stand in more than one place: in the turn that a memory was drawn from, in what else was drawn from that
turn, in the memories that were merged into it, and in those that it was merged into. The first three go with it; of the
last the caller must say so, since more than was asked for is lost then.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from mnemolog.commands.decider import Decider
from mnemolog.commands.erasure_requests import Erase, EraseKnown, EraseMemory, EraseThread, EraseUser
from mnemolog.commands.erasure_state import SAID, Known, Written, evolve
from mnemolog.domain.errors import NotFound, TransitionRefused
from mnemolog.domain.memory import Cause, Status, no_such_memory
from mnemolog.domain.scope import readable
from mnemolog.events.conversation import turn_tag
from mnemolog.events.erasure import USER, MemoryErased, SourceTurn, ThreadErased, UserErased
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.graph import EntityErased, RelationErased, about_tag
from mnemolog.events.profile import ProfileErased, TodoErased

__all__ = [
    "ERASURE",
    "USER_ERASURE",
    "Erase",
    "EraseKnown",
    "EraseMemory",
    "EraseThread",
    "EraseUser",
    "Reach",
    "Written",
    "gone_with",
    "reach",
    "with_absorbed",
    "with_told",
]

ENTITY = "entity:"


@dataclass(frozen=True, slots=True)
class Reach:
    """What an erasure takes: memories, the one that was asked for first, turns, and what was drawn from nothing else.

    `known` are the tags of entities, relations, places of the profile and todos. `survivors` stand in its way.
    """

    memories: tuple[UUID, ...]
    turns: tuple[str, ...]
    survivors: tuple[UUID, ...] = ()
    known: tuple[str, ...] = ()


def reach(state: Written, command: Erase) -> Reach:
    """What the command takes along, by what was read so far."""
    found = _reach(state, command, ())
    while command.with_survivors and found.survivors:
        found = _reach(state, command, (*found.memories, *found.survivors))
    return replace(found, known=_known_going(state, command, found))


def _tags(state: Written, command: Erase) -> frozenset[str]:
    """The memories and turns that the decision depends on, by what was read so far; when they are read, maybe more."""
    found = reach(state, command)
    going = {*found.memories, *found.survivors}
    partners = {id_ for merge in state.merges if not going.isdisjoint(merge.members) for id_ in merge.members}
    tags = {command.subject(), USER, *map(memory_tag, going | partners), *map(turn_tag, found.turns)}
    gone = gone_with(found.turns, found.memories)
    drawn = [tag for tag, one in state.known.items() if not one.sources.isdisjoint(gone)]
    for tag in {*drawn, *found.known}:
        tags |= {tag, *state.known[tag].sources} - {SAID}
        tags |= {about_tag(UUID(tag.removeprefix(ENTITY)))} if tag.startswith(ENTITY) else set()
    return frozenset(tags)


def decide(state: Written, command: Erase) -> Sequence[Event]:
    """The erasure of each memory, of what was drawn with it, and of the thread; none when nothing is left of it."""
    _require_there(state, command)
    if command.due and not _due(state, command, command.due):
        return []
    found = reach(state, command)
    if found.survivors:
        raise TransitionRefused(
            f"its text may live on in what it was merged into: {', '.join(map(str, found.survivors))}",
            field="memory_id" if isinstance(command, EraseMemory) else "thread_id",
            fix="erase that as well: --with-survivors, or with_survivors=true",
        )
    thread = command.thread_id if isinstance(command, EraseThread) else None
    left = {id_: state.turns[id_] for id_ in found.turns if id_ in state.turns}
    cause = command.cause if isinstance(command, EraseMemory) else None
    places = {id_: at for id_, at in left.items() if at != thread}
    erased: list[Event] = list(_erased(state, found.memories, places, cause))
    ended = [ThreadErased(thread_id=thread)] if thread is not None and (left or erased) else []
    known = [event for tag in found.known for event in _known_erased(state.known[tag], tag, found)]
    return [*erased, *known, *ended]


def _due(state: Written, command: Erase, at: datetime) -> bool:
    """Whether what is named is still to be purged by then."""
    if isinstance(command, EraseMemory):
        memory = state.memories[command.memory_id]
        purge_at = memory.purge_at if memory.status is Status.SOFT_DELETED else None
    else:
        purge_at = state.known[command.subject()].purge_at if command.subject() in state.known else None
    return purge_at is not None and purge_at <= at


def gone_with(turns: Iterable[str], memories: Iterable[UUID]) -> set[str]:
    """The tags of what goes, which other things may have been drawn from."""
    return {*map(turn_tag, turns), *map(memory_tag, memories)}


def _known_going(state: Written, command: Erase, found: Reach) -> tuple[str, ...]:
    """What is named, and what was drawn from nothing that stays."""
    named = [command.subject()] if isinstance(command, EraseKnown) else []
    lost = [tag for tag, one in state.known.items() if _drawn_from(state, one, found)]
    return tuple(tag for tag in with_told(state, [*named, *lost]) if not state.known[tag].erased)


def with_told(state: Written, tags: Iterable[str]) -> Iterable[str]:
    """These, and with each entity what it was merged from and what is told of it."""
    gone = dict.fromkeys(tag for tag in tags if tag in state.known)
    queue = [tag for tag in gone if tag.startswith(ENTITY)]
    for entity in queue:  # It grows on the way.
        told = [tag for tag, one in state.known.items() if entity in one.about and not tag.startswith(ENTITY)]
        absorbed = [tag for tag in state.known[entity].about if tag in state.known and tag not in gone]
        gone |= dict.fromkeys([*told, *absorbed])
        queue += absorbed
    return gone


def _drawn_from(state: Written, known: Known, found: Reach) -> bool:
    """Whether some of its sources go, and none of them stays; a place of the profile may hold words of each of them."""
    going = gone_with(found.turns, found.memories)
    standing = {
        SAID,
        *map(turn_tag, state.turns),
        *(memory_tag(id_) for id_ in state.memories if not _purged(state, id_)),
    }
    stays = known.sources & standing - going
    return bool(known.sources & going) and (not stays or known.place)


def _known_erased(known: Known, tag: str, found: Reach) -> Sequence[Event]:
    kind, _, name = tag.partition(":")
    match kind:
        case "entity":
            return [EntityErased(entity_id=UUID(name))]
        case "relation":
            return [RelationErased(relation_id=UUID(name))]
        case "profile":
            return [ProfileErased(field=name), *_held_still(known, found)]
        case _:
            return [TodoErased(todo_id=UUID(name))]


def _held_still(known: Known, found: Reach) -> Sequence[Event]:
    """What a place holds, written again, unless it is what was named or was drawn from what goes."""
    held = known.holds
    if held is None or not held.values or not found.turns or not set(held.source_turn_ids).isdisjoint(found.turns):
        return []
    return [held.model_copy(update={"undoes": None})]


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


def _erased(
    state: Written, going: Sequence[UUID], turns: dict[str, str], cause: Cause | None
) -> Iterable[MemoryErased]:
    """One event a memory, with those of its turns that no other one takes. What is erased already needs none."""
    for id_ in going:
        own = [turn_id for turn_id in state.sources.get(id_, ()) if turn_id in turns]
        if own or not _purged(state, id_):
            places = tuple(SourceTurn(thread_id=turns.pop(turn_id), turn_id=turn_id) for turn_id in own)
            yield MemoryErased(memory_id=id_, turns=places, cause=cause)


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
        case EraseKnown():
            known = state.known.get(command.subject())
            if known is None or not readable(known.scope, known.agent_id, command.agent_id):
                what = f"user {command.user_id!r} has no {command.kind} {command.name!r}"
                raise NotFound(what, field="name", fix=f"look it up: `mnemolog {LISTED[command.kind]}`")


LISTED = {"entity": "entities", "relation": "facts", "profile": "profile show", "todo": "todos list"}
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
