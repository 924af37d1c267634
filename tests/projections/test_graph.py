"""The graph as a fold of events: shape that survives erasure, unknown speakers, beliefs opened and closed once."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.facts import Period, Validity
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events import graph
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event
from mnemolog.projections.graph import entities, hiding, relations
from mnemolog.projections.rows import Row
from tests.projections.recorded import START, recorded, turns

MARTA, BERLIN, TEA = UUID(int=1), UUID(int=2), UUID(int=3)


def seen(name: str = "Marta", **fields: object) -> graph.EntityObserved:
    given_fields = {"entity_id": MARTA, "category": "Person", "scope": Scope.GLOBAL, "name": name, **fields}
    return graph.EntityObserved.model_validate(given_fields)


def folded(*payloads: Event) -> Row:
    """The row of Marta after these events."""
    rows: dict[UUID, Row] = {}
    for seq, payload in enumerate(payloads, 1):
        rows |= entities.after(rows, recorded(payload, seq))
    return rows[MARTA]


def test_a_turn_of_a_speaker_that_has_no_row_changes_nothing() -> None:
    spoken = TurnRecorded(turn_id="t1", thread_id="main", role=Role.USER, text="hello", speaker_entity_id=MARTA)

    assert entities.after({}, recorded(spoken, 1)) == {}
    assert entities.after({}, turns(1)[0]) == {}


@pytest.mark.spec("X07")
def test_an_erased_entity_reads_as_one_whose_events_are_shredded() -> None:
    forgotten = graph.EntityForgotten(entity_id=MARTA, purge_at=START, reason="secret")
    told = folded(seen(aliases=("Mar",), attributes={"works": "there"}), forgotten, graph.EntityErased(entity_id=MARTA))
    shredded = folded(
        seen("", aliases=(), attributes={}),
        graph.EntityForgotten(entity_id=MARTA, purge_at=START),
        graph.EntityErased(entity_id=MARTA),
    )

    assert told == shredded
    assert entities.names(told) == {}


@pytest.mark.spec("A07")
@pytest.mark.spec_part("A12")
def test_an_entity_is_found_by_each_of_its_names_once() -> None:
    row = folded(seen("Márta", aliases=("marta", "Work Marta")))

    assert entities.names(row) == {"marta": "Márta", "work marta": "Work Marta"}


def test_hiding_keeps_every_span_and_none_that_is_open_twice() -> None:
    spans: list[hiding.Span] = []
    for seq, hidden in enumerate([False, True, True, False, True], 1):
        spans = hiding.after(spans, hidden, recorded(seen(), seq))

    assert [hiding.hidden_at(spans, seq) for seq in range(6)] == [False, False, True, True, False, True]
    assert hiding.hidden_at(spans, None)


PERIODS = st.lists(
    st.integers(1, 12).map(lambda month: datetime(2026, month, 1, tzinfo=UTC)), unique=True, max_size=4
).map(lambda ends: _periods(sorted(ends)))


def _periods(ends: Sequence[datetime]) -> tuple[Period, ...]:
    """Disjoint ones; the last is open where the ends are odd in number."""
    return tuple(Period(start, end) for start, end in zip(ends[::2], [*ends[1::2], None], strict=False))


def said(relation_id: UUID, *validity: Validity) -> graph.RelationAsserted:
    return graph.RelationAsserted(
        relation_id=relation_id,
        validity=validity,
        scope=Scope.GLOBAL,
        subject_id=MARTA,
        predicate="likes",
        object_id=None,
        value="tea",
        confidence=1.0,
        valid_from=START,
        single=False,
    )


def changes() -> st.SearchStrategy[list[Event]]:
    held = PERIODS.map(lambda periods: said(TEA, Validity(TEA, (), periods)))
    hidden = st.just(graph.RelationForgotten(relation_id=TEA, purge_at=START))
    shown = st.just(graph.RelationRestored(relation_id=TEA))
    erased = st.just(graph.RelationErased(relation_id=TEA))
    return st.lists(st.one_of(held, held, hidden, shown, erased), min_size=1, max_size=8)


@pytest.mark.spec("X13")
@given(PERIODS, changes())
def test_the_rows_that_are_open_are_what_is_believed_and_each_row_is_closed_once(
    first: tuple[Period, ...], payloads: list[Event]
) -> None:
    rows: dict[UUID, Row] = {}
    table: dict[tuple[object, ...], Row] = {}
    for seq, payload in enumerate([said(TEA, Validity(TEA, (), first)), *payloads], 1):
        event = recorded(payload, seq)
        after = relations.after(rows, event)
        for belief in relations.beliefs(rows.get(TEA), after[TEA], event):
            key = (belief["known_from_seq"], belief["valid_from"])
            assert key not in table or table[key]["known_to_seq"] is None
            table[key] = belief
        rows |= after
        _require_believed(rows[TEA], table.values(), event)


def _require_believed(row: Row, table: object, event: Recorded) -> None:
    opened = {(one["valid_from"], one["valid_to"]) for one in table if one["known_to_seq"] is None}  # type: ignore[attr-defined]
    believed = {
        (
            datetime.fromisoformat(one["valid_from"]),
            datetime.fromisoformat(one["valid_to"]) if one["valid_to"] else None,
        )
        for one in row["periods"]
    }
    assert opened == (believed if row["status"] == "active" else set()), event.seq


def test_an_event_changes_when_other_facts_hold_and_not_what_they_are() -> None:
    old = said(BERLIN, Validity(BERLIN, (), (Period(START),)))
    ends = said(TEA, Validity(TEA, (), (Period(START),)), Validity(BERLIN, (), ()))
    rows = relations.after({}, recorded(old, 1))
    after = relations.after(rows, recorded(ends, 2))

    assert after[BERLIN]["periods"] == []
    assert {name for name in after[BERLIN] if after[BERLIN][name] != rows[BERLIN][name]} == {"periods", "seq"}


def test_facts_that_were_skipped_over_are_not_made_up() -> None:
    observed = graph.RelationObserved(relation_id=TEA, confidence=0.5)

    assert relations.after({}, recorded(observed, 1)) == {}
