"""Reads facts at a valid time, as known at the same or another time (X13); one row per relation.

Without replay: each row of `periods` tells from when until when it was believed. What is not bitemporal reads as it is
now: names, confidence, and which entities were merged.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import card
from mnemolog.domain.memory import VISIBLE, Status
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.relation import value_key
from mnemolog.domain.scope import Scope
from mnemolog.domain.scope_merge import ScopedFact, overridden
from mnemolog.domain.sentence import value_text
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.graph import reader
from mnemolog.projections.graph.hiding import hidden_at
from mnemolog.projections.graph.reader import one_of
from mnemolog.projections.graph.tables import periods, relations
from mnemolog.projections.owner import OWNER
from mnemolog.projections.rows import Key, Row, fetch, load, stored
from mnemolog.projections.visibility import owned, shared


class State(StrEnum):
    """The state of a fact at a point in time."""

    ACTIVE = "active"
    UPCOMING = "upcoming"
    ENDED = "ended"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Point:
    """What held at `valid_at`, as the log had it at `known_at`: a time, a seq of the stream, or None for now."""

    valid_at: datetime
    known_at: datetime | int | None = None

    def active(self) -> ColumnElement[bool]:
        """The periods that held and were believed."""
        column = periods.c
        valid = and_(column.valid_from <= self.valid_at, _open_or_beyond(column.valid_to, self.valid_at))
        if self.known_at is None:
            return and_(valid, column.known_to_seq.is_(None))
        by_seq = isinstance(self.known_at, int)
        until = column.known_to_seq if by_seq else column.known_to
        return and_(valid, self.recorded(), _open_or_beyond(until, self.known_at))

    def recorded(self) -> ColumnElement[bool]:
        """The periods that were believed by then, including those that no longer were."""
        if self.known_at is None:
            return true()
        since = periods.c.known_from_seq if isinstance(self.known_at, int) else periods.c.known_from
        return since <= self.known_at

    def state(self, period: Row) -> State:
        if not self.believes(period):
            return State.RETIRED
        if period["valid_from"] > self.valid_at:
            return State.UPCOMING
        return State.ACTIVE if period["valid_to"] is None or period["valid_to"] > self.valid_at else State.ENDED

    def last(self, period: Row) -> tuple[bool, int, datetime]:
        """Sort key for the periods of a fact: believed ones come last."""
        believed = self.believes(period)
        return believed, 0 if believed else period["known_to_seq"], period["valid_from"]

    def believes(self, period: Row) -> bool:
        until = period["known_to_seq" if isinstance(self.known_at, int) else "known_to"]
        return until is None or (self.known_at is not None and until > self.known_at)


def _open_or_beyond(end: ColumnElement[Any], at: datetime | int) -> ColumnElement[bool]:
    return or_(end.is_(None), end > at)


async def facts(
    connection: AsyncConnection,
    viewer: Viewer,
    point: Point,
    predicates: PredicatePolicy,
    about: Collection[UUID] | None = None,
    *,
    predicate: Collection[str] | None = None,
    inactive: bool = False,
) -> Sequence[Row]:
    """The facts that an agent may see, in the order of A §6.4; with `about`, those of these entities, at either end.

    `predicate`: only those with one of these predicates.

    Facts about a merged entity are facts about its survivor. `overridden_by` is the fact of another scope that takes
    precedence, if any (A09). `inactive` adds facts that have ended, were retired or have not begun, but not deleted
    ones.
    """
    conditions = [] if about is None else [_about(await reader.kin(connection, viewer, about))]
    if predicate is not None:
        conditions.append(one_of(relations.c.predicate, predicate))
    narrowed = and_(*conditions) if conditions else None
    found = await _at(connection, viewer, point, narrowed)
    rivals = found if about is None else await _slots_of(connection, viewer, point, found)
    distinct = _distinct(rivals)
    winners = overridden([_scoped(row) for row in distinct], predicates)
    wanted = {row["relation_id"] for row in found}
    shown = [
        _fact(row, predicates, winners.get(row["relation_id"])) for row in distinct if row["relation_id"] in wanted
    ]
    if inactive:
        others = await _at(connection, viewer, point, narrowed, inactive=True)
        shown += [_fact(row, predicates, None) for row in others if row["relation_id"] not in wanted]
    return sorted(shown, key=_priority)


def entity_card(entity: Row, about: Iterable[Row]) -> str:
    """The first facts of an entity in one line (D06), without overridden ones."""
    lines = (_line(entity, fact) for fact in about if fact["overridden_by"] is None)
    return card.card(card.reference(entity["category"], entity["name"]), lines)


def _about(entity_ids: Collection[UUID]) -> ColumnElement[bool]:
    return or_(*(one_of(end, entity_ids) for end in (relations.c.subject_id, relations.c.object_id)))


async def _slots_of(connection: AsyncConnection, viewer: Viewer, point: Point, found: Sequence[Row]) -> Sequence[Row]:
    """All facts with the same subjects and predicates, which may contradict these facts."""
    if not found:
        return []
    subjects = await reader.kin(connection, viewer, {row["subject"]["entity_id"] for row in found})
    predicates = {row["predicate"] for row in found}
    same = one_of(relations.c.subject_id, subjects) & one_of(relations.c.predicate, predicates)
    return await _at(connection, viewer, point, same)


async def _at(
    connection: AsyncConnection,
    viewer: Viewer,
    point: Point,
    narrowed: ColumnElement[bool] | None,
    *,
    inactive: bool = False,
) -> Sequence[Row]:
    """Relations with the period that holds, and the rows of their ends; the most certain first, then the oldest.

    With `inactive`, the last period that was believed, whether it holds or not.
    """
    key = [relations.c[column.name] == periods.c[column.name] for column in relations.primary_key.columns]
    statement = (
        select(*stored(periods))
        .join(relations, and_(*key))
        .where(owned(periods, viewer), shared(relations, viewer), true() if narrowed is None else narrowed)
    )
    if inactive:
        statement = statement.where(point.recorded(), relations.c.status.in_(sorted(VISIBLE)))
    else:
        statement = statement.where(point.active(), relations.c.status != Status.PURGED)
    found_periods = await fetch(connection, periods, statement)
    held = {_key(row): row for row in sorted(found_periods, key=point.last)}
    rows = await load(connection, relations, held.keys())
    ends = {row[end] for row in rows.values() for end in ("subject_id", "object_id") if row[end]}
    known = await _ends(connection, viewer, ends, point)
    found = [
        {**row, **_dates(held[key]), "state": point.state(held[key]), **_between(row, known)}
        for key, row in rows.items()
        if _is_shown(row, known)
    ]
    return sorted(found, key=lambda row: (-row["confidence"], row["created_at"], row["relation_id"]))


async def _ends(
    connection: AsyncConnection, viewer: Viewer, entity_ids: Collection[UUID], point: Point
) -> Mapping[UUID, Row]:
    """The current rows of these entities by original id, without those erased, or hidden at that point."""
    rows = {row["entity_id"]: row for row in await reader.by_ids(connection, viewer, entity_ids)}
    roots = await reader.survivors(connection, viewer, list(rows.values()))
    return {
        id_: root
        for id_, root in roots.items()
        if root["name"] and not any(hidden_at(row["hidden"], point.known_at) for row in (root, rows[id_]))
    }


def _is_shown(relation: Row, ends: Mapping[UUID, Row]) -> bool:
    """Whether both ends may be shown."""
    return relation["subject_id"] in ends and (relation["object_id"] is None or relation["object_id"] in ends)


def _between(relation: Row, ends: Mapping[UUID, Row]) -> Row:
    return {"subject": ends[relation["subject_id"]], "object": ends.get(relation["object_id"])}


def _key(row: Row) -> Key:
    return (*(row[name] for name in OWNER), row["relation_id"])


def _dates(period: Row) -> Row:
    return {name: period[name] for name in ("valid_from", "valid_to", "known_from", "known_to")}


def _distinct(rows: Iterable[Row]) -> Sequence[Row]:
    """Facts that a merge of entities made identical are shown once, as the first of them."""
    first: dict[ScopedFact, Row] = {}
    for row in rows:
        first.setdefault(replace(_scoped(row), relation_id=UUID(int=0)), row)
    return list(first.values())


def _scoped(row: Row) -> ScopedFact:
    value = row["object"]["entity_id"] if row["object"] else value_key(row["value"])
    return ScopedFact(row["relation_id"], Scope(row["scope"]), row["subject"]["entity_id"], row["predicate"], value)


_SHOWN = ("user_id", "relation_id", "scope", "agent_id", "predicate", "value", "metadata", "confidence")
_DATES = ("valid_from", "valid_to", "known_from", "known_to", "created_at", "updated_at")
_SOURCES = ("memory_id", "source_turn_ids", "seq")


def _fact(row: Row, predicates: PredicatePolicy, winner: UUID | None) -> Row:
    subject, thing = row["subject"], row["object"]
    return {
        **{name: row[name] for name in (*_SHOWN, *_DATES, *_SOURCES)},
        "subject_id": subject["entity_id"],
        "subject": subject["name"],
        "object_id": thing["entity_id"] if thing else None,
        "object": thing["name"] if thing else None,
        "state": row["state"],
        "critical": predicates.rule(row["predicate"]).critical,
        "overridden_by": winner,
    }


def _priority(fact: Row) -> tuple[Any, ...]:
    """Active facts first, then the agent's own, critical, certain and new ones (A §6.4)."""
    own, last = fact["scope"] == Scope.AGENT, fact["updated_at"].timestamp()
    return (
        fact["state"] is not State.ACTIVE,
        not own,
        not fact["critical"],
        -fact["confidence"],
        -last,
        fact["relation_id"],
    )


def _line(entity: Row, fact: Row) -> str:
    """As the subject sees it: `lives_in Berlin`; in full if the entity is the object: `Ana knows Marta`."""
    thing = fact["object"] if fact["object"] is not None else value_text(fact["value"])
    phrase = f"{fact['predicate']} {thing}"
    return phrase if fact["subject_id"] == entity["entity_id"] else f"{fact['subject']} {phrase}"
