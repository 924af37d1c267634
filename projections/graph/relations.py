"""Applies events to rows of relations and their periods. Pure: the projector reads and writes the rows.

A relation's row holds in `periods` what is believed of it now, and since when. So a change of belief closes the rows
of the table `periods` that it ends and opens those that are new, without reading any of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.domain.facts import Validity
from mnemolog.domain.identity import utc_text
from mnemolog.domain.memory import VISIBLE, Status
from mnemolog.domain.relation import Relation
from mnemolog.domain.scope import Scope
from mnemolog.events import graph
from mnemolog.events.envelope import Recorded
from mnemolog.events.graph_fold import RELATION
from mnemolog.projections.owner import OWNER, owner_row
from mnemolog.projections.rows import Row

Rows = Mapping[UUID, Row]
Span = Mapping[str, str | None]


def touched(event: Recorded) -> frozenset[UUID]:
    """The relations whose rows an event may change."""
    return frozenset(RELATION.touched(event.payload))


def after(rows: Rows, event: Recorded) -> dict[UUID, Row]:
    """The rows that an event changes. A missing relation, whose event was skipped, is ignored."""
    known = RELATION.evolve({id_: _as_relation(row) for id_, row in rows.items()}, event.payload)
    spans_of = {one.relation_id: _spans(one) for one in graph.validity_of(event.payload)}
    found = {id_: {**(rows.get(id_) or _birth(one, event)), **_of_relation(one)} for id_, one in known.items()}
    return {
        id_: _believed(row, spans_of[id_] if id_ in spans_of else row["periods"], event) for id_, row in found.items()
    }


def beliefs(before: Row | None, after: Row, event: Recorded) -> Sequence[Row]:
    """The rows of `periods` that an event closes and opens when it changes a relation's row."""
    had, has = (_open(row) for row in (before, after))
    closed = {"known_to": event.recorded_at, "known_to_seq": event.seq}
    ended = [{**_belief(after, span), **closed} for span in had if span not in has]
    return [*ended, *(_belief(after, span) for span in has if span not in had)]


def _birth(relation: Relation, event: Recorded) -> Row:
    """The columns of a relation that never change, and no periods."""
    assert isinstance(event.payload, graph.RelationAsserted)
    return {
        **owner_row(event),
        "relation_id": relation.relation_id,
        "scope": relation.scope,
        "agent_id": relation.agent_id,
        "subject_id": relation.subject_id,
        "object_id": relation.object_id,
        "memory_id": event.payload.memory_id,
        "source_turn_ids": list(event.payload.source_turn_ids),
        "periods": [],
        "created_at": event.recorded_at,
    }


def _of_relation(relation: Relation) -> Row:
    """The columns that follow the domain relation."""
    return {
        "predicate": relation.predicate,
        "value": relation.value,
        "metadata": dict(relation.metadata),
        "confidence": relation.confidence,
        "status": relation.status,
        "purge_at": relation.purge_at,
    }


def _as_relation(row: Row) -> Relation:
    """A row as a domain relation, without its statements, which are in `periods`."""
    return Relation(
        row["relation_id"],
        Scope(row["scope"]),
        row["agent_id"],
        row["subject_id"],
        row["predicate"],
        row["object_id"],
        row["value"],
        single=False,  # Only deciders need it, and no row keeps it.
        confidence=row["confidence"],
        validity=Validity(row["relation_id"]),
        metadata=row["metadata"],
        status=Status(row["status"]),
        purge_at=row["purge_at"],
    )


def _believed(row: Row, spans: Iterable[Span], event: Recorded) -> Row:
    """A row with these periods, each known since it was first believed; hidden relations are not believed."""
    shown = row["status"] in VISIBLE
    since = {_span(one): one for one in row["periods"] if (one["known_from"] is not None) == shown}
    at, seq = (utc_text(event.recorded_at), event.seq) if shown else (None, None)
    fresh = {"known_from": at, "known_from_seq": seq}
    periods = [since.get(_span(one), {**_dates(one), **fresh}) for one in spans]
    return {**row, "periods": periods, "updated_at": event.recorded_at, "seq": event.seq}


def _spans(validity: Validity) -> list[Span]:
    return [
        {"valid_from": utc_text(one.valid_from), "valid_to": utc_text(one.valid_to) if one.valid_to else None}
        for one in validity.periods
    ]


def _dates(span: Span) -> Span:
    return {name: span[name] for name in ("valid_from", "valid_to")}


def _span(span: Span) -> tuple[str | None, str | None]:
    return span["valid_from"], span["valid_to"]


def _open(row: Row | None) -> list[Span]:
    return [one for one in row["periods"] if one["known_from"] is not None] if row else []


def _belief(relation: Row, span: Mapping[str, Any]) -> Row:
    dates = {name: datetime.fromisoformat(at) if (at := span[name]) else None for name in _DATES}
    key = {name: relation[name] for name in (*OWNER, "relation_id")}
    return {**key, "known_from_seq": span["known_from_seq"], **dates, "known_to": None, "known_to_seq": None}


_DATES = ("valid_from", "valid_to", "known_from")
