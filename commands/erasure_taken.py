"""What an erasure includes: the subject itself, and what is erased with it (X07).

A text may be in several places: in the turn that a memory was extracted from, in other subjects extracted from that
turn, in memories merged into it, and in memories it was merged into. The first three are erased with it; the last only
on request, because that erases more than was asked for.

An entity with other sources stays, reduced to what they say.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemolog.commands.erasure_requests import Erase, EraseKnown, EraseMemory, EraseMessages, EraseThread
from mnemolog.commands.erasure_state import KnownSubject, Written
from mnemolog.commands.erasure_words import Ground
from mnemolog.domain.memory import Status
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import memory_tag
from mnemolog.events.graph import SAID
from mnemolog.events.graph_fold import ENTITY


@dataclass(frozen=True, slots=True)
class Taken:
    """What an erasure includes: memories (the requested one first), turns, and subjects without another source.

    `known` are the tags of entities, relations, profile fields and todos; `cleared` those of entities that only lose
    words. `survivors` block the erasure.
    """

    memories: tuple[UUID, ...]
    turns: tuple[str, ...]
    survivors: tuple[UUID, ...] = ()
    known: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "memories": [str(id_) for id_ in self.memories],
            "turns": list(self.turns),
            "known": list(self.known),
            "cleared": list(self.cleared),
            "survivors": [str(id_) for id_ in self.survivors],
        }


def taken(state: Written, command: Erase) -> Taken:
    """What the command includes, given what was read so far."""
    if isinstance(command, EraseMessages) and command.keep_memories:
        found = Taken((), tuple(one for one in _wanted(state, command) if one in state.turns))
        files = (tag for tag in left_without_sources(state, found) if ARTIFACT.has(tag))
        return replace(found, known=tuple(tag for tag in files if not state.known[tag].erased))
    found = _found(state, command, ())
    while command.with_survivors and found.survivors:
        found = _found(state, command, (*found.memories, *found.survivors))
    going = left_without_sources(state, found, [command.subject()] if isinstance(command, EraseKnown) else [])
    known = tuple(tag for tag in going if not state.known[tag].erased)
    ground, entities = ground_of(state, found, going), [tag for tag in _entities(state) if tag not in going]
    return replace(found, known=known, cleared=tuple(tag for tag in entities if ground.loses(tag)))


def gone_with(turns: Iterable[str], memories: Iterable[UUID]) -> set[str]:
    """The tags of everything erased that other subjects may have been extracted from."""
    return {*map(turn_tag, turns), *map(memory_tag, memories)}


def with_absorbed(state: Written, memories: Iterable[UUID]) -> tuple[UUID, ...]:
    """These, and transitively everything merged into them."""
    inside: dict[UUID | None, list[UUID]] = {}
    for id_, memory in state.memories.items():
        inside.setdefault(memory.merged_into, []).append(id_)
    found = dict.fromkeys(memories)
    queue = list(found)
    for one in queue:  # It grows during the loop.
        new = [id_ for id_ in inside.get(one, ()) if id_ not in found]
        found |= dict.fromkeys(new)
        queue += new
    return tuple(found)


def left_without_sources(state: Written, found: Taken, named: Iterable[str] = ()) -> Sequence[str]:
    """The requested subjects, and those without a remaining source, erased or not."""
    named = with_told(state, named)
    ground = ground_of(state, found, named)
    entities = [tag for tag in _entities(state) if ground.touched(tag) and ground.kept(tag) is None]
    others = [tag for tag, one in state.known.items() if not ENTITY.has(tag) and _extracted_from(one, ground)]
    return with_told(state, [*named, *entities, *others])


def ground_of(state: Written, found: Taken, known: Iterable[str]) -> Ground:
    """The sources of words, if these are erased."""
    gone = {*gone_with(found.turns, found.memories), *filter(ENTITY.has, known)}
    memories = (memory_tag(id_) for id_ in state.memories if not purged(state, id_))
    staying = {SAID, *map(turn_tag, state.turns), *memories} - gone
    return Ground({tag: state.known[tag].words for tag in _entities(state)}, staying, gone)


def with_told(state: Written, tags: Iterable[str]) -> Sequence[str]:
    """These, and for each entity those merged into it and the facts about it."""
    gone = dict.fromkeys(tag for tag in tags if tag in state.known)
    queue = list(filter(ENTITY.has, gone))
    for entity in queue:  # It grows during the loop.
        about = [tag for tag, one in state.known.items() if entity in one.about]
        absorbed = [tag for tag, one in state.known.items() if one.merged_into == entity and tag not in gone]
        gone |= dict.fromkeys([*about, *absorbed])
        queue += absorbed
    return list(gone)


def _extracted_from(known: KnownSubject, ground: Ground) -> bool:
    """Whether some of its sources are erased and none remains; for a profile field, whether any source is erased."""
    return not ground.gone.isdisjoint(known.sources) and (ground.staying.isdisjoint(known.sources) or known.place)


def _entities(state: Written) -> Sequence[str]:
    return list(filter(ENTITY.has, state.known))


def _found(state: Written, command: Erase, more: tuple[UUID, ...]) -> Taken:
    own = with_absorbed(state, (*([command.memory_id] if isinstance(command, EraseMemory) else []), *more))
    turns = dict.fromkeys(_wanted(state, command) if isinstance(command, EraseMessages) else ())
    if isinstance(command, EraseThread):
        turns |= dict.fromkeys(id_ for id_, at in state.turns.items() if at == command.thread_id)
    if not (isinstance(command, EraseMemory) and command.keep_turns):
        turns |= dict.fromkeys(id_ for one in own for id_ in state.sources.get(one, ()))
    extracted = [one for one, sources in state.sources.items() if not turns.keys().isdisjoint(sources)]
    memories = with_absorbed(state, (*own, *extracted))
    # Undone text of a merge is still in a memory's earlier events, which `as_of` reads.
    lost = set(memories)
    found = [merge.survivor for merge in state.merges if merge.rewritten and not lost.isdisjoint(merge.absorbed)]
    survivors = tuple(id_ for id_ in dict.fromkeys(found) if id_ not in lost and not purged(state, id_))
    return Taken(memories, tuple(turns), survivors)


def _wanted(state: Written, command: EraseMessages) -> Sequence[str]:
    """The messages to erase; for a scheduled purge, those that are still deleted and due."""
    if command.due is None:
        return command.message_ids
    times = {id_: message.purge_at for id_, message in state.messages.items()}
    return [id_ for id_ in command.message_ids if (at := times.get(id_)) and at <= command.due]


def purged(state: Written, memory_id: UUID) -> bool:
    return memory_id in state.memories and state.memories[memory_id].status is Status.PURGED
