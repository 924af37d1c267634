"""Scope merge: which of two facts that contradict each other across scopes is shown (A §4.2, A09).

An agent reads global facts and its own. For an identity predicate the global fact takes precedence, for an agent's
domain its own. The other is kept and marked as overridden (A03).
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from mnemolog.domain.predicates import Predicate, PredicateClass, PredicatePolicy
from mnemolog.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class ScopedFact:
    """A fact in one scope. `object`: the entity or the value, in a comparable form."""

    relation_id: UUID
    scope: Scope
    subject_id: UUID
    predicate: str
    object: Hashable
    external: bool = False


def overridden(facts: Sequence[ScopedFact], predicates: PredicatePolicy) -> Mapping[UUID, UUID]:
    """Maps the id of each overridden fact to the id of the one that takes precedence: the first of its kind in `facts`.

    The facts must hold at the same time. Two values of a multi-valued predicate conflict only if they are equal, that
    is, the same fact twice. What comes from outside takes precedence over nothing that does not (X21).
    """
    found: dict[UUID, UUID] = {}
    for predicate, slot in _slots(facts, predicates):
        trusted = [one for one in slot if not one.external]
        winner = next((one for one in trusted or slot if one.scope == _winning(predicate)), None)
        if winner:
            found |= {one.relation_id: winner.relation_id for one in slot if one.scope != winner.scope}
    return found


def _slots(
    facts: Iterable[ScopedFact], predicates: PredicatePolicy
) -> Iterable[tuple[Predicate, Sequence[ScopedFact]]]:
    """The conflict group: all facts of a single-valued predicate, else those with the same object."""
    slots: defaultdict[Hashable, list[ScopedFact]] = defaultdict(list)
    for one in facts:
        rule = predicates.rule(one.predicate)
        slots[one.subject_id, rule.name, None if rule.single else (one.object,)].append(one)
    return [(predicates.rule(slot[0].predicate), slot) for slot in slots.values()]


def _winning(predicate: Predicate) -> Scope:
    return Scope.AGENT if predicate.group is PredicateClass.AGENT else Scope.GLOBAL
