"""What was believed, statement by statement: as if each had been recorded when it was told (X13)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain import facts
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.facts import Fact, Period, Said, Slot
from mnemolog.domain.retelling import Asserts, Change, Drops, Ends, History, Retires, Shows, Statement, history
from tests.testkit.calls import calls

CITIES = [UUID(int=1), UUID(int=2), UUID(int=3)]
YEAR_0 = datetime(2000, 1, 1, tzinfo=UTC)


def year(number: int) -> datetime:
    return YEAR_0 + timedelta(days=365 * number)


def said(since: int, lasts: int | None) -> Said:
    return Said(year(since), year(since + lasts) if lasts else None)


SINGLE = st.one_of(
    st.builds(lambda *of: Asserts(said(*of), single=True), st.integers(0, 5), st.sampled_from([None, None, 1, 3])),
    st.builds(lambda at: Ends(year(at)), st.integers(1, 6)),
    st.just(Retires()),
    st.sampled_from([Shows(shown=False), Shows(shown=True)]),
)
MIXED = st.one_of(
    SINGLE, st.builds(lambda *of: Asserts(said(*of), single=False), st.integers(0, 5), st.sampled_from([None, 2]))
)


def told(changes: Sequence[tuple[UUID, Change]]) -> list[Statement]:
    return [Statement(id_, year(10 + at), at, UUID(int=100 + at), one) for at, (id_, one) in enumerate(changes)]


def stepwise(statements: Sequence[Statement]) -> tuple[Slot, set[UUID]]:
    """The slot after each was recorded in its turn, and what is hidden."""
    slot: Slot = [Fact.new(id_, single=False) for id_ in CITIES]
    hidden: set[UUID] = set()
    for one in statements:
        fact = next(fact for fact in slot if fact.relation_id == one.relation_id)
        match one.change:
            case Asserts(what, single):
                again = Fact.new(fact.relation_id, single=False) if fact.relation_id in hidden else fact
                if again is not fact or not facts.repeats(fact, what):
                    again = Fact(fact.relation_id, bool(single), again.validity)
                    slot = facts.asserted(slot, again, what)
                hidden.discard(one.relation_id)
            case Ends(at):
                try:
                    slot = facts.ended(slot, fact, at)
                except InvalidInput:
                    continue
            case Retires():
                slot = facts.retired(slot, fact)
            case Shows(shown):
                (hidden.discard if shown else hidden.add)(one.relation_id)
    return slot, hidden


def believed(found: History, at: datetime) -> dict[UUID, list[tuple[datetime, datetime | None]]]:
    return {
        id_: sorted(
            (one.valid_from, one.valid_to)
            for one in found.beliefs[id_].beliefs
            if one.known_from <= at and (one.known_to is None or at < one.known_to)
        )
        for id_ in CITIES
    }


@pytest.mark.spec("X13")
@pytest.mark.parametrize("changes", [SINGLE, MIXED], ids=["single", "mixed"])
@given(data=st.data())
def test_what_is_believed_after_each_statement_is_what_follows_from_those_until_then(
    changes: st.SearchStrategy[Change], data: st.DataObject
) -> None:
    statements = told(data.draw(st.lists(st.tuples(st.sampled_from(CITIES), changes), max_size=9)))
    found = history(CITIES, data.draw(st.permutations(statements)), timeless=False)

    assert [one.validity for one in found.slot] == [one.validity for one in stepwise(_counted(statements))[0]]
    for place in range(len(statements)):
        slot, hidden = stepwise(_counted(statements)[: place + 1])
        shown = {one.relation_id: one.validity.periods if one.relation_id not in hidden else () for one in slot}
        expected = {id_: sorted((one.valid_from, one.valid_to) for one in held) for id_, held in shown.items()}
        if _counted(statements) == statements:
            assert believed(found, statements[place].told) == expected


def _counted(statements: Sequence[Statement]) -> list[Statement]:
    """What was told of a city before the city itself counts from then."""
    first = {id_: _first(statements, id_) for id_ in CITIES}
    moved = {
        one.number: first[one.relation_id] if isinstance(one.change, Ends | Retires) else one.number
        for one in statements
    }
    return sorted(statements, key=lambda one: (max(moved[one.number], one.number), moved[one.number] > one.number))


def _first(statements: Sequence[Statement], id_: UUID) -> int:
    return min(
        (one.number for one in statements if one.relation_id == id_ and isinstance(one.change, Asserts)), default=-1
    )


@pytest.mark.spec("X13")
def test_a_late_value_was_believed_until_the_one_with_the_same_start_was_told() -> None:
    berlin, rome = (Asserts(said(5, None), single=True) for _ in range(2))
    late = Statement(CITIES[1], year(10), 2, None, rome)
    found = history(CITIES, [Statement(CITIES[0], year(12), 1, None, berlin), late], timeless=False)

    assert [len(one.validity.periods) for one in found.slot] == [1, 0, 0]
    [was] = found.beliefs[CITIES[1]].beliefs
    assert (was.known_from, was.known_to) == (year(10), year(12))


@pytest.mark.spec("X13", "X03")
def test_what_was_undone_is_believed_until_then_and_again_once_that_is_undone() -> None:
    changes: list[tuple[UUID, Change]] = [
        (CITIES[0], Asserts(said(1, None), single=True)),
        (CITIES[1], Asserts(said(1, None), single=True)),
        (CITIES[1], Drops(UUID(int=101))),
        (CITIES[1], Drops(UUID(int=102))),
    ]
    found = history(CITIES, told(changes), timeless=False)

    held = [[id_ for id_, spans in believed(found, year(at)).items() if spans] for at in range(10, 14)]
    assert held == [[CITIES[0]], [CITIES[1]], [CITIES[0]], [CITIES[1]]]


@pytest.mark.spec("X13")
def test_that_something_no_longer_holds_does_not_move_an_end_that_was_told_before() -> None:
    changes: list[tuple[UUID, Change]] = [
        (CITIES[0], Asserts(said(2, None), single=True)),
        (CITIES[0], Ends(year(4))),
        (CITIES[0], Ends(year(6), holding=True)),
    ]
    assert history(CITIES, told(changes), timeless=False).slot[0].validity.periods == (Period(year(2), year(4)),)
    found = history(CITIES, told([*changes[:2], (CITIES[0], Ends(year(6)))]), timeless=False)
    assert found.slot[0].validity.periods == (Period(year(2), year(6)),)


@pytest.mark.spec("X13")
def test_another_value_of_what_is_timeless_holds_in_the_place_of_the_former() -> None:
    changes: list[tuple[UUID, Change]] = [
        (CITIES[0], Asserts(said(2, None), single=True)),
        (CITIES[1], Asserts(said(4, None), single=True)),
    ]
    found = history(CITIES, told(changes), timeless=True)

    assert [[one.valid_from for one in fact.validity.periods] for fact in found.slot] == [[], [year(2)], []]


def test_the_work_grows_with_the_statements() -> None:
    work = []
    for size in (100, 200):
        values = [UUID(int=1 + at) for at in range(size)]
        told = [
            Statement(id_, year(at), at, UUID(int=at), Asserts(said(at, None), single=True))
            for at, id_ in enumerate(values)
        ]
        with calls() as counted:
            history(values, told, timeless=False)
        work.append(counted.total())
    assert work[1] < 2.3 * work[0]
