"""Commands that erase a memory, a thread, another subject, or a user (X07)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from mnemolog.commands.decider import Decider
from mnemolog.commands.entities import content
from mnemolog.commands.erasure_requests import Erase, EraseKnown, EraseMemory, EraseMessages, EraseThread, EraseUser
from mnemolog.commands.erasure_state import KnownSubject, Written, evolve
from mnemolog.commands.erasure_taken import Taken, gone_with, ground_of, purged, taken
from mnemolog.commands.profile import holding
from mnemolog.commands.words import UNTOLD
from mnemolog.domain.consent import PatchStatus as Decision
from mnemolog.domain.errors import NotFound, TransitionRefused
from mnemolog.domain.memory import Cause, Status, no_such_memory
from mnemolog.domain.message import no_such_message
from mnemolog.domain.principal import beyond_agents
from mnemolog.domain.scope import private_to_others, readable
from mnemolog.events.conversation import turn_tag
from mnemolog.events.erasure import USER, MemoryErased, SourceTurn, ThreadErased, UserErased
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.graph import SAID, EntityCleared, EntityKept
from mnemolog.events.graph_fold import ENTITY
from mnemolog.events.graph_tags import about_tag
from mnemolog.events.message import MessagesErased
from mnemolog.events.profile_fold import ProfileField
from mnemolog.events.subjects import subject_of

__all__ = [
    "ERASURE",
    "USER_ERASURE",
    "Erase",
    "EraseKnown",
    "EraseMemory",
    "EraseMessages",
    "EraseThread",
    "EraseUser",
    "at_stake",
    "left",
    "require_own",
    "require_there",
]


def _tags(state: Written, command: Erase) -> frozenset[str]:
    """The tags that the decision depends on, given what was read so far."""
    found = taken(state, command)
    going = {*found.memories, *found.survivors}
    partners = {id_ for merge in state.merges if not going.isdisjoint(merge.members) for id_ in merge.members}
    tags = {command.subject(), USER, *map(memory_tag, going | partners), *map(turn_tag, found.turns)}
    named = command.message_ids if isinstance(command, EraseMessages) else ()
    tags |= {
        *map(turn_tag, (*named, *command.spoken_in)),
        *(state.speakers[one] for one in found.turns if one in state.speakers),
    }
    concerned = _concerned(state, found)
    for tag in concerned:
        one = state.known[tag]
        tags |= {tag, *one.sources, *one.about} - {SAID, UNTOLD}
    return frozenset(tags.union(about_tag(id_) for id_ in _unnamed(state, found, concerned)))


def at_stake(state: Written, command: Erase) -> frozenset[UUID]:
    """The entities that are erased or lose their name, unless they speak elsewhere too."""
    found = taken(state, command)
    named = command.name if isinstance(command, EraseKnown) else None
    return frozenset(id_ for id_ in _unnamed(state, found, _concerned(state, found)) if str(id_) != named)


def left(state: Written, found: Taken) -> Taken:
    """Without the memories and turns that are erased already."""
    memories = tuple(id_ for id_ in found.memories if not purged(state, id_))
    return replace(found, memories=memories, turns=tuple(one for one in found.turns if one in state.turns))


def _concerned(state: Written, found: Taken) -> Collection[str]:
    """The erased subjects, and everything extracted from them or from an erased entity."""
    concerned = dict.fromkeys(found.known)
    queue = {*gone_with(found.turns, found.memories), *concerned}
    while queue:
        extracted = [tag for tag, one in state.known.items() if not one.sources.isdisjoint(queue)]
        queue = set(extracted).difference(concerned)
        concerned |= dict.fromkeys(extracted)
    return concerned


def _unnamed(state: Written, found: Taken, concerned: Iterable[str]) -> Sequence[UUID]:
    """The entities that are erased, and those whose name has no remaining source; the facts about them decide what they
    keep.
    """
    ground = ground_of(state, found, found.known)
    entities = [tag for tag in concerned if tag in ground.entities]
    return [ENTITY.id_of(tag) for tag in entities if tag in found.known or not ground.named(tag)]


def decide(state: Written, command: Erase) -> Sequence[Event]:
    """The events that erase each memory, what was extracted with it, and the thread; none if nothing is left."""
    require_there(state, command)
    if command.due and not isinstance(command, EraseMessages) and not _due(state, command, command.due):
        return []
    found = taken(state, command)
    require_own(state, command, found)
    if found.survivors:
        raise TransitionRefused(
            f"its text may survive in what it was merged into: {', '.join(map(str, found.survivors))}",
            field=command.named,
            fix="erase that too: --with-survivors, or with_survivors=true",
        )
    left = {id_: state.turns[id_] for id_ in found.turns if id_ in state.turns}
    cause = command.cause if isinstance(command, EraseMemory) else None
    thread = command.thread_id if isinstance(command, EraseThread) else None
    places = {id_: at for id_, at in left.items() if at != thread}
    erased: list[Event] = list(_erased(state, found.memories, places, cause))
    # What went with no memory.
    alone = {id_: at for id_, at in left.items() if at == thread or id_ in places}
    ended: list[Event] = list(_messages_erased(command, alone))
    saved = any(one == thread for one, _ in state.checkpoints)
    if thread is not None and (ended or erased or saved):
        ended.append(ThreadErased(thread_id=thread))
    known = [event for tag in found.known for event in _known_erased(state.known[tag], tag, found)]
    cleared = [event for tag in found.cleared for event in _cleared(state, tag, found)]
    return [*erased, *known, *cleared, *ended]


def require_own(state: Written, command: Erase, found: Taken) -> None:
    """Raises NotPermitted if it would erase or change private data of an agent outside the API key's scope.

    Turns belong to no agent and are erased with their thread.
    """
    memories = [state.memories[id_] for id_ in found.memories if id_ in state.memories and not purged(state, id_)]
    known = [state.known[tag] for tag in (*found.known, *found.cleared)]
    if isinstance(command, EraseThread) and command.agents is not None:
        savers = {agent_id for thread_id, agent_id in state.checkpoints if thread_id == command.thread_id}
        if not savers <= command.agents:
            raise beyond_agents("this would erase checkpoints of agents outside this API key's scope")
    if private_to_others([*memories, *known], command.agents):
        turns = isinstance(command, EraseMemory) and not command.keep_turns
        every = "use an API key that is not bound to an agent"
        raise beyond_agents(
            "this would erase private data of agents outside this API key's scope",
            fix=f"{every}, or keep the turns: --keep-turns, or keep_turns=true" if turns else every,
        )


def _erase_user(state: None, command: EraseUser) -> Sequence[Event]:
    if command.agents is not None:
        raise beyond_agents("erasing a user needs all agents, and this API key is bound to some")
    return [UserErased()]


def _due(state: Written, command: Erase, at: datetime) -> bool:
    """Whether the subject is still due to be purged."""
    if isinstance(command, EraseMemory):
        memory = state.memories[command.memory_id]
        purge_at = memory.purge_at if memory.status is Status.SOFT_DELETED else None
    else:
        purge_at = state.known[command.subject()].purge_at if command.subject() in state.known else None
    return purge_at is not None and purge_at <= at


def _known_erased(known: KnownSubject, tag: str, found: Taken) -> Iterable[Event]:
    kind = subject_of(tag)
    assert kind.erase, "a subject without text cannot be erased by itself"
    yield kind.erase(kind.id_of(tag))
    if isinstance(known.thing, ProfileField) and found.turns:
        yield from _kept_of(known.thing, kind.id_of(tag), found)


def _kept_of(field: ProfileField, name: str, found: Taken) -> Iterable[Event]:
    """The values and proposals of a field, rewritten without the erased turns, if other turns support them.

    None for a field that is itself erased.
    """
    for proposed in (one.proposed for one in field.patches.values() if one.status is Decision.PROPOSED):
        turns = tuple(one for one in proposed.source_turn_ids if one not in found.turns)
        if turns or not proposed.source_turn_ids:
            yield proposed.model_copy(update={"source_turn_ids": turns, "signals": max(1, len(turns))})
    setting = field.setting
    if setting and setting.values and set(setting.source_turn_ids).isdisjoint(found.turns):
        yield holding(name, setting)


def _cleared(state: Written, tag: str, found: Taken) -> Sequence[Event]:
    """An entity reduced to what other sources say."""
    ground, entity_id = ground_of(state, found, found.known), ENTITY.id_of(tag)
    traits = ground.kept(tag)
    if traits is None:
        return []
    told = ground.tellings(tag, traits)
    turns = dict.fromkeys(one.removeprefix(TURN) for each in told for one in each.sources if one.startswith(TURN))
    kept = EntityKept(**content(entity_id, traits), source_turn_ids=tuple(turns), told=told)
    return [EntityCleared(entity_id=entity_id), kept]


def _erased(
    state: Written, going: Sequence[UUID], turns: dict[str, str], cause: Cause | None
) -> Iterable[MemoryErased]:
    """One event per memory, with those of its turns that no other event includes. Erased memories need none."""
    for id_ in going:
        own = [turn_id for turn_id in state.sources.get(id_, ()) if turn_id in turns]
        if own or not purged(state, id_):
            places = tuple(SourceTurn(thread_id=turns.pop(turn_id), turn_id=turn_id) for turn_id in own)
            yield MemoryErased(memory_id=id_, turns=places, cause=cause)


def _messages_erased(command: Erase, left: Mapping[str, str]) -> Iterable[MessagesErased]:
    """The events that erase the turns that go with no memory, by thread."""
    cause = command.cause if isinstance(command, EraseMessages) else Cause.ASKED
    threads: dict[str, list[str]] = {}
    for turn_id, thread_id in left.items():
        threads.setdefault(thread_id, []).append(turn_id)
    for thread_id, turn_ids in threads.items():
        for first in range(0, len(turn_ids), MessagesErased.MAX):
            portion = tuple(turn_ids[first : first + MessagesErased.MAX])
            yield MessagesErased(thread_id=thread_id, turn_ids=portion, cause=cause)


def require_there(state: Written, command: Erase) -> None:
    """Raises NotFound if there never was what the command names, or its agent may not see it."""
    match command:
        case EraseMemory(memory_id=memory_id):
            found = state.memories.get(memory_id)
            if found is None or not readable(found.scope, found.agent_id, command.agent_id):
                raise no_such_memory(command.user_id, memory_id)
        case EraseThread(thread_id=thread_id) if thread_id not in state.threads:
            what = f"user {command.user_id!r} has no thread {thread_id!r}"
            raise NotFound(what, field="thread_id", fix="give the thread of a recorded turn")
        case EraseMessages(message_ids=message_ids) if not state.threads:
            raise no_such_message(command.user_id, message_ids[0])
        case EraseKnown():
            known = state.known.get(command.subject())
            if known is None or not readable(known.scope, known.agent_id, command.agent_id):
                raise command.missing()


TURN = turn_tag("")
ERASURE: Decider[Erase, Written] = Decider(
    initial=Written(),
    subject=lambda command: command.subject(),
    tags=_tags,
    evolve=evolve,
    decide=decide,
    unread=True,
)
USER_ERASURE: Decider[EraseUser, None] = Decider(
    initial=None,
    subject=lambda command: USER,
    tags=lambda state, command: frozenset({USER}),
    evolve=lambda state, event: None,
    decide=_erase_user,
)
