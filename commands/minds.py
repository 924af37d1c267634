"""Record what a mind proposed: all in one append, and once (A17, A18, B03, B04, D12).

Memories are decided like those that a person writes, with the same guards: what is refused is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict

from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.memories import MEMORIES, ChangeStatus, CreateMemory, LinkMemories, Memories, MergeMemories
from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.link import Ends
from mnemolog.domain.memory import Status
from mnemolog.domain.message import Message, no_such_message
from mnemolog.domain.minds import insight
from mnemolog.domain.minds.consolidation import comparable, says
from mnemolog.domain.minds.curation import is_foldable, is_trivial, keeps
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.updated import updated
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Happened, NewEvent
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.fields import Id, Instant, Uuid
from mnemolog.events.generation import Generation
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.minds import MindRan, Pair, mind_tag

_IDS = UUID("7d9d3e76-5d3c-5d0b-8a3d-1b1b6f0f8a11")


class Change(BaseModel):
    """What a mind proposes, as commands that are all recorded, or none.

    `pair`: the memories that it is about, as they were compared. A status is only changed while the first of them is
    contradicted by the second, is less sure, and below `unsure`; a pair is only merged if it differs in wording alone.
    """

    model_config = ConfigDict(frozen=True)

    commands: tuple[CreateMemory | ChangeStatus | MergeMemories | LinkMemories, ...]
    pair: Pair | None = None
    unsure: float = 0.0


class RunMind(Command):
    """Records what a mind read, and its changes."""

    generated: ClassVar[frozenset[str]] = frozenset({"at", "changes", "faults", "generation", "memory_ids", "pairs"})

    mind: Mind
    turn_ids: tuple[Id, ...] = ()
    memory_ids: tuple[Uuid, ...] = ()
    pairs: tuple[Pair, ...] = ()
    changes: tuple[Change, ...] = ()
    faults: tuple[Fault, ...] = ()
    generation: Generation
    at: Instant


@dataclass(frozen=True, slots=True)
class Minds:
    """`ran`: what the mind did for the agent, with the time, oldest first."""

    memories: Memories = field(default_factory=Memories)
    messages: Mapping[str, Message] = field(default_factory=dict)
    ran: tuple[tuple[datetime, MindRan], ...] = ()


def evolve(state: Minds, event: Happened) -> Minds:
    payload = event.payload
    if isinstance(payload, MindRan):
        return replace(state, ran=(*state.ran, (event.occurred_at, payload)))
    if isinstance(payload, UserErased):
        return Minds()
    messages = updated(state.messages, MESSAGE.evolve(state.messages, payload))
    return replace(state, memories=MEMORIES.evolve(state.memories, event), messages=messages)


def decide(state: Minds, command: RunMind) -> Sequence[Event]:
    """Nothing if the messages were read before. NotFound if one was hidden since: its words must not come back."""
    if _is_done(state, command):
        return []
    for turn_id in command.turn_ids:
        message = state.messages.get(turn_id)
        if message is None or not message.visible:
            raise no_such_message(command.user_id, turn_id, "turn_ids")
    events, faults, compared = list[Event](), list(command.faults), list(command.pairs)
    for change in command.changes:
        if change.pair and _is_known(state, change.pair):
            faults.append(Fault.KNOWN)
            continue
        news = _decided(state, command, change)
        if change.pair:
            compared.append(change.pair.model_copy(update={"changed": bool(news)}))
        if not news:
            faults.append(Fault.REFUSED)
        events += news
        state = _after(state, command, news)
    if not (events or command.turn_ids or command.memory_ids or compared):
        return []
    ran = MindRan(
        mind=command.mind,
        agent_id=command.agent_id,
        thread_id=command.thread_id,
        generation=command.generation,
        turn_ids=command.turn_ids,
        memory_ids=command.memory_ids,
        pairs=tuple(compared),
        proposals=len(command.changes) + len(command.faults),
        faults=tuple(faults),
    )
    return [ran, *events]


def _is_done(state: Minds, command: RunMind) -> bool:
    """Whether the messages were reflected on, or insights were sought less than a day ago (B §3)."""
    if command.mind is Mind.INSIGHTS:
        return any(command.at - at < insight.EVERY for at, _ in state.ran)
    return any(not set(one.turn_ids).isdisjoint(command.turn_ids) for _, one in state.ran)


def _is_known(state: Minds, pair: Pair) -> bool:
    """Whether the mind changed these two before: what was undone is not done again."""
    ids = {pair.id_a, pair.id_b}
    return any(one.changed and {one.id_a, one.id_b} == ids for _, ran in state.ran for one in ran.pairs)


def _decided(state: Minds, command: RunMind, change: Change) -> Sequence[Event]:
    """The events of all commands of a change; none if one of them is refused."""
    events = list[Event]()
    for one in change.commands:
        if isinstance(one, ChangeStatus) and change.pair and not _outdated(state, change):
            return []
        if isinstance(one, MergeMemories) and not _loses_nothing(state, command.mind, one):
            return []
        if isinstance(one, ChangeStatus) and command.mind is Mind.CURATOR and not _is_trivial(state, one):
            return []
        try:
            news = MEMORIES.decide(state.memories, one)
        except MnemologError:
            return []
        state = _after(state, command, news)
        events += news
    return events


def _outdated(state: Minds, change: Change) -> bool:
    """Whether the first of a pair is unsure, and contradicted by the second, which is surer (A §7.2)."""
    if change.pair is None:
        return False
    older, newer = (state.memories.known.get(id_) for id_ in (change.pair.id_a, change.pair.id_b))
    if older is None or newer is None or not newer.visible or older.status is not Status.ACTIVE:
        return False
    both = (Ends(older.memory_id, newer.memory_id), Ends(newer.memory_id, older.memory_id))
    found = (state.memories.links.get(ends) for ends in both)
    against = any(one is not None and one.relation_type == CONTRADICTS for one in found)
    trusted = older.origin.external or not newer.origin.external
    sure = older.content.confidence < min(change.unsure, newer.content.confidence)
    return against and trusted and sure


def _loses_nothing(state: Minds, mind: Mind, command: MergeMemories) -> bool:
    """Whether each differs from the survivor in wording alone, or is a part of it (B §4, ADR 32).

    Of a fold, which says more than each: whether it keeps the names, numbers and negations of each.
    """
    survivor = state.memories.known.get(command.memory_id)
    absorbed = [state.memories.known.get(id_) for id_ in command.absorbed_ids]
    if survivor is None:
        return False
    if mind is Mind.CURATOR:
        text = survivor.content.text
        return all(one is not None and is_foldable(one) and keeps(text, one.content.text) for one in absorbed)
    return all(one is not None and comparable(survivor, one) and says(survivor, one) for one in absorbed)


def _is_trivial(state: Minds, command: ChangeStatus) -> bool:
    found = state.memories.known.get(command.memory_id)
    return found is not None and found.visible and is_trivial(found.content)


def _after(state: Minds, command: RunMind, news: Sequence[Event]) -> Minds:
    for event in news:
        # Nothing is undone here, so any ids will do.
        state = evolve(state, NewEvent(uuid5(_IDS, event.type_name()), event, command.meta(), command.at))
    return state


def _tags(state: Minds, command: RunMind) -> frozenset[str]:
    tags = frozenset({USER, mind_tag(command.mind, command.agent_id), *map(turn_tag, command.turn_ids)})
    for change in command.changes:
        for one in change.commands:
            tags |= MEMORIES.tags(state.memories, one)
        if change.pair:
            tags |= frozenset(memory_tag(id_) for id_ in (change.pair.id_a, change.pair.id_b))
    return tags


MINDS: Decider[RunMind, Minds] = Decider(
    initial=Minds(),
    subject=lambda command: mind_tag(command.mind, command.agent_id),
    tags=_tags,
    evolve=evolve,
    decide=decide,
)
