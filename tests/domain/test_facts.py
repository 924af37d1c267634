"""When facts hold: valid time and the order of learning move independently (X13)."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.facts import Fact, Period, Said, Slot, asserted, changes, ended, repeats, retired

BERLIN, PORTO, ROME = UUID(int=1), UUID(int=2), UUID(int=3)
YEAR_0 = datetime(2000, 1, 1, tzinfo=UTC)


def year(number: int) -> datetime:
    return YEAR_0 + timedelta(days=365 * number)


def tell(slot: Slot, city: UUID, since: int, until: int | None = None, *, single: bool = True) -> Slot:
    said = Said(year(since), None if until is None else year(until))
    fact = fact_of(slot, city, single=single)
    return slot if repeats(fact, said) else asserted(slot, fact, said)


def fact_of(slot: Slot, city: UUID, *, single: bool = True) -> Fact:
    return next((one for one in slot if one.relation_id == city), Fact.new(city, single=single))


def held(slot: Slot, city: UUID) -> list[tuple[int, int | None]]:
    """The periods of a fact, in years."""
    return [
        (_year(one.valid_from), _year(one.valid_to) if one.valid_to else None)
        for one in fact_of(slot, city).validity.periods
    ]


def _year(at: datetime) -> int:
    return (at - YEAR_0).days // 365


def values_at(slot: Slot, at: datetime) -> list[UUID]:
    return [one.relation_id for one in slot if any(period.holds_at(at) for period in one.validity.periods)]


@pytest.mark.spec("X13")
def test_a_later_value_ends_the_earlier_one() -> None:
    slot = tell(tell([], BERLIN, 5), PORTO, 8)

    assert (held(slot, BERLIN), held(slot, PORTO)) == ([(5, 8)], [(8, None)])


@pytest.mark.spec("X13")
def test_what_is_learned_late_of_earlier_times_ends_where_the_next_value_begins() -> None:
    slot = tell(tell([], PORTO, 8), BERLIN, 5)

    assert (held(slot, BERLIN), held(slot, PORTO)) == ([(5, 8)], [(8, None)])


@pytest.mark.spec("X13")
def test_of_two_values_with_the_same_start_the_later_record_retires_the_earlier() -> None:
    slot = tell(tell([], BERLIN, 5), PORTO, 5)

    assert (held(slot, BERLIN), held(slot, PORTO)) == ([], [(5, None)])
    assert fact_of(slot, BERLIN).validity.said == ()


@pytest.mark.spec("X13")
def test_the_same_value_from_an_earlier_time_backdates_it() -> None:
    assert held(tell(tell([], BERLIN, 5), BERLIN, 3), BERLIN) == [(3, None)]


@pytest.mark.spec("X13")
def test_a_repetition_changes_nothing_and_does_not_take_back_an_end() -> None:
    slot = ended(tell([], BERLIN, 5), fact_of(tell([], BERLIN, 5), BERLIN), year(9))

    assert held(tell(slot, BERLIN, 7), BERLIN) == [(5, 9)]
    assert repeats(fact_of(slot, BERLIN), Said(year(4), stated=False)), "that it holds was known, if not since when"
    assert not repeats(fact_of(slot, BERLIN), Said(year(9), stated=False)), "by then it had ended"


@pytest.mark.spec("X13")
def test_a_value_may_come_back() -> None:
    slot = tell(tell(tell([], BERLIN, 5), PORTO, 8), BERLIN, 9)

    assert (held(slot, BERLIN), held(slot, PORTO)) == ([(5, 8), (9, None)], [(8, 9)])


@pytest.mark.spec("X13")
def test_a_retired_statement_never_held_and_what_it_ended_holds_again() -> None:
    slot = tell(tell([], BERLIN, 5), PORTO, 8)

    slot = retired(slot, fact_of(slot, PORTO))

    assert (held(slot, BERLIN), held(slot, PORTO)) == ([(5, None)], [])


def test_values_of_a_multi_valued_predicate_stand_beside_each_other() -> None:
    slot = tell(tell([], BERLIN, 5, single=False), PORTO, 8, single=False)

    assert (held(slot, BERLIN), held(slot, PORTO)) == ([(5, None)], [(8, None)])


def test_an_end_can_be_corrected_and_comes_after_the_beginning() -> None:
    slot = tell([], BERLIN, 5, 9)

    assert held(ended(slot, fact_of(slot, BERLIN), year(7)), BERLIN) == [(5, 7)]
    assert held(ended(slot, fact_of(slot, BERLIN), year(11)), BERLIN) == [(5, 11)]
    with pytest.raises(InvalidInput) as caught:
        ended(slot, fact_of(slot, BERLIN), year(5))
    assert caught.value.field == "until"


def test_a_fact_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        Said(year(5), year(5))
    assert caught.value.field == "until"


cities = st.sampled_from([BERLIN, PORTO, ROME])
years = st.integers(0, 12)
told = st.tuples(cities, years, st.none() | st.integers(1, 5))
Tellings = Sequence[tuple[UUID, int, int | None]]


def carried_out(tellings: Tellings, *, single: bool = True) -> Slot:
    slot: Slot = []
    for city, since, length in tellings:
        slot = tell(slot, city, since, None if length is None else since + length, single=single)
    return slot


@pytest.mark.spec("X13")
@given(st.lists(told, max_size=8))
def test_a_single_valued_predicate_never_has_two_values_at_one_instant(tellings: Tellings) -> None:
    slot = carried_out(tellings)

    for half in range(36):
        assert len(values_at(slot, year(0) + timedelta(days=half * 182))) <= 1


@pytest.mark.spec("X13")
@given(
    st.lists(
        st.tuples(st.builds(UUID, int=st.integers(1, 9)), years),
        max_size=6,
        unique_by=(lambda one: one[0], lambda one: one[1]),
    ),
    st.data(),
)
def test_the_order_of_learning_does_not_matter_where_no_two_values_begin_at_once(
    moves: list[tuple[UUID, int]], data: st.DataObject
) -> None:
    one, other = (
        carried_out([(*move, None) for move in order]) for order in (moves, data.draw(st.permutations(moves)))
    )

    assert {fact.relation_id: fact.validity for fact in one} == {fact.relation_id: fact.validity for fact in other}


@given(st.lists(told, max_size=6), told, st.booleans())
def test_what_was_just_told_is_a_repetition(
    tellings: Tellings,
    last: tuple[UUID, int, int | None],
    single: bool,
) -> None:
    slot = carried_out([*tellings, last], single=single)
    city, since, _length = last

    assert values_at(slot, year(since))[-1:] if single else True
    assert changes(slot, carried_out([*tellings, last, (city, since, None)], single=single)) == ()


@given(st.lists(told, max_size=8), st.booleans())
def test_periods_are_in_order_and_do_not_touch(tellings: Tellings, single: bool) -> None:
    for fact in carried_out(tellings, single=single):
        periods = fact.validity.periods
        assert all(one.valid_to is None or one.valid_from < one.valid_to for one in periods)
        assert all(_before(one, other) for one, other in itertools.pairwise(periods))


def _before(one: Period, other: Period) -> bool:
    return one.valid_to is not None and one.valid_to < other.valid_from
