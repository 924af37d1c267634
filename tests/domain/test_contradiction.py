"""Contradiction: what differs in a "not", a figure, a date, a weekday, a name or a liking is not the same."""

from uuid import UUID

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mnemolog.domain.bands import Band, Bands, judged
from mnemolog.domain.contradiction import Difference, adds_to, contradict, difference, one_frame, opposed
from mnemolog.domain.memory import Content, Kind, Memory
from mnemolog.domain.memory_key import Identity
from mnemolog.domain.scope import Scope
from tests.domain.contradictions import CONTRADICTIONS, DOUBTFUL, SAME

MERGING = {Band.AUTO, Band.UPDATE, Band.RECREATE}
BANDS = Bands(auto=0.9, check_low=0.7, fallback_low=0.5)
SAID = (
    "Ana Marko is are not no never lives likes hates tea coffee Lisbon Porto Monday Tuesday 5 10 five May June не нет"
    " понедельник вторник nie poniedziałek no nunca lunes martes kein nicht Montag Dienstag with without before after"
    " ない 好き 嫌い 月曜日 火曜日 was will the a , . ? happy unhappy and or"
)
WORDS = st.sampled_from(SAID.split())
STATEMENTS = st.one_of(st.lists(WORDS, min_size=1, max_size=7).map(" ".join), st.text(min_size=1, max_size=40))


@pytest.mark.spec_part("B13", "D04")
@pytest.mark.parametrize(("kind", "one", "other"), CONTRADICTIONS)
def test_a_contradicting_pair_is_recognised_by_what_differs(kind: str, one: str, other: str) -> None:
    assert difference(one, other) == kind
    assert difference(other, one) == kind


def test_the_answer_does_not_depend_on_what_was_compared_before() -> None:
    assert difference("Leave it to zora", "Leave it to vera") is Difference.WORDING
    assert difference("Leave it to Zora", "Leave it to Vera") is Difference.NAME
    assert difference("Leave it to zora", "Leave it to vera") is Difference.WORDING


@pytest.mark.parametrize(("one", "other"), DOUBTFUL)
def test_where_nobody_can_tell_it_is_not_the_same(one: str, other: str) -> None:
    assert difference(one, other) is Difference.WORDING
    assert not adds_to(one, other)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_inflections_articles_and_figures_in_words_are_the_same(one: str, other: str) -> None:
    assert difference(one, other) is None


@given(STATEMENTS, STATEMENTS)
@example("\u0345", "\u0399")
def test_a_difference_has_no_direction(one: str, other: str) -> None:
    assert difference(one, other) == difference(other, one)
    assert one_frame(one, other) == one_frame(other, one)


@pytest.mark.parametrize(
    ("one", "other", "denied"),
    [
        ("I moved to Lisbon last spring", "Lisbon is lovely in spring", False),
        ("Ana often runs in the park", "The park is next to Ana's flat", False),
        ("Ana quit her job at Acme", "Ana works at Acme", True),
        ("Ana hates the sea in winter", "In winter Ana loves swimming in the sea", True),
        ("Ana never eats fish", "Ana eats a lot of fish", True),
        ("Ana drinks green tea", "Ana drinks black tea", False),
        ("Ana likes tea", "Ana likes tea", False),
    ],
)
def test_a_weak_marker_in_only_one_of_two_loose_statements_denies_nothing(one: str, other: str, denied: bool) -> None:
    assert opposed(one, other) is denied
    assert opposed(other, one) is denied


@given(STATEMENTS, STATEMENTS)
def test_what_is_opposed_contradicts(one: str, other: str) -> None:
    assert contradict(one, other) or not opposed(one, other)


@given(STATEMENTS)
def test_nothing_differs_from_itself(text: str) -> None:
    assert difference(text, text) is None
    assert difference(text, f"  {text} ") is None


@given(STATEMENTS, STATEMENTS, st.floats(-1, 1))
def test_nothing_that_contradicts_is_merged_however_alike_it_is(one: str, other: str, similarity: float) -> None:
    assume(contradict(one, other))
    known = Memory(UUID(int=1), Kind.FACT, Scope.GLOBAL, None, Content(one, "note", 0.5, 1.0, pinned=False))

    assert judged(BANDS, similarity, known, other, Identity()) not in MERGING


@given(st.lists(WORDS, min_size=2, max_size=6), st.data())
def test_a_negation_put_in_anywhere_keeps_apart(words: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(words)))
    negation = data.draw(st.sampled_from(["not", "never", "не", "nie", "nunca", "nicht", "kein", "without", "ない"]))
    said, denied = " ".join(words), " ".join([*words[:place], negation, *words[place:]])

    assert difference(said, denied) is Difference.NEGATION
    assert not adds_to(said, denied)


@given(
    st.integers(0, 10**9), st.integers(0, 10**9), st.sampled_from(["Pays {} euros", "платит {} рублей", "{}円を払う"])
)
def test_two_figures_are_two_statements(one: int, other: int, text: str) -> None:
    assume(one != other)

    assert difference(text.format(one), text.format(other)) is Difference.NUMBER
