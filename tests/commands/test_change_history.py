"""What can be undone follows from the changes that are in effect, and to ask costs the same however many there are."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.commands.change_history import ChangeHistory, RecordedChange
from mnemolog.domain.errors import UndoConflict
from tests.testkit.events import created, new

SUBJECT = "memory:1"
STEPS = st.lists(st.one_of(st.just("change"), st.just("observation"), st.integers(0, 20)), max_size=20)
"""A number undoes one of the changes that can be undone then."""


def told(steps: Sequence[str | int]) -> ChangeHistory[int]:
    """Each change has its place as its id and as the state before it."""
    history: ChangeHistory[int] = ChangeHistory()
    for place, step in enumerate(steps):
        undoes = None
        if isinstance(step, int) and (undoable := _undoable(history.of.get(SUBJECT, ()))):
            undoes = undoable[step % len(undoable)]
        event = new(created(), UUID(int=place))
        history = history.with_change(event, {SUBJECT: place}, undoes, observation=step == "observation")
    return history


def _undoable(changes: Sequence[RecordedChange[int]]) -> Sequence[UUID]:
    each = [(one.event_id, in_effect(changes[place:])) for place, one in enumerate(changes, 1)]
    return [event_id for event_id, after in each if only_observed(after)]


def in_effect(changes: Sequence[RecordedChange[int]]) -> list[tuple[UUID, RecordedChange[int]]]:
    """The rule by itself: an undo takes out the last change, or an observation behind it. With the first id of each."""
    found: list[tuple[UUID, RecordedChange[int]]] = []
    taken: dict[UUID, UUID] = {}
    for one in changes:
        behind = next((place for place in reversed(range(len(found))) if not found[place][1].observation), 0)
        within = range(behind, len(found))
        if same := [place for place in within if one.undoes in (found[place][0], found[place][1].event_id)]:
            taken[one.event_id] = found.pop(same[-1])[0]
        else:
            found.append((taken.get(one.undoes, one.event_id) if one.undoes else one.event_id, one))
    return found


def only_observed(changes: Sequence[tuple[UUID, RecordedChange[int]]]) -> bool:
    return all(one.observation for _, one in changes)


@given(STEPS)
def test_a_change_is_undone_if_nothing_but_observations_stands_after_it(steps: Sequence[str | int]) -> None:
    history = told(steps)
    changes = history.of.get(SUBJECT, ())
    now = in_effect(changes)
    lasting = [one.event_id for _, one in now if not one.observation]
    assert history.last(SUBJECT) == (lasting[-1] if lasting else None)
    for place, one in enumerate(changes):
        then, after = in_effect(changes[: place + 1]), in_effect(changes[place + 1 :])
        as_then = [id_ for id_, _ in now[: len(then)]] == [id_ for id_, _ in then] and only_observed(now[len(then) :])
        if only_observed(after):
            assert history.observed_since(SUBJECT, one.event_id) == len(after)
        if only_observed(after) or as_then:
            assert history.befores(one.event_id) == {SUBJECT: place}
        else:
            standing = next(one.event_id for _, one in reversed(after) if not one.observation)
            with pytest.raises(UndoConflict, match=str(standing)):
                history.befores(one.event_id)


@pytest.mark.parametrize(("told_in_turn", "times"), [(["change"], 4), (["change", "observation"], 1)])
def test_undoing_and_redoing_many_changes_looks_at_each_a_few_times(
    monkeypatch: pytest.MonkeyPatch, told_in_turn: list[str | int], times: int
) -> None:
    """Newest first, and the undos again: a walk over all changes for each would be the square of them."""

    def walked(*args: object) -> list[RecordedChange[int]]:
        raise AssertionError("all later changes were looked at")

    monkeypatch.setattr("mnemolog.commands.change_history.ChangeHistory._after", walked)
    count = 300
    history = told(told_in_turn * count)
    for _ in range(times):
        written = [one.event_id for one in history.of[SUBJECT] if not one.observation][-count:]
        for event_id in reversed(written):
            history.befores(event_id)
            history.observed_since(SUBJECT, event_id)
            history = history.with_change(new(created(), UUID(int=len(history.of[SUBJECT]))), {SUBJECT: 0}, event_id)
