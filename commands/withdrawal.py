"""Keep extracted facts in line with their messages: withdraw what only deleted messages state, and bring it back.

What somebody recorded stays, and so does a fact that another message states. What a deleted message ended or corrected
continues. A withdrawal that somebody undid is not repeated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated
from uuid import UUID, uuid5

from mnemolog.commands.change_history import RecordedChange
from mnemolog.commands.decider import Decider
from mnemolog.commands.extraction_requests import ACTOR
from mnemolog.commands.facts import own_first
from mnemolog.commands.graph import Graph, GraphCommand, Node, evolve, facts_of, relation_reads
from mnemolog.commands.graph_undo import reverted_all
from mnemolog.domain import facts, memory
from mnemolog.domain.errors import UndoConflict
from mnemolog.domain.memory import Cause, Status
from mnemolog.domain.message import Message
from mnemolog.domain.relation import Relation
from mnemolog.domain.updated import updated
from mnemolog.events import graph as events
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Happened, NewEvent
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event, sources_of
from mnemolog.events.fields import AtMost, Id, Instant
from mnemolog.events.graph_tags import relation_tag
from mnemolog.events.message import MessagesErased
from mnemolog.events.message_fold import MESSAGE

MOST = 100
_STEPS = UUID(int=0)


class FollowMessages(GraphCommand):
    """Changes the facts that were extracted from these messages, which were deleted, restored or erased."""

    turn_ids: Annotated[tuple[Id, ...], AtMost(MOST)]
    at: Instant


@dataclass(frozen=True, slots=True)
class Following:
    """`stated`: by fact, the messages that it was extracted from. `recorded`: the facts that somebody recorded.

    `changes`: by event, the messages that an assertion, end or correction was extracted from; `changed`: the facts
    that were ended or corrected so. `expired`: the messages whose retention ended, which takes nothing from what they
    stated. `own`: the undos by this decider.
    """

    graph: Graph = field(default_factory=Graph)
    messages: Mapping[str, Message] = field(default_factory=dict)
    stated: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    recorded: Mapping[UUID, None] = field(default_factory=dict)
    changes: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    changed: Mapping[UUID, None] = field(default_factory=dict)
    withdrawals: Mapping[UUID, None] = field(default_factory=dict)
    own: Mapping[UUID, None] = field(default_factory=dict)
    expired: Mapping[str, None] = field(default_factory=dict)

    def deleted(self, turn_ids: Sequence[str]) -> bool:
        """Whether all of these messages were deleted or erased."""
        return all(
            id_ in self.messages and not self.messages[id_].visible and id_ not in self.expired for id_ in turn_ids
        )

    def only_in_deleted(self, relation_id: UUID) -> bool:
        """Whether a fact was extracted from messages that were all deleted, and nobody recorded it."""
        turns = self.stated.get(relation_id, ())
        return bool(turns) and relation_id not in self.recorded and self.deleted(turns)


def _evolve(state: Following, event: Happened) -> Following:
    payload = event.payload
    if isinstance(payload, UserErased):
        return Following()
    messages = updated(state.messages, MESSAGE.evolve(state.messages, payload))
    state = replace(state, graph=evolve(state.graph, event), messages=messages)
    if isinstance(payload, MessagesErased) and payload.cause is Cause.TTL:
        return replace(state, expired=updated(state.expired, dict.fromkeys(payload.turn_ids)))
    by_rules = event.meta.actor == ACTOR
    match payload:
        case events.RelationAsserted() | events.RelationObserved() if by_rules:
            before, turns = state.stated.get(payload.relation_id, ()), sources_of(payload) or ()
            state = replace(state, stated=updated(state.stated, {payload.relation_id: (*before, *turns)}))
            asserted = {event.event_id: turns} if isinstance(payload, events.RelationAsserted) else {}
            return replace(state, changes=updated(state.changes, asserted))
        case events.RelationAsserted() | events.RelationObserved():
            return replace(state, recorded=updated(state.recorded, {payload.relation_id: None}))
        case events.RelationEnded() | events.RelationRetired() if payload.stated_in:
            changes = updated(state.changes, {event.event_id: payload.stated_in})
            return replace(state, changes=changes, changed=updated(state.changed, {payload.relation_id: None}))
        case events.RelationWithdrawn():
            return replace(state, withdrawals=updated(state.withdrawals, {event.event_id: None}))
        case events.RelationReverted() if by_rules:
            return replace(state, own=updated(state.own, {event.event_id: None}))
    return state


def _decide(state: Following, command: FollowMessages) -> Sequence[Event]:
    """Each change is decided on the result of the previous ones."""
    found: list[Event] = []
    for relation_id in _touched(state, command):
        for event in _followed(state, command, relation_id):
            state = _after(state, command, event)
            found.append(event)
    return found


def _touched(state: Following, command: FollowMessages) -> Sequence[UUID]:
    """The facts that the messages stated, ended or corrected."""
    turns = set(command.turn_ids)

    def changed(relation_id: UUID) -> bool:
        return any(turns.intersection(state.changes.get(one.event_id, ())) for one in _history(state, relation_id))

    return [id_ for id_ in state.graph.relations if turns.intersection(state.stated.get(id_, ())) or changed(id_)]


def _followed(state: Following, command: FollowMessages, relation_id: UUID) -> Iterator[Event]:
    if state.only_in_deleted(relation_id):
        yield from _withdrawn(state, command, state.graph.relations[relation_id])
        return
    for change in reversed(_history(state, relation_id)):
        if not _to_undo(state, relation_id, change):
            continue
        try:
            befores = state.graph.changes.befores(change.event_id)
        except UndoConflict:
            continue  # It was changed since, which stays.
        for event in reverted_all(state.graph, change.event_id, befores, command.at):
            state = _after(state, command, event)
            yield event


def _withdrawn(state: Following, command: FollowMessages, one: Relation) -> Iterator[Event]:
    slot = facts_of(state.graph.slot(state.graph.place(one)))
    validity = own_first(one.relation_id, slot, facts.retired(slot, one.fact))
    turns = tuple(dict.fromkeys(state.stated[one.relation_id]))
    if one.is_erased and one.validity.said:  # What it had ended continues.
        yield events.RelationRetired(relation_id=one.relation_id, validity=validity, stated_in=turns)
    history = _history(state, one.relation_id)
    before = [change.event_id for change in history if change.event_id in state.withdrawals]
    if one.status is Status.ACTIVE and not any(_undone_by_others(state, id_) for id_ in before):
        times = [at for id_ in turns if (at := state.messages[id_].purge_at)]
        purge_at = max(times, default=command.at + memory.PURGE_AFTER)
        yield events.RelationWithdrawn(
            relation_id=one.relation_id, validity=validity, turn_ids=turns, purge_at=purge_at
        )


def _to_undo(state: Following, relation_id: UUID, change: RecordedChange[Node]) -> bool:
    """Whether to undo a change: a withdrawal, what only deleted messages state, or the undo of what others state."""
    changes, id_ = state.graph.changes, change.event_id
    if changes.undone(id_):
        return False
    if id_ in state.withdrawals:
        return True
    if id_ in state.own and change.undoes and change.undoes in state.changes:
        return not state.deleted(state.changes[change.undoes])
    if id_ not in state.changes or not state.deleted(state.changes[id_]):
        return False
    observed = changes.observed_since(relation_tag(relation_id), id_)  # Another message says it, too.
    undos = [one for one in changes.undone_by.get(id_, ()) if one in state.own]
    return not observed and not any(_undone_by_others(state, one) for one in undos)


def _undone_by_others(state: Following, event_id: UUID) -> bool:
    """Whether somebody undid what was decided here."""
    undos = state.graph.changes.undone_by.get(event_id, ())
    return any(one not in state.own and not state.graph.changes.undone(one) for one in undos)


def _history(state: Following, relation_id: UUID) -> Sequence[RecordedChange[Node]]:
    return state.graph.changes.of.get(relation_tag(relation_id), ())


def _after(state: Following, command: FollowMessages, event: Event) -> Following:
    id_ = uuid5(_STEPS, event.model_dump_json())
    return _evolve(state, NewEvent(id_, event, command.meta(), command.at))


def _tags(state: Following, command: FollowMessages) -> frozenset[str]:
    """The messages, the facts that they touched, and all messages that these facts rest on."""
    relations = {*state.graph.relations, *state.stated, *state.changed}
    turns = {*command.turn_ids}.union(*(state.stated.get(id_, ()) for id_ in relations), *state.changes.values())
    return frozenset({USER, *map(turn_tag, turns)}).union(*(relation_reads(state.graph, id_) for id_ in relations))


WITHDRAWAL: Decider[FollowMessages, Following] = Decider(
    initial=Following(),
    subject=lambda command: turn_tag(command.turn_ids[0]),
    tags=_tags,
    evolve=_evolve,
    decide=_decide,
)
