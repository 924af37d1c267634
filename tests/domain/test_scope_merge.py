"""Of two facts that contradict each other across scopes one wins, by the class of their predicate (A09)."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.predicates import Predicate, PredicateClass, PredicatePolicy
from mnemolog.domain.scope import Scope
from mnemolog.domain.scope_merge import ScopedFact, overridden

POLICY = PredicatePolicy.of(
    [
        Predicate("home", single=True),
        Predicate("plan", single=True, group=PredicateClass.AGENT),
        Predicate("likes"),
        Predicate("avoids", group=PredicateClass.AGENT),
    ]
)
ANA = UUID(int=100)


def told(number: int, scope: Scope, predicate: str, thing: str) -> ScopedFact:
    return ScopedFact(UUID(int=number), scope, ANA, predicate, thing)


@pytest.mark.spec("A09")
@pytest.mark.parametrize(("predicate", "loser", "winner"), [("home", 2, 1), ("plan", 1, 2)])
def test_for_one_value_the_global_fact_wins_on_identity_and_the_agents_own_on_its_domain(
    predicate: str, loser: int, winner: int
) -> None:
    facts = [told(1, Scope.GLOBAL, predicate, "Lisbon"), told(2, Scope.AGENT, predicate, "Porto")]

    assert overridden(facts, POLICY) == {UUID(int=loser): UUID(int=winner)}


@pytest.mark.spec("A09")
@pytest.mark.parametrize(("predicate", "loser", "winner"), [("likes", 2, 1), ("avoids", 1, 2)])
def test_in_a_multi_valued_predicate_only_the_same_value_is_overridden(predicate: str, loser: int, winner: int) -> None:
    twice = [told(1, Scope.GLOBAL, predicate, "tea"), told(2, Scope.AGENT, predicate, "tea")]
    other = [told(3, Scope.AGENT, predicate, "milk"), told(4, Scope.GLOBAL, predicate, "rice")]

    assert overridden([*twice, *other], POLICY) == {UUID(int=loser): UUID(int=winner)}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(Scope),
            st.sampled_from(["home", "plan", "likes", "avoids"]),
            st.sampled_from(["tea", "milk"]),
        )
    )
)
def test_a_winner_is_of_the_other_scope_and_not_overridden_itself(kinds: list[tuple[Scope, str, str]]) -> None:
    facts = {UUID(int=number): told(number, *kind) for number, kind in enumerate(kinds, 1)}

    found = overridden(list(facts.values()), POLICY)

    for loser, winner in found.items():
        assert winner not in found
        assert facts[loser].scope is not facts[winner].scope
        assert facts[loser].predicate == facts[winner].predicate
