"""The patrol: how scenes age by cycles, when they begin to die, and what lets them live again (C)."""

from dataclasses import replace
from datetime import timedelta
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.memory import Kind, Status
from mnemolog.domain.patrol import ACTIVATED, DYING_AT, SILENCE, Node, eff_imp, is_node, over
from mnemolog.domain.scope import Scope
from tests.testkit.clock import START

units = st.floats(0, 1)
counts = st.integers(0, 10_000)
nodes = st.builds(Node, st.sampled_from(Status), units, st.booleans(), counts)
living = st.builds(Node, st.sampled_from([Status.ACTIVE, Status.DYING]), units, st.just(value=False), counts)


@pytest.mark.spec_part("C06")
@pytest.mark.parametrize(("importance", "count", "left"), [(1.0, 0, 1.0), (0.5, 30, 0.5 / 2.718281828), (0, 5, 0)])
def test_the_effective_importance_is_the_formula_of_the_specification(
    importance: float, count: int, left: float
) -> None:
    assert eff_imp(importance, count) == pytest.approx(left)


@pytest.mark.spec_part("C06")
def test_a_scene_of_importance_one_half_dies_in_its_seventieth_cycle() -> None:
    """0.5 exp(-69 / 30) is 0.0501, and 0.5 exp(-70 / 30) is 0.0485."""
    node, cycles = Node(Status.ACTIVE, 0.5, pinned=False, session_count=ACTIVATED), 0
    while node.status is Status.ACTIVE:
        node, cycles = node.after_cycle(), cycles + 1

    assert (cycles, node) == (70, Node(Status.DYING, 0.5, pinned=False, session_count=70))


@pytest.mark.spec_part("C03", "C06")
@given(nodes)
def test_a_cycle_counts_active_scenes_alone_and_turns_no_other_status(node: Node) -> None:
    after = node.after_cycle()

    if node.status is Status.ACTIVE:
        assert after.session_count == node.session_count + 1
    elif after.status is node.status:
        assert after == node
    if node.status not in (Status.ACTIVE, Status.DYING):
        assert after == node
    assert (after.importance, after.pinned) == (node.importance, node.pinned)


@pytest.mark.spec_part("C06")
@given(living)
def test_after_a_cycle_what_is_dying_is_exactly_what_the_formula_says(node: Node) -> None:
    counted = node.session_count + (node.status is Status.ACTIVE)
    dying = node.importance * exp(-counted / 30) <= DYING_AT

    assert (node.after_cycle().status is Status.DYING) is dying


@pytest.mark.spec_part("C06")
@given(nodes)
def test_what_is_pinned_never_begins_to_die(node: Node) -> None:
    pinned = replace(node, pinned=True)

    assert pinned.after_cycle().status is not Status.DYING


@pytest.mark.spec_part("C08")
@given(st.floats(DYING_AT, 1, exclude_min=True), st.integers(1, 10_000))
def test_what_was_recalled_while_it_died_is_active_after_the_cycle(importance: float, count: int) -> None:
    """A recall takes its count back to zero."""
    dying = Node(Status.DYING, importance, pinned=False, session_count=count)

    recalled = replace(dying, session_count=ACTIVATED)

    assert recalled.after_cycle() == Node(Status.ACTIVE, importance, pinned=False, session_count=ACTIVATED)


def test_nodes_are_scenes_of_one_agent() -> None:
    found = {(kind, scope) for kind in Kind for scope in Scope if is_node(kind, scope)}
    assert found == {(Kind.SCENE, Scope.AGENT)}


def test_a_session_ends_after_half_an_hour_of_silence() -> None:
    assert not over(START, START + SILENCE - timedelta(seconds=1))
    assert over(START, START + timedelta(minutes=30))
