"""Facts, decided again in a shadow: under other rules of predicates, and beside other facts (X06)."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

from mnemolog.commands.backtest.memories import confidence_of
from mnemolog.commands.backtest.shadow import Shadow, context_of
from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.extraction_requests import EXTRACTORS
from mnemolog.commands.fact_changes import FACT_CHANGES, EndFact, RetireFact
from mnemolog.commands.facts import FACTS, Remember, own_first
from mnemolog.commands.graph import Graph, applied, cluster_reads, evolve, facts_of, relation_reads, resettled
from mnemolog.commands.graph_undo import GRAPH_UNDO, UndoGraph
from mnemolog.domain import facts
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.predicates import ObjectKind, Predicate
from mnemolog.domain.relation import Relation
from mnemolog.events import graph as events
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.graph_tags import relation_tag

# A fact that is said to hold since so shortly before it was recorded was told without a start.
AT_ONCE = timedelta(seconds=10)
_DECIDES = ("single", "timeless", "object", "critical")


class FactReplay:
    """`diverged` are predicates of which some event was replayed otherwise, so that all later ones are decided again.

    `unseen` are entities that nothing in the shadow is about so far, `names` those under which all were first seen.
    """

    def __init__(self, shadow: Shadow) -> None:
        self._shadow, self._versions = shadow, shadow.relations
        self._diverged = set[str]()
        self._names = dict[UUID, str]()
        self._unseen = dict[UUID, Recorded]()

    def drop(self, group: Sequence[Recorded]) -> None:
        """It would not have been recorded."""
        for event in group:
            self._first_seen(event)
            self._diverged |= {one.predicate for one in self._relations(event.payload)}

    def take(self, group: Sequence[Recorded]) -> None:
        rest = self._with_entities(group)
        touched = [one for event in rest for one in self._relations(event.payload)]
        predicates = {one.predicate for one in touched}
        otherwise = {one for one in predicates if one in self._diverged or self._rules_differ(one)}
        if not otherwise:
            self._shadow.keep(rest)
        elif isinstance(rest[0].payload, events.EntitiesMerged | events.EntityReverted):
            self._entities(rest)
        else:
            self._diverged |= otherwise
            self._fact(rest)

    def _with_entities(self, group: Sequence[Recorded]) -> Sequence[Recorded]:
        """The rest of a group, once the entities are there that it is about: all but an object that may be a value."""
        told = group[-1].payload
        rest = [one for one in group if not isinstance(one.payload, events.EntityObserved)]
        if gone := [id_ for one in rest for id_ in ENTITY.touched(one.payload) if id_ in self._unseen]:
            self._shadow.note(group[0], gone[0], "it is about an entity that would not be there")
            return []
        needed = [id_ for one in group for id_ in ENTITY.touched(one.payload)]
        if isinstance(told, events.RelationAsserted):
            needed += [told.subject_id, *([told.object_id] if told.object_id else [])]
            now, then = self._rules(told.predicate)
            if now.object is not then.object:
                needed = [id_ for id_ in needed if id_ != told.object_id or id_ == told.subject_id]
        for event in group:
            self._first_seen(event)
        self._see(needed)
        return rest

    def _first_seen(self, event: Recorded) -> None:
        if isinstance(event.payload, events.EntityObserved):
            self._unseen[event.payload.entity_id] = event
            self._names[event.payload.entity_id] = event.payload.name

    def _see(self, entity_ids: Iterable[UUID | None]) -> None:
        """Something in the shadow is about these entities."""
        self._shadow.keep([self._unseen.pop(id_) for id_ in entity_ids if id_ and id_ in self._unseen])

    def _relations(self, payload: Event) -> Sequence[events.RelationAsserted | Relation]:
        if isinstance(payload, events.RelationAsserted):
            return [payload]
        ids = RELATION.touched(payload)
        return [one for id_ in ids for one in (self._versions.recorded.get(id_), self._versions.shadow.get(id_)) if one]

    def _rules_differ(self, predicate: str) -> bool:
        now, then = self._rules(predicate)
        return any(getattr(now, name) != getattr(then, name) for name in _DECIDES)

    def _rules(self, predicate: str) -> tuple[Predicate, Predicate]:
        """That of the policy in effect, and that of the other one."""
        terms = self._shadow.terms
        return terms.now.predicates.rule(predicate), terms.then.predicates.rule(predicate)

    def _fact(self, group: Sequence[Recorded]) -> None:
        event, last = group[0], group[-1].payload
        rule, _ = self._rules(self._relations(event.payload)[0].predicate)
        if len(group) > 1 and isinstance(last, events.RelationAsserted) and not (rule.timeless and rule.single):
            for one in group:  # A retirement and an assertion that were told one after the other.
                self._fact([one])
        elif any(one.erased for one in group):
            self._shadow.keep(group)
            self._shadow.note(event, _id(event), "its value was erased, so it is not decided again")
        elif isinstance(last, events.RelationAsserted):
            self._told(group, self._asserted(group[-1], last))
        elif isinstance(last, events.RelationObserved) and not _confirms(last):
            if known := self._versions.recorded.get(last.relation_id):
                decided = self._told(group, self._observed(group[-1], last, known))
                again = any(not isinstance(one, events.RelationObserved) for one in decided)
                if again and last.valid_from is None:
                    self._shadow.note(event, last.relation_id, "since when was not recorded: taken as since then")
        else:
            self._change(event, event.payload)

    def _told(self, group: Sequence[Recorded], command: Remember | None) -> Sequence[Event]:
        return [] if command is None else self._decide(FACTS, command, group)

    def _asserted(self, event: Recorded, payload: events.RelationAsserted) -> Remember | None:
        told = payload.told_at or event.occurred_at
        before = self._versions.recorded.get(payload.relation_id)
        held = before.confidence if before else None
        unsaid = payload.valid_from == told or timedelta(0) <= told - payload.valid_from < AT_ONCE
        at = max(event.recorded_at, told) if payload.told_at else payload.valid_from if unsaid else told
        same = ("until_precision", "told_at", "metadata", "origin", "source_turn_ids", "memory_id", "scope")
        fields = {
            **{name: getattr(payload, name) for name in same},
            "since": None if unsaid else payload.valid_from,
            "until": payload.valid_to,
            "since_precision": None if unsaid else payload.since_precision,
            "at": at,
            "confidence": payload.confidence if held is None else confidence_of(held, payload.confidence),
            "owner": payload.agent_id,
            "relation_id": payload.relation_id,
        }
        return self._remember(event, payload, fields)

    def _observed(self, event: Recorded, payload: events.RelationObserved, known: Relation) -> Remember | None:
        told, periods = payload.told_at or event.occurred_at, known.validity.periods
        over = payload.valid_from is None and periods and not any(one.lasts_beyond(told) for one in periods)
        # Before it was recorded: what had ended, and was told again, was told of the time when it held.
        unrecorded = periods[-1].valid_from if over else None
        fields = {
            "since": payload.valid_from if payload.stated else unrecorded,
            "at": max(event.recorded_at, told) if payload.told_at else told,
            "told_at": payload.told_at,
            "confidence": confidence_of(known.confidence, payload.confidence),
            "metadata": payload.metadata,
            "origin": payload.origin or known.origin,
            "source_turn_ids": payload.source_turn_ids,
            "memory_id": payload.memory_id,
            "scope": known.scope,
            "owner": known.agent_id,
            "relation_id": known.relation_id,
        }
        return self._remember(event, known, fields)

    def _remember(
        self, event: Recorded, told: events.RelationAsserted | Relation, fields: dict[str, Any]
    ) -> Remember | None:
        value, literal = self._object(event, told)
        self._see([told.subject_id, told.object_id if literal is False else None])
        owner = fields.pop("owner")
        own = {"agent_id": owner} if owner else {}
        drawn = {name: uuid5(event.event_id, name) for name in ("subject_id", "object_id")}
        about = {"subject": str(told.subject_id), "predicate": told.predicate, "object": value, "literal": literal}
        try:
            rule = self._rule_of(event, told)
            return validated(Remember, {**context_of(event), **own, **fields, **drawn, **about, "rule": rule})
        except MnemologError as error:
            self._shadow.note(event, told.relation_id, f"would be refused: {error.message}")
            return None

    def _rule_of(self, event: Recorded, told: events.RelationAsserted | Relation) -> Predicate:
        """The rule of the policy; that of the extractor for a predicate that the policy does not name."""
        terms, (_, rule) = self._shadow.terms, self._rules(told.predicate)
        if event.meta.actor not in EXTRACTORS or told.predicate in terms.then.predicates.predicates:
            return rule
        if told.predicate in terms.now.predicates.predicates:
            self._shadow.note(event, told.relation_id, "the rule that the extractor would apply was not recorded")
        return replace(rule, single=told.single)

    def _object(self, event: Recorded, told: events.RelationAsserted | Relation) -> tuple[Any, bool | None]:
        """The object as it is told again, and whether it is a value, if the rule does not say."""
        now, then = (one.object for one in self._rules(told.predicate))
        if told.object_id is None:
            by_rule = told.literal and now is ObjectKind.LITERAL and isinstance(told.value, str)
            return told.value, None if by_rule or not told.literal else True
        if now is then:
            return str(told.object_id), False
        known = self._shadow.entities.recorded.get(told.object_id)
        if name := known.traits.name if known else self._names.get(told.object_id):
            return name, None
        self._shadow.note(event, told.relation_id, "the name of its object was erased")
        return str(told.object_id), False

    def _change(self, event: Recorded, payload: Event) -> None:
        assert isinstance(payload, events.RelationEvent)
        about = {**context_of(event), "relation_id": payload.relation_id}
        if payload.relation_id not in self._versions.shadow:
            return
        match payload:
            case events.RelationEnded():
                about |= {"until": payload.valid_to, "until_precision": payload.until_precision}
                self._decide(FACT_CHANGES, EndFact(**about, **_stated(event, payload)), [event])
            case events.RelationRetired():
                self._decide(FACT_CHANGES, RetireFact(**about, **_stated(event, payload)), [event])
            case events.RelationReverted() if payload.undoes not in self._shadow.log.ids:
                self._shadow.note(event, payload.relation_id, "it undoes what would not have happened")
            case events.RelationReverted():
                tag = relation_tag(payload.relation_id)
                undo = UndoGraph(**context_of(event), about=tag, event_id=payload.undoes, at=event.occurred_at)
                self._decide(GRAPH_UNDO, undo, [event])
            case events.RelationWithdrawn():
                self._shadow.write([self._withdrawn(event, payload)], [event])
            case _:
                self._shadow.keep([event])

    def _withdrawn(self, event: Recorded, payload: events.RelationWithdrawn) -> Event:
        state = self._shadow.log.read(_SLOT, UndoGraph(**_reading(event, payload.relation_id)))
        known = state.relations[payload.relation_id]
        slot = facts_of(state.slot(state.place(known)))
        after = facts.retired(slot, known.fact)
        return payload.model_copy(update={"validity": own_first(payload.relation_id, slot, after)})

    def _entities(self, group: Sequence[Recorded]) -> None:
        """Entities were merged or separated: the periods of the facts about them follow from those in the shadow."""
        for event in group:
            payload = event.payload
            assert isinstance(payload, events.EntitiesMerged | events.EntityReverted)
            bare = payload.model_copy(update={"validity": ()})
            state = self._shadow.log.read(_CLUSTER, UndoGraph(**_reading(event, payload.entity_id)))
            known = self._shadow.entities.shadow
            about = [payload.entity_id, *(payload.absorbed_ids if isinstance(payload, events.EntitiesMerged) else ())]
            merged = (one.merged_into for id_ in about if (one := known.get(id_)) and one.merged_into)
            validity = resettled(applied(state, bare), [*about, *merged])
            self._shadow.write([bare.model_copy(update={"validity": validity})], [event])

    def _slot(self, group: Sequence[Recorded]) -> Hashable:
        """What the decision is about: facts with one subject and predicate, in one scope."""
        one = self._relations(group[-1].payload)[0]
        return one.scope, one.agent_id, one.subject_id, one.predicate

    def _decide(self, decider: Decider[Any, Graph], command: Command, group: Sequence[Recorded]) -> Sequence[Event]:
        """What is refused changes nothing, such as the end of what has ended."""
        try:
            decided = self._shadow.log.decide(decider, command, self._slot(group))
        except MnemologError as error:
            self._shadow.note(group[0], _id(group[0]), f"would be refused: {error.message}")
            return []
        self._shadow.write(decided, group)
        return decided


def _stated(event: Recorded, payload: events.RelationEnded | events.RelationRetired) -> dict[str, Any]:
    at = max(event.recorded_at, payload.told_at) if payload.told_at else event.occurred_at
    return {**payload.model_dump(include={"stated_in", "rule", "told_at"}), "at": at}


def _confirms(payload: events.RelationObserved) -> bool:
    """Whether a person confirmed a fact, without telling it."""
    return payload.origin is not None and not payload.source_turn_ids and not payload.metadata and not payload.told_at


def _id(event: Recorded) -> object:
    return RELATION.touched(event.payload)[0]


def _reading(event: Recorded, id_: UUID) -> dict[str, Any]:
    return {**context_of(event), "about": str(id_), "event_id": event.event_id, "at": event.occurred_at}


# Only read: the slot of a relation, and the facts about an entity.
_SLOT: Decider[UndoGraph, Graph] = Decider(
    initial=Graph(),
    subject=lambda command: command.about,
    tags=lambda state, command: relation_reads(state, UUID(command.about)),
    evolve=evolve,
    decide=lambda state, command: [],
)
_CLUSTER: Decider[UndoGraph, Graph] = Decider(
    initial=Graph(),
    subject=lambda command: command.about,
    tags=lambda state, command: cluster_reads(state, [UUID(command.about)]),
    evolve=evolve,
    decide=lambda state, command: [],
)
