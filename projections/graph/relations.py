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
from mnemolog.domain.origin import Origin
from mnemolog.domain.precision import Precision
from mnemolog.domain.relation import Relation
from mnemolog.domain.retelling import Belief, Beliefs
from mnemolog.domain.scope import Scope
from mnemolog.events import graph
from mnemolog.events.envelope import Recorded
from mnemolog.events.graph_fold import RELATION
from mnemolog.projections.graph.names import indexed_name
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
    retold = graph.retold_by(event.payload)
    return {
        id_: _retold(row, retold[id_], spans_of[id_], event)
        if id_ in retold
        else _believed(row, spans_of[id_] if id_ in spans_of else row["periods"], event)
        for id_, row in found.items()
    }


def beliefs(before: Row | None, after: Row, event: Recorded) -> Sequence[Row]:
    """The rows of `periods` that an event closes and opens when it changes a relation's row."""
    had, has = (_open(row) for row in (before, after))
    ended = (_belief(after, span) for span in had if span not in has)
    closed = [{**row, "known_to": max(row["known_from"], _told_at(event)), "known_to_seq": event.seq} for row in ended]
    over = _over(after) if _is_retold(after, event) else ()
    return [*closed, *(_belief(after, span) for span in has if span not in had), *over]


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
        "thread_id": event.meta.thread_id,
        "periods": [],
        "retold": None,
        "created_at": event.recorded_at,
    }


def _of_relation(relation: Relation) -> Row:
    """The columns that follow the domain relation."""
    same = ("predicate", "value", "confidence", "status", "purge_at", "origin")
    return {
        **{name: getattr(relation, name) for name in same},
        "named": (indexed_name(relation.name) or None) if relation.name else None,
        "metadata": dict(relation.metadata),
        "precisions": {utc_text(at): precision.value for at, precision in relation.precisions.items()} or None,
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
        literal=row["named"] is None,
        origin=Origin(row["origin"]),
        precisions={datetime.fromisoformat(at): Precision(one) for at, one in (row["precisions"] or {}).items()},
    )


def _told_at(event: Recorded) -> datetime:
    """When it was said: when it was recorded, unless the event says otherwise."""
    told_at: datetime | None = getattr(event.payload, "told_at", None)
    return told_at or event.recorded_at


def _believed(row: Row, spans: Iterable[Span], event: Recorded) -> Row:
    """A row with these periods, each known since it was first believed; hidden relations are not believed.

    What was said earlier than something known is known from then on; but what it changes of another fact, not before
    that fact was known itself.
    """
    shown, own = row["status"] in VISIBLE, getattr(event.payload, "relation_id", None) == row["relation_id"]
    known = {_span(one): one for one in row["periods"] if (one["known_from"] is not None) == shown}
    learned = {one["valid_from"]: one.get("learned_at") or one["known_from"] for one in row["periods"]}
    told = utc_text(_told_at(event))
    periods = []
    for one in spans:
        first = learned.get(one["valid_from"]) or told
        at, seq = (told if own else max(told, first), event.seq) if shown else (None, None)
        fresh = {"known_from": at, "known_from_seq": seq, "learned_at": min(first, told) if own and shown else first}
        periods.append(known.get(_span(one)) or {**{name: one[name] for name in ("valid_from", "valid_to")}, **fresh})
    if isinstance(event.payload, graph.RelationObserved) and event.payload.told_at and not event.payload.late:
        periods = _known_earlier(periods, told)
    return {**row, "periods": periods, "updated_at": event.recorded_at, "seq": event.seq}


def _retold(row: Row, told: Beliefs, spans: Iterable[Span], event: Recorded) -> Row:
    """A row with other beliefs than before, as something was told late."""
    known = [_written(one) for one in told.beliefs]
    learned = {one["valid_from"]: one["learned_at"] for one in known}
    believed = {_span(one): one for one in known if one["known_to"] is None} if row["status"] in VISIBLE else {}
    periods = []
    for one in spans:
        held = believed.get(_span(one))
        at, seq = (held["known_from"], event.seq) if held else (None, None)
        fresh = {"known_from": at, "known_from_seq": seq, "learned_at": learned.get(one["valid_from"])}
        periods.append({**{name: one[name] for name in ("valid_from", "valid_to")}, **fresh})
    closed = [one for one in known if one["known_to"] is not None]
    retold = {"seq": event.seq, "closed": closed}
    return {**row, "periods": periods, "retold": retold, "updated_at": event.recorded_at, "seq": event.seq}


def _written(belief: Belief) -> Mapping[str, str | None]:
    return {name: utc_text(at) if (at := getattr(belief, name)) else None for name in (*_DATES, "known_to")}


def _is_retold(row: Row, event: Recorded) -> bool:
    return row["retold"] is not None and row["retold"]["seq"] == event.seq


def closed_beliefs(relation: Row) -> Sequence[Row]:
    """Of a fact of which something was told late: what had been believed of it by then, and is no longer."""
    seq, closed = relation["retold"]["seq"], relation["retold"]["closed"]
    return [
        {
            **_belief(relation, {**one, "known_from_seq": seq}),
            "known_to": datetime.fromisoformat(one["known_to"]),
            "known_to_seq": seq,
        }
        for one in closed
    ]


def _over(relation: Row) -> Sequence[Row]:
    """The last belief of each start that is no longer believed."""
    begun = {datetime.fromisoformat(str(one["valid_from"])) for one in _open(relation)}
    last = {one["valid_from"]: one for one in closed_beliefs(relation)}
    return [one for start, one in last.items() if start not in begun]


def _known_earlier(periods: Sequence[Mapping[str, Any]], told: str) -> list[Mapping[str, Any]]:
    """The periods after the fact was repeated as of an earlier time: the last one begun by then was known then."""
    begun = [place for place, one in enumerate(periods) if one["valid_from"] <= told] or [0]
    changed = list(periods)
    if changed and (one := changed[begun[-1]])["known_from"] is not None:
        first = min(told, one.get("learned_at") or one["known_from"])
        changed[begun[-1]] = {**one, "known_from": min(told, one["known_from"]), "learned_at": first}
    return changed


def _spans(validity: Validity) -> list[Span]:
    return [
        {"valid_from": utc_text(one.valid_from), "valid_to": utc_text(one.valid_to) if one.valid_to else None}
        for one in validity.periods
    ]


def _span(span: Span) -> tuple[str | None, str | None]:
    return span["valid_from"], span["valid_to"]


def _open(row: Row | None) -> list[Span]:
    return [one for one in row["periods"] if one["known_from"] is not None] if row else []


def _belief(relation: Row, span: Mapping[str, Any]) -> Row:
    dates = {name: datetime.fromisoformat(at) if (at := span.get(name)) else None for name in _DATES}
    key = {name: relation[name] for name in (*OWNER, "relation_id")}
    return {**key, "known_from_seq": span["known_from_seq"], **dates, "known_to": None, "known_to_seq": None}


_DATES = ("valid_from", "valid_to", "known_from", "learned_at")
