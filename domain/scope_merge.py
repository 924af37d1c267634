"""Scope merge: which of two facts that contradict each other across scopes is shown (A §4.2, A09).

An agent reads what is global and what is its own. Under an identity predicate the global fact wins, under one of an
agent's domain its own. The loser is kept, and says by what it is overridden (A03).
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from mnemolog.domain.predicates import Predicate, PredicateClass, PredicatePolicy
from mnemolog.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class ScopedFact:
    """A fact as one scope tells it. `object`: the entity or the value, in a form in which equal ones are equal."""

    relation_id: UUID
    scope: Scope
    subject_id: UUID
    predicate: str
    object: Hashable


def overridden(facts: Sequence[ScopedFact], predicates: PredicatePolicy) -> Mapping[UUID, UUID]:
    """By the id of each fact that is overridden, the id of the one that wins: the first of its kind in `facts`.

    Facts that hold at the same time are meant. Two values of a multi-valued predicate contradict each other only where
    they are one: then it is one fact, told twice.
    """
    found: dict[UUID, UUID] = {}
    for predicate, slot in _slots(facts, predicates):
        winner = next((one for one in slot if one.scope == _winning(predicate)), None)
        if winner:
            found |= {one.relation_id: winner.relation_id for one in slot if one.scope != winner.scope}
    return found


def _slots(
    facts: Iterable[ScopedFact], predicates: PredicatePolicy
) -> Iterable[tuple[Predicate, Sequence[ScopedFact]]]:
    """What contradicts each other: all of a single-valued predicate, else what has the same object."""
    slots: defaultdict[Hashable, list[ScopedFact]] = defaultdict(list)
    for one in facts:
        rule = predicates.rule(one.predicate)
        slots[one.subject_id, rule.name, None if rule.single else (one.object,)].append(one)
    return [(predicates.rule(slot[0].predicate), slot) for slot in slots.values()]


def _winning(predicate: Predicate) -> Scope:
    return Scope.AGENT if predicate.group is PredicateClass.AGENT else Scope.GLOBAL
