"""Erase a memory, a thread, what else is known, or a user: unless something stands in the way (X07)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from mnemolog.commands.decider import Decider
from mnemolog.commands.erasure_requests import Erase, EraseKnown, EraseMemory, EraseThread, EraseUser
from mnemolog.commands.erasure_state import SAID, Known, Written, evolve
from mnemolog.commands.erasure_taken import ENTITY, Taken, gone_with, purged, taken
from mnemolog.domain.errors import NotFound, TransitionRefused
from mnemolog.domain.memory import Cause, Status, no_such_memory
from mnemolog.domain.scope import readable
from mnemolog.events.conversation import turn_tag
from mnemolog.events.erasure import USER, MemoryErased, SourceTurn, ThreadErased, UserErased
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.graph import EntityErased, RelationErased
from mnemolog.events.graph_tags import about_tag
from mnemolog.events.profile import ProfileErased, TodoErased

__all__ = [
    "ERASURE",
    "USER_ERASURE",
    "Erase",
    "EraseKnown",
    "EraseMemory",
    "EraseThread",
    "EraseUser",
]


def _tags(state: Written, command: Erase) -> frozenset[str]:
    """The memories and turns that the decision depends on, by what was read so far; when they are read, maybe more."""
    found = taken(state, command)
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
    found = taken(state, command)
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


def _known_erased(known: Known, tag: str, found: Taken) -> Sequence[Event]:
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


def _held_still(known: Known, found: Taken) -> Sequence[Event]:
    """What a place holds, written again, unless it is what was named or was drawn from what goes."""
    held = known.holds
    if held is None or not held.values or not found.turns or not set(held.source_turn_ids).isdisjoint(found.turns):
        return []
    return [held.model_copy(update={"undoes": None})]


def _erased(
    state: Written, going: Sequence[UUID], turns: dict[str, str], cause: Cause | None
) -> Iterable[MemoryErased]:
    """One event a memory, with those of its turns that no other one takes. What is erased already needs none."""
    for id_ in going:
        own = [turn_id for turn_id in state.sources.get(id_, ()) if turn_id in turns]
        if own or not purged(state, id_):
            places = tuple(SourceTurn(thread_id=turns.pop(turn_id), turn_id=turn_id) for turn_id in own)
            yield MemoryErased(memory_id=id_, turns=places, cause=cause)


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
