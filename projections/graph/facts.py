"""Reads facts at a valid time, as known at the same or another time (X13), or the timeline of all their values.

Without replay: each row of `periods` tells from when until when it was believed. What is not bitemporal reads as it is
now: names, confidence, which entities were merged, and for which entity a text stands.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from operator import itemgetter
from types import NoneType
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, ColumnElement, DateTime, Select, Text, Uuid, and_, any_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import card
from mnemolog.domain.entity import THING
from mnemolog.domain.facts import Period, State
from mnemolog.domain.identity import utc_text
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.memory import VISIBLE, Status
from mnemolog.domain.origin import Origin
from mnemolog.domain.precision import Precision
from mnemolog.domain.predicates import ObjectKind, Predicate, PredicatePolicy
from mnemolog.domain.relation import object_key
from mnemolog.domain.scope import Scope
from mnemolog.domain.scope_merge import ScopedFact, overridden
from mnemolog.domain.sentence import sentence, value_text
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import ask, given, together
from mnemolog.projections.graph import beliefs, reader
from mnemolog.projections.graph.entities import names
from mnemolog.projections.graph.hiding import hidden_at
from mnemolog.projections.graph.relations import closed_beliefs
from mnemolog.projections.graph.tables import periods, relations
from mnemolog.projections.rows import Row, genuine, stored
from mnemolog.projections.visibility import owned, shared

LATELY = timedelta(days=365)
"""What ended longer ago is hardly ever repeated in a diary, a summary or the last turns."""


@dataclass(frozen=True, slots=True)
class Point:
    """What held at `valid_at`, as it was known at `known_at`: a time, a seq of the stream, or None for now.

    With `always`, whatever held at any time, and what was believed until it turned out never to have held; the state
    is that at `valid_at`.
    """

    valid_at: datetime
    known_at: datetime | int | None = None
    always: bool = False

    def state(self, period: Row) -> State:
        if not self.believes(period):
            return State.RETIRED
        if period["valid_from"] > self.valid_at:
            return State.UPCOMING
        return State.ACTIVE if period["valid_to"] is None or period["valid_to"] > self.valid_at else State.ENDED

    def timeline(self, found: Iterable[Row]) -> Sequence[Row]:
        """The periods of one fact that were believed last: of each start its last end, and none within a later one."""
        believed: dict[datetime, Row] = {}
        retired: dict[datetime, Row] = {}
        for one in sorted(found, key=itemgetter("known_from_seq")):
            (believed if self.believes(one) else retired)[one["valid_from"]] = one
        spans = [Period(one["valid_from"], one["valid_to"]) for one in believed.values()]
        left = [one for start, one in retired.items() if not any(span.holds_at(start) for span in spans)]
        return [*believed.values(), *left]

    def believes(self, period: Row) -> bool:
        until = period["known_to_seq" if isinstance(self.known_at, int) else "known_to"]
        return until is None or (self.known_at is not None and until > self.known_at)


async def facts(
    connection: AsyncConnection,
    viewer: Viewer,
    point: Point,
    predicates: PredicatePolicy,
    about: Collection[UUID] | None = None,
    *,
    predicate: Collection[str] | None = None,
    texts: Collection[str] | None = None,
    where: Sequence[ColumnElement[bool]] = (),
) -> Sequence[Row]:
    """The facts that an agent may see, in the order of A §6.4; with `about`, those of these entities, at either end.

    `predicate`: only those with one of these predicates. `texts`: only those whose object is one of these texts, in the
    form in which names are compared. `where`: further conditions on relations and their periods.

    Facts about a merged entity are facts about its survivor. `overridden_by` is the fact of another scope that takes
    precedence, if any (A09). For a `point` that is `always`, the timelines: one row for each time that a value held,
    by subject and predicate, the oldest first. Facts that were deleted by then are left out.
    """
    read = _Reading(connection, viewer, point, predicates)
    kin, narrowed = (None, _Narrowed()) if about is None else await read.about(about)
    narrowed = replace(narrowed, where=where)
    if predicate is not None:
        narrowed = narrowed.by(_with_predicate, predicates=list(predicate))
    if texts is not None:
        narrowed = narrowed.by(_with_text, texts=list(texts))
    found = await read.rows(narrowed)
    if kin is not None:
        found = [row for row in found if not kin.isdisjoint(row["ends"])]
    if point.always:
        return sorted((_fact(row, predicates, None) for row in found), key=_in_time)
    rivals = found if kin is None and not where else await read.slots_of(found)
    distinct = _distinct(rivals)
    winners = overridden([one for one, _ in distinct], predicates)
    wanted = {row["relation_id"] for row in found}
    shown = [_fact(row, predicates, winners.get(one.relation_id)) for one, row in distinct if one.relation_id in wanted]
    return sorted(shown, key=_priority)


async def former(
    connection: AsyncConnection,
    viewer: Viewer,
    point: Point,
    predicates: PredicatePolicy,
    subject_ids: Collection[UUID],
    names: Collection[str],
    where: Sequence[ColumnElement[bool]] = (),
) -> Sequence[Row]:
    """The facts about these subjects that have ended, with one of these predicates."""
    same = (
        _Narrowed(where=where).by(_with_subject, subjects=list(subject_ids)).by(_with_predicate, predicates=list(names))
    )
    read = _Reading(connection, viewer, replace(point, always=True), predicates)
    rows = await read.rows(same.by(_ended, valid_at=point.valid_at))
    return [_fact(row, predicates, None) for row in rows if row["state"] is State.ENDED]


async def ended(
    connection: AsyncConnection,
    viewer: Viewer,
    point: Point,
    predicates: PredicatePolicy,
    about: Collection[UUID],
    where: Sequence[ColumnElement[bool]] = (),
) -> Sequence[Row]:
    """The facts with one of these entities at either end that have ended, the oldest first."""
    read = _Reading(connection, viewer, replace(point, always=True), predicates)
    kin, narrowed = await read.about(about)
    rows = await read.rows(replace(narrowed, where=where).by(_ended, valid_at=point.valid_at))
    over = (row for row in rows if row["state"] is State.ENDED and not kin.isdisjoint(row["ends"]))
    return sorted((_fact(row, predicates, None) for row in over), key=_in_time)


async def ended_lately(
    connection: AsyncConnection,
    viewer: Viewer,
    point: Point,
    predicates: PredicatePolicy,
    names: Collection[str],
    within: timedelta = LATELY,
) -> Sequence[Row]:
    """The facts about anybody, with one of these predicates, that have ended and do not hold again, the last first."""
    read = _Reading(connection, viewer, replace(point, always=True), predicates)
    narrowed = _Narrowed().by(_with_predicate, predicates=list(names)).by(_ended, valid_at=point.valid_at)
    rows = await read.rows(narrowed.by(_ended_since, since=point.valid_at - within))
    ended = [row for row in rows if row["state"] is State.ENDED]
    held = {stated(_fact(row, predicates, None)) for row in await read.slots_of(ended) if row["state"] is State.ACTIVE}
    gone = [fact for row in ended if stated(fact := _fact(row, predicates, None)) not in held]
    return sorted(gone, key=itemgetter("valid_to", "relation_id"), reverse=True)


def stated(fact: Row) -> tuple[object, ...]:
    """What a fact states, whenever it held."""
    return fact["subject_id"], fact["predicate"], fact_value(fact)


async def outlived(
    connection: AsyncConnection,
    viewer: Viewer,
    point: Point,
    predicates: PredicatePolicy,
    said: Mapping[str, datetime],
) -> Mapping[str, tuple[Sequence[Row], Sequence[Row]]]:
    """Of messages, given with when they were said: the facts that they stated and that no longer hold; the others."""
    told = _Narrowed().by(_told, turn_ids=list(said))
    over, lasting = dict[str, list[Row]](), dict[str, list[Row]]()
    for fact in await _Reading(connection, viewer, replace(point, always=True), predicates).rows(told):
        for id_ in said.keys() & set(fact["source_turn_ids"]):
            # It lasts also if this message told of its end.
            ended = fact["state"] is State.RETIRED or (fact["state"] is State.ENDED and fact["valid_to"] > said[id_])
            (over if ended else lasting).setdefault(id_, []).append(_fact(fact, predicates, None))
    return {id_: (facts, lasting.get(id_, ())) for id_, facts in over.items()}


def fact_value(fact: Mapping[str, Any]) -> str:
    """The other end of a fact, or its value, in plain words."""
    return str(fact["object"]) if fact["object"] is not None else value_text(fact["value"])


def fact_sentence(fact: Mapping[str, Any]) -> str:
    """A fact in plain words."""
    return sentence(fact["subject"], fact["predicate"], fact_value(fact))


def learned() -> ColumnElement[datetime]:
    """When it was said that a fact holds."""
    return func.coalesce(periods.c.learned_at, periods.c.known_from)


def on_card(about: Iterable[Row]) -> Sequence[Row]:
    """The first facts of an entity, of those that hold, are not overridden, nor from outside."""
    held = (fact for fact in about if fact["state"] is State.ACTIVE and fact["overridden_by"] is None)
    return list(islice((fact for fact in held if not Origin(fact["origin"]).external), card.TOP_FACTS))


def entity_card(entity: Row, about: Iterable[Row]) -> str:
    """The first facts of an entity in one line (D06)."""
    lines = (_line(entity, fact) for fact in on_card(about))
    return card.card(card.reference(entity["category"], entity["name"]), lines)


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """Which relations and periods are read: conditions with parameters that `values` names, and any others."""

    conditions: tuple[Callable[[], ColumnElement[bool]], ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    where: Sequence[ColumnElement[bool]] = ()

    def by(self, condition: Callable[[], ColumnElement[bool]], **values: Any) -> "_Narrowed":
        return replace(self, conditions=(*self.conditions, condition), values={**self.values, **values})


def _about() -> ColumnElement[bool]:
    kin, column = any_(given("kin", ARRAY(Uuid()))), relations.c
    return or_(column.subject_id == kin, column.object_id == kin, column.named == any_(given("called", ARRAY(Text()))))


def _with_subject() -> ColumnElement[bool]:
    return relations.c.subject_id == any_(given("subjects", ARRAY(Uuid())))


def _with_predicate() -> ColumnElement[bool]:
    return relations.c.predicate == any_(given("predicates", ARRAY(Text())))


def _with_text() -> ColumnElement[bool]:
    return relations.c.named == any_(given("texts", ARRAY(Text())))


def _told() -> ColumnElement[bool]:
    told: ColumnElement[bool] = relations.c.source_turn_ids.overlap(given("turn_ids", ARRAY(Text())))
    return told


def _ended() -> ColumnElement[bool]:
    return periods.c.valid_to <= given("valid_at", DateTime(timezone=True))


def _ended_since() -> ColumnElement[bool]:
    return periods.c.valid_to > given("since", DateTime(timezone=True))


def _recorded(known: type) -> list[ColumnElement[bool]]:
    """The periods that were believed by then, including those that no longer were."""
    if known is NoneType:
        return []
    if known is int:
        return [periods.c.known_from_seq <= _known_at(known)]
    return [or_(relations.c.retold.is_not(None), learned() <= _known_at(known))]


def _active(known: type) -> list[ColumnElement[bool]]:
    """The periods that held and were believed; of a time, those that may have been, as their ends depend on others."""
    column, at = periods.c, given("valid_at", DateTime(timezone=True))
    begun = column.valid_from <= at
    if known is datetime:
        return [begun, *_recorded(known)]
    return [begun, or_(column.valid_to.is_(None), column.valid_to > at), *_recorded(known), _believed(known)]


def _believed(known: type) -> ColumnElement[bool]:
    """The periods that were not yet known to be wrong; one of a fact that is deleted was believed until then."""
    until = periods.c.known_to if known is datetime else periods.c.known_to_seq
    return until.is_(None) if known is NoneType else or_(until.is_(None), until > _known_at(known))


def _known_at(known: type) -> ColumnElement[Any]:
    return given("known_at", BigInteger() if known is int else DateTime(timezone=True))


def _periods(
    viewer: Viewer, known: type, always: bool, conditions: Sequence[Callable[[], ColumnElement[bool]]]
) -> Select[Any]:
    """The periods of relations as known at a seq, at a time or now, by the type of `known_at`, and the relations."""
    found = [relations.c.status != Status.PURGED]
    if always:
        found += [*_recorded(known), or_(relations.c.status.in_(sorted(VISIBLE)), _believed(known))]
    else:
        found += _active(known)
    return _all_periods(viewer).where(*(one() for one in conditions), *found)


def _slots(viewer: Viewer) -> Select[Any]:
    """All periods ever believed about some subjects, with some predicates."""
    return _all_periods(viewer).where(_with_subject(), _with_predicate(), relations.c.status != Status.PURGED)


def _all_periods(viewer: Viewer) -> Select[Any]:
    key = [relations.c[one.name] == periods.c[one.name] for one in relations.primary_key.columns]
    seen = (owned(periods, viewer), shared(relations, viewer))
    return select(*stored(periods), *stored(relations)).join(relations, and_(*key)).where(*seen)


@dataclass(frozen=True, slots=True)
class _Reading:
    connection: AsyncConnection
    viewer: Viewer
    point: Point
    predicates: PredicatePolicy

    async def about(self, entity_ids: Collection[UUID]) -> tuple[frozenset[UUID], _Narrowed]:
        """These entities with all that were merged into them, and the relations with one of them at either end.

        By id, or by a name that a text stands for.
        """
        kin, rows = await together(
            reader.kin(self.connection, self.viewer, entity_ids),
            reader.by_ids(self.connection, self.viewer, entity_ids),
        )
        merged = await reader.by_ids(self.connection, self.viewer, kin.difference(entity_ids))
        called = {key for row in (*rows, *merged) for key in names(row)}
        return kin, _Narrowed().by(_about, kin=list(kin), called=list(called))

    async def slots_of(self, found: Sequence[Row]) -> Sequence[Row]:
        """All facts with the same subjects and predicates, which may contradict these facts."""
        if not found:
            return []
        subjects = await reader.kin(self.connection, self.viewer, {row["subject"]["entity_id"] for row in found})
        predicates = {row["predicate"] for row in found}
        same = _Narrowed().by(_with_subject, subjects=list(subjects))
        return await self.rows(same.by(_with_predicate, predicates=list(predicates)))

    async def rows(self, narrowed: _Narrowed) -> Sequence[Row]:
        """Relations with the period that holds, and the rows of their ends; the most certain first, then the oldest.

        One row a relation, or with `always` one for each of its periods.
        """
        point, held = self.point, dict[UUID, list[Row]]()
        spans, told = await self._read(narrowed)
        named = await self._named(told)
        ends = {row[end] for row in told for end in ("subject_id", "object_id") if row[end]}
        ends |= set(named.values())
        rows = {row["entity_id"]: row for row in await reader.by_ids(self.connection, self.viewer, ends)}
        roots = await reader.survivors(self.connection, self.viewer, list(rows.values()))
        known = {
            id_: root
            for id_, root in roots.items()
            if root["name"] and not any(hidden_at(row["hidden"], point.known_at) for row in (root, rows[id_]))
        }
        if isinstance(point.known_at, datetime):
            spans = await self._known_by(point.known_at, spans, told)
        for one in spans:
            held.setdefault(one["relation_id"], []).append(one)
        found = []
        for row in told:
            id_ = row["relation_id"]
            stands_for = named.get(id_)
            bound = {**row, "object_id": stands_for, "value": None} if stands_for else row
            if (
                id_ in held
                and bound["subject_id"] in known
                and (bound["object_id"] is None or bound["object_id"] in known)
            ):
                for span in point.timeline(held[id_]) if point.always else held[id_][-1:]:
                    found.append({**bound, **_dates(span), "state": point.state(span), **_between(bound, known)})
        return sorted(found, key=lambda row: (-row["confidence"], row["created_at"], row["relation_id"]))

    async def _read(self, narrowed: _Narrowed) -> tuple[Sequence[Row], Sequence[Row]]:
        """The periods, and the relation of each, once."""
        point = self.point
        at = {} if point.always else {"valid_at": point.valid_at}
        known = {} if point.known_at is None else {"known_at": point.known_at}
        values = {**at, **known, **narrowed.values}
        kind: type = NoneType if point.known_at is None else int if isinstance(point.known_at, int) else datetime
        shape = (kind, point.always, narrowed.conditions)
        found: Sequence[Sequence[Any]]
        if narrowed.where:
            statement = _periods(self.viewer, *shape).where(*narrowed.where)
            found = (await self.connection.execute(statement.params(values))).all()
        else:
            found = await ask(self.connection, self.viewer, _periods, *shape, **values)
        spans, told = self._genuine(found)
        return (spans if kind is int else _not_retold(spans, told)), told

    def _genuine(self, found: Sequence[Sequence[Any]]) -> tuple[Sequence[Row], Sequence[Row]]:
        width = len(stored(periods))
        spans = genuine(self.connection, periods, [one[:width] for one in found])
        told = {span["relation_id"]: one[width:] for span, one in zip(spans, found, strict=True)}
        return spans, genuine(self.connection, relations, told.values())

    async def _known_by(self, time: datetime, spans: Sequence[Row], told: Sequence[Row]) -> Sequence[Row]:
        """These periods as known at a time, which depends on all values of their subjects and predicates."""
        roots = await self._roots(told)
        subjects = await reader.kin(self.connection, self.viewer, set(roots.values()))
        values = {"subjects": list(subjects), "predicates": list({row["predicate"] for row in told})}
        rows, facts = self._genuine(await ask(self.connection, self.viewer, _slots, **values))
        rows = _not_retold(rows, facts)
        retold = {row["relation_id"]: closed_beliefs(row) for row in facts if row["retold"]}
        roots = await self._roots(facts)
        slot_of: dict[UUID, tuple[Any, ...]] = {
            row["relation_id"]: (row["predicate"], row["scope"], row["agent_id"], roots[row["relation_id"]])
            for row in facts
        }
        slots: dict[Hashable, list[Row]] = {}
        for row in rows:
            slots.setdefault(slot_of[row["relation_id"]], []).append(row)
        wanted = {(span["relation_id"], span["valid_from"]) for span in spans}
        found = list[Row]()
        for slot in slots.values():
            if again := retold.keys() & {row["relation_id"] for row in slot}:
                closed = [row for id_ in again for row in retold[id_]]
                found += beliefs.held([*closed, *slot], time)
                continue
            predicate, *_ = slot_of[slot[0]["relation_id"]]
            found += beliefs.believed(slot, time, single=self.predicates.rule(predicate).single)
            found += beliefs.wrong(slot, time)
        held = (row for row in found if self.point.always or self.point.state(row) is State.ACTIVE)
        return [row for row in held if (row["relation_id"], row["valid_from"]) in wanted]

    async def _roots(self, facts: Sequence[Row]) -> Mapping[UUID, UUID]:
        """The entity that each fact is about, after merges."""
        rows = await reader.by_ids(self.connection, self.viewer, {row["subject_id"] for row in facts})
        survivors = await reader.survivors(self.connection, self.viewer, rows)
        found: dict[UUID, UUID] = {id_: row["entity_id"] for id_, row in survivors.items()}
        return {row["relation_id"]: found.get(row["subject_id"]) or row["subject_id"] for row in facts}

    async def _named(self, rows: Iterable[Row]) -> Mapping[UUID, UUID]:
        """The entities for which the objects of facts stand, where a text is the name of only one."""
        texts = [row for row in rows if row["named"] and self._rule(row).object is not ObjectKind.LITERAL]
        wanted = {row["named"] for row in texts}
        borne = await reader.bearers(self.connection, self.viewer, wanted) if wanted else {}
        found: dict[UUID, UUID] = {}
        for row in texts:
            fits = [one for one in borne.get(row["named"], ()) if _fits(one, row, self._rule(row).category)]
            if len(fits) == 1:
                found[row["relation_id"]] = fits[0]["entity_id"]
        return found

    def _rule(self, row: Row) -> Predicate:
        return self.predicates.rule(row["predicate"])


def _not_retold(spans: Sequence[Row], told: Iterable[Row]) -> Sequence[Row]:
    """The periods but those of before something was told late that changed what had been believed."""
    since = {row["relation_id"]: row["retold"]["seq"] for row in told if row["retold"]}
    return [one for one in spans if one["known_from_seq"] >= since.get(one["relation_id"], 0)] if since else spans


def _fits(entity: Row, relation: Row, category: str) -> bool:
    """Whether a fact in this scope may be about an entity, of the category that its predicate asks for."""
    within = entity["scope"] == Scope.GLOBAL or entity["agent_id"] == relation["agent_id"]
    return within and (THING in (category, entity["category"]) or entity["category"] == category)


def _between(relation: Row, ends: Mapping[UUID, Row]) -> Row:
    subject, thing = ends[relation["subject_id"]], ends.get(relation["object_id"])
    return {"subject": subject, "object": thing, "ends": [one["entity_id"] for one in (subject, thing) if one]}


def _dates(period: Row) -> Row:
    """When it held, when that was learned, and when it turned out to be wrong, if it did."""
    dates = {name: period[name] for name in ("valid_from", "valid_to", "known_to")}
    return {**dates, "known_from": period["learned_at"] or period["known_from"]}


def _distinct(rows: Iterable[Row]) -> Sequence[tuple[ScopedFact, Row]]:
    """Facts that a merge of entities made identical are shown once, as the first of them."""
    first: dict[Hashable, tuple[ScopedFact, Row]] = {}
    for row in rows:
        value = row["object"]["entity_id"] if row["object"] else object_key(row["value"])
        one = ScopedFact(
            row["relation_id"],
            Scope(row["scope"]),
            row["subject"]["entity_id"],
            row["predicate"],
            value,
            external=Origin(row["origin"]).external,
        )
        first.setdefault((one.scope, one.subject_id, one.predicate, one.object, one.external), (one, row))
    return list(first.values())


_SHOWN = ("user_id", "relation_id", "scope", "agent_id", "predicate", "value", "metadata", "confidence")
_DATES = ("valid_from", "valid_to", "known_from", "known_to", "created_at", "updated_at")
_SOURCES = ("memory_id", "origin", "source_turn_ids", "seq")


def _fact(row: Row, predicates: PredicatePolicy, winner: UUID | None) -> Row:
    subject, thing = row["subject"], row["object"]
    return {
        **{name: row[name] for name in (*_SHOWN, *_DATES, *_SOURCES)},
        "subject_id": subject["entity_id"],
        "subject": subject["name"],
        "object_id": thing["entity_id"] if thing else None,
        "object": thing["name"] if thing else None,
        **{f"{end}_precision": _precision(row, row[end]) for end in ("valid_from", "valid_to")},
        "state": row["state"],
        # What comes from outside is never critical, even if the policy makes its predicate so later.
        "critical": predicates.rule(row["predicate"]).critical and not Origin(row["origin"]).external,
        "overridden_by": winner,
    }


def _precision(row: Row, at: datetime | None) -> Precision | None:
    """How precisely a date is known, if not to the day."""
    found = row["precisions"].get(utc_text(at)) if at and row["precisions"] else None
    return Precision(found) if found else None


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


def _in_time(fact: Row) -> tuple[Any, ...]:
    """Timelines, by subject and predicate, the oldest value first."""
    names_first = fact["subject"], fact["subject_id"], fact["predicate"]
    return (*names_first, fact["valid_from"], fact["known_from"], fact["relation_id"])


def _line(entity: Row, fact: Row) -> str:
    """Without the subject if that is the entity: `lives in Berlin`; in full if it is the object: `Ana knows Marta`."""
    told = fact_sentence(fact)
    own = fact["subject_id"] == entity["entity_id"]
    return _AFTER_SUBJECT.sub("", told.removeprefix(fact["subject"])) if own else told


_AFTER_SUBJECT = lazy_compile(r"^(?:'s?)? ")
