"""Corroboration: a memory that is said again is surer and matters more, within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.corroboration import HIGHEST, confidence, corroborated, importance
from mnemolog.domain.memory import Content

units = st.floats(0, 1)
contents = st.builds(Content, st.just("tea"), st.just("note"), units, units, st.booleans())


def test_the_rule_in_figures() -> None:
    assert confidence(0.5, 1.0) == pytest.approx(0.65)
    assert confidence(0.5, 0.5) == pytest.approx(0.575)
    assert importance(0.5) == pytest.approx(0.55)
    assert importance(0.94) == HIGHEST


@pytest.mark.spec_part("D13")
@given(contents, units)
def test_it_never_takes_away_and_stays_in_bounds(content: Content, observed: float) -> None:
    after = corroborated(content, observed)

    assert content.confidence <= after.confidence <= 1
    assert content.importance <= after.importance <= max(content.importance, HIGHEST)


@given(units, st.lists(units, min_size=200, max_size=200))
def test_two_hundred_observations_make_sure_and_important(start: float, observed: list[float]) -> None:
    content = Content("tea", "note", start, start, pinned=False)
    for one in [*observed, 1.0]:
        content = corroborated(content, one)

    assert content.importance >= HIGHEST
    assert content.confidence <= 1
