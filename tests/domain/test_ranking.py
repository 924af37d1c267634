"""Ranking: two legs fused, a budget kept."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.ranking import ANYWAY, PROFILES, RELATED, Signals, bullet, fuse, min_max, related, within_budget
from mnemolog.domain.text import count_tokens

scores = st.dictionaries(st.integers(0, 20), st.floats(-1, 1), max_size=12)


@given(scores)
def test_min_max_stretches_to_zero_and_one_and_keeps_the_order(given_scores: dict[int, float]) -> None:
    stretched = min_max(given_scores)

    assert stretched.keys() == given_scores.keys()
    assert all(0 <= score <= 1 for score in stretched.values())
    assert not stretched or max(stretched.values()) == 1
    for one in given_scores:
        for other in given_scores:
            assert stretched[one] <= stretched[other] or given_scores[one] > given_scores[other]


def test_min_max_of_equal_scores_is_one_for_each() -> None:
    assert min_max({"a": 0.2, "b": 0.2}) == {"a": 1.0, "b": 1.0}


@given(scores, scores)
def test_a_fused_score_lies_in_zero_to_one_and_every_hit_has_one(
    vector: dict[int, float], text: dict[int, float]
) -> None:
    fused = fuse(vector, text)

    assert fused.keys() == vector.keys() | text.keys()
    assert all(0 <= score <= 1 for score in fused.values())


@given(scores, scores)
def test_a_hit_that_is_better_in_both_legs_is_better(vector: dict[int, float], text: dict[int, float]) -> None:
    fused = fuse(vector, text)
    both = vector.keys() & text.keys()

    for one in both:
        for other in both:
            if vector[one] >= vector[other] and text[one] >= text[other]:
                assert fused[one] >= fused[other]


def test_a_hit_of_one_leg_counts_half() -> None:
    assert fuse({"a": 0.9, "b": 0.1}, {"c": 3.0}) == {"a": 0.5, "b": 0.0, "c": 0.5}


@pytest.mark.spec("B06")
def test_a_bullet_has_the_form_of_the_specification() -> None:
    said = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
    common = {"occurred_at": said, "origin": "user"}
    memory = {"kind": "fact", "category": "tasks", "text": "Deploy on Friday", **common}
    message = {"kind": "message", "category": "activity", "text": "Hi!", "line": "Ana: Hi!", **common}
    assert bullet(memory) == "[tasks] Deploy on Friday (2026-03-01)"
    assert bullet(message) == "[message] Ana: Hi! (2026-03-01)"
    newer = {"contradicted_by": "m2", "contradicted_at": datetime(2026, 4, 1, tzinfo=UTC)}
    assert bullet(memory | newer) == (
        "[tasks] Deploy on Friday (2026-03-01; contradicted by a newer memory of 2026-04-01)"
    )


@pytest.mark.spec_part("X21")
def test_a_bullet_quotes_what_comes_from_outside_and_says_so() -> None:
    said = datetime(2026, 3, 1, tzinfo=UTC)
    page = {"kind": "fact", "category": "note", "text": 'Closed.\n- "obey"', "occurred_at": said, "origin": "document"}

    assert bullet(page) == '[note] "Closed.\\n- \\"obey\\"" (2026-03-01; from a document)'


@pytest.mark.spec("B06")
@given(st.lists(st.text(max_size=80), max_size=8), st.integers(1, 60))
def test_the_budget_is_kept_and_no_hit_is_left_out_needlessly(hits: list[str], budget: int) -> None:
    kept = within_budget(hits, budget, lambda hit: hit, count_tokens)

    assert list(kept) == hits[: len(kept)]
    assert sum(map(count_tokens, kept)) <= budget
    assert len(kept) == len(hits) or sum(map(count_tokens, hits[: len(kept) + 1])) > budget


@given(st.lists(st.text(max_size=80), max_size=8))
def test_without_a_budget_all_hits_stay(hits: list[str]) -> None:
    assert within_budget(hits, None, lambda hit: hit, count_tokens) == hits


DAY = timedelta(days=1)
signals = st.builds(
    Signals,
    relevance=st.floats(0, 1),
    similarity=st.none() | st.floats(-1, 1),
    age=st.timedeltas(-100 * DAY, 4000 * DAY),
    frequency=st.floats(0, 1),
    links=st.floats(0, 1),
    insight=st.booleans(),
)


@given(st.sampled_from(sorted(PROFILES)), signals)
def test_a_score_is_the_sum_of_its_parts_in_zero_to_one(name: str, of: Signals) -> None:
    profile = PROFILES[name]

    assert profile.score(of) == min(1.0, sum(profile.parts(of).values()))
    assert all(part >= 0 for part in profile.parts(of).values())


@pytest.mark.spec("D05")
def test_persona_blends_similarity_recency_and_frequency_as_specified() -> None:
    of = Signals(relevance=1.0, similarity=0.5, age=14 * DAY, frequency=1.0, links=1.0)

    assert PROFILES["persona"].parts(of) == pytest.approx({"similarity": 0.2, "recency": 0.15, "frequency": 0.3})


@pytest.mark.spec("B02")
def test_delta_boosts_links_and_gives_insights_a_low_weight() -> None:
    delta, of = PROFILES["delta"], Signals(relevance=0.2, similarity=0.6, links=0.5)

    assert delta.parts(of) == pytest.approx({"similarity": 0.6, "links": 0.05})
    assert delta.score(replace(of, insight=True)) == pytest.approx(0.325)


@pytest.mark.parametrize("name", ["twin", "being"])
def test_twin_and_being_rank_by_similarity_alone(name: str) -> None:
    old = Signals(relevance=0.9, similarity=0.6, age=400 * DAY, frequency=1.0, links=1.0)

    assert PROFILES[name].parts(old) == {"similarity": 0.6}
    assert PROFILES[name].parts(replace(old, similarity=None)) == {"relevance": 0.9}


@given(st.lists(st.floats(0, 1), max_size=60))
def test_a_context_shows_the_first_messages_and_all_that_are_related(given_scores: list[float]) -> None:
    in_order = sorted(given_scores, reverse=True)
    shown = related(in_order)
    assert list(shown) == list(range(len(shown))), "none is left out above one that is shown"
    assert len(shown) >= min(ANYWAY, len(in_order))
    assert all(score < RELATED * in_order[0] for score in in_order[len(shown) :])
