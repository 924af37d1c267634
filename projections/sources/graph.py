"""Facts and entities as sources of a search."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, union_all

from mnemolog.domain import hydration
from mnemolog.domain.asked import AnswerKind, answer_kind, without_periods
from mnemolog.domain.card import TOP_FACTS, reference
from mnemolog.domain.direct_question import only_of
from mnemolog.domain.doubt import noted
from mnemolog.domain.facts import State
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.origin import Origin
from mnemolog.domain.precision import shown
from mnemolog.domain.predicates import NEXT_TRIP, trip_date_of
from mnemolog.domain.sentence import since_when
from mnemolog.domain.state import Past, state_of
from mnemolog.domain.text import name_key
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import doubts
from mnemolog.projections.asking import together
from mnemolog.projections.doubts import Said
from mnemolog.projections.graph import facts, reader
from mnemolog.projections.graph.hydration import FactHit, Hydration, hydrate, seeds_of, told_sentence
from mnemolog.projections.graph.tables import NAME, entities, relations
from mnemolog.projections.memories.filters import from_where, with_metadata
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.rows import Row
from mnemolog.projections.sources.source import SAID, Asked, Found, Source, hit_of
from mnemolog.projections.visibility import owned, shared

# Facts are relations of the graph; `fact` is a kind of memory.
FACT, ENTITY = "relation", "entity"
RELEVANT = 0.3
"""More than the score of a fact that shares only its entity with the question."""
ELSEWHERE = 0.5
"""The weight of a fact that has the words of a question, but is about none of those whom it is about."""
NAMED_ELSEWHERE = 0.31
"""The score of such a fact at least, if the question names its value: `Can we serve peanuts?`"""
OTHER_TIME = 0.5
"""The weight of a fact that did not hold at the time that a question asks for."""
FORMER = 0.25
"""The weight of a fact that has ended, if the question is about the present and nothing took its place."""
NAMED = 0.9
"""The score of an entity if the question does no more than name it."""


ABROAD = 0.35
"""The score of an entity that a question in another language names."""

READ_WHOLE = 300
"""A graph with so many facts at most is read whole, which takes fewer statements than a read for each hop."""
OF_OTHERS = 50
"""The same if the question is not about the user, about whom most facts are."""


def _holds(viewer: Viewer) -> ColumnElement[int]:
    """How many facts and entities there are, up to one more than are read whole."""
    tables = (relations, entities)
    rows = (
        select(one.c.user_id).where(owned(one, viewer), shared(one, viewer)).limit(READ_WHOLE + 1) for one in tables
    )
    known = union_all(*(one.subquery().select() for one in rows)).subquery()
    return select(func.count()).select_from(known).scalar_subquery()


async def _find(asked: Asked) -> Found:
    """The facts that a question asks for and what they replaced, or the entities that it only names."""
    past, about, where = asked.past, asked.among.filters.entity_ids or None, _where(asked)
    text = without_periods(asked.question.text) if past and past.spans else asked.question.text
    point = replace(asked.point, always=past is not None)
    at = (asked.connection, asked.viewer)
    seeds, known = await together(
        seeds_of(*at, text, asked.entity_ids),
        facts.facts(*at, point, asked.predicates, about, where=where) if _is_read_whole(asked) else _nothing(),
    )
    found = await hydrate(*at, text, seeds, asked.predicates, point, known=known, where=where)
    # `Where do I live?` is not a question about where somebody else lives.
    anchored = bool(found.seeds) or hydration.asks_about_user(asked.text)
    of_home = asked.slot is not None and asked.slot.slot.name == "home"
    beside = "lives_in" if _WITH_WHOM.search(asked.text) else "lives_with" if of_home else ""
    weighed = []
    for one in found.facts:
        elsewhere = (anchored and one.seed is None) or one.row["predicate"] == beside
        least = NAMED_ELSEWHERE if one.hops and one.seed is None else 0.0
        weighed.append(replace(one, score=max(ELSEWHERE * one.score, least)) if elsewhere else one)
    others = _without_own(asked, found, _bound_first(found, weighed))
    relevant = [one for one in _dates_with_events(asked, others) if one.score > RELEVANT]
    if past:
        told = _past(past, relevant)
    elif relevant or not asked.former:
        said = await doubts.of_critical(*at, relevant)
        told = [*(fact_hit(one, said.get(one.id)) for one in relevant), *await _former(asked, relevant)]
        if ended := await _no_longer(asked, about, found, relevant):
            told = [*ended, *(replace(hit, score=ELSEWHERE * hit.score) for hit in told)]
    else:
        told = await _over(asked, about or {one.entity_id for one in found.seeds}, found)
    hits = [*told, *await _only_named(asked, found)]
    named = [one for one in found.seeds if one.said]
    own = [one.said for one in named if name_key(one.name) == asked.own_name and one.said != asked.own_name]
    return Found(hits=hits, named=[one.said for one in named], unborne=found.unborne, called=own)


def _is_read_whole(asked: Asked) -> bool:
    """Whether all facts are read, or all about the entities that it filters by, instead of those of each hop."""
    return bool(asked.among.filters.entity_ids) or asked.held <= (READ_WHOLE if asked.about_user else OF_OTHERS)


async def _nothing() -> None:
    return None


# No place is an answer to it.
_WITH_WHOM = lazy_compile(r"\bwho(?:m|ever)?\b.*\bliv(?:e|es|ing) with\b", re.IGNORECASE)


def _without_own(asked: Asked, found: Hydration, weighed: Sequence[FactHit]) -> Sequence[FactHit]:
    """The facts without what is so of the user, if the question is about somebody who is something to the user.

    Where the user lived does not answer `Where did my cousin Nia live in March?`, and who that cousin is leads to one.
    """
    ties = only_of(asked.text)
    if not ties:
        return weighed
    user = {one.entity_id for one in found.seeds if name_key(one.said) == asked.own_name}
    named = {one.entity_id for one in found.seeds} - user
    ties |= hydration.alike(ties)
    return [
        one
        for one in weighed
        if one.row["subject_id"] not in user
        or one.row["object_id"] in named
        or not ties.isdisjoint(hydration.stems(one.sentence))
    ]


def _bound_first(found: Hydration, weighed: Sequence[FactHit]) -> Sequence[FactHit]:
    """The facts, of which those count less that say of others what one says of just those whom the question names.

    Who else lives there is no answer to `Since when do I live in Berlin?`
    """
    seeds = {one.entity_id for one in found.seeds}
    bound = {one.row["predicate"] for one in weighed if {one.row["subject_id"], one.row["object_id"]} <= seeds}
    return [
        replace(one, score=ELSEWHERE * one.score)
        if one.row["predicate"] in bound and one.row["subject_id"] not in seeds
        else one
        for one in weighed
    ]


def _where(asked: Asked) -> list[ColumnElement[bool]]:
    """The filters that facts have, as conditions."""
    filters = asked.among.filters
    found = asked.among.said(asked.viewer, facts.learned(), relations.c.source_turn_ids, relations.c.thread_id)
    found += from_where(filters, relations.c.origin)
    return [*found, *([] if filters.metadata is None else [with_metadata(filters, relations.c.metadata)])]


def fact_hit(fact: FactHit, said: Said | None = None) -> Hit:
    """A fact in the result of a search, with what was said since that may end it."""
    when = f"{_held(fact.row)}; {noted(said.date, said.text)}" if said else _held(fact.row)
    return _hit(fact.row, when, fact.score, {**fact.parts, "hops": float(fact.hops)})


def former_hit(row: Row) -> Hit:
    """A fact that has ended, where nothing is asked for."""
    return replace(_hit(row, _held(row), 1.0, {}), current=False)


def _held(row: Row) -> str:
    """When it held, or since when it does."""
    until = row["valid_to"] and shown(row["valid_to"], row["valid_to_precision"])
    if row["state"] is State.ENDED:
        return f"{shown(row['valid_from'], row['valid_from_precision'])} to {until}"
    since = since_when(row["valid_from"], row["known_from"], row["valid_from_precision"])
    return f"{since} until {until}" if until else since


def _hit(row: Row, when: str, score: float, parts: Mapping[str, float]) -> Hit:
    return hit_of(
        FACT,
        str(row["relation_id"]),
        "fact",
        told_sentence(row),
        date=row["valid_from"],
        when=when,
        score=score,
        parts=parts,
        details=row,
        origin=Origin(row["origin"]),
    )


def _dates_with_events(asked: Asked, found: Sequence[FactHit]) -> Sequence[FactHit]:
    """If the question is when, a date counts as much as what it is the date of: `rome_trip_date` and `next_trip`."""
    if answer_kind(asked.text) is not AnswerKind.TIME:
        return found
    best = dict[tuple[UUID, str], float]()
    for one in found:
        about = _event(one)
        best[about] = max(one.score, best.get(about, 0.0))
    dates = [replace(one, score=best[_event(one)]) for one in found if one.row["predicate"].endswith("_date")]
    return [*dates, *(one for one in found if not one.row["predicate"].endswith("_date"))]


def _event(one: FactHit) -> tuple[UUID, str]:
    of = trip_date_of(facts.fact_value(one.row)) if one.row["predicate"] == NEXT_TRIP else one.row["predicate"]
    return one.row["subject_id"], state_of(of)


def _past(past: Past, found: Sequence[FactHit]) -> Sequence[Hit]:
    """What held at that time, the last first; then anything else, which counts less, the nearest to that time first."""
    begun = _begun(found)
    named = f" {past.before} "
    began = {
        _slot(one): one.since for one in found if past.before and f" {name_key(facts.fact_value(one.row))} " in named
    }
    hits = list[Hit]()
    in_order = sorted(found, key=lambda one: one.until or one.since, reverse=True)
    for one in sorted(in_order, key=lambda one: past.apart(one.since, None if one.current else one.until)):
        if one.row["state"] in (State.ACTIVE, State.ENDED):
            until = None if one.current else one.until
            replaced = (*_slot(one), one.until) in begun
            fits = not replaced if past.last else past.fits(one.since, until, began.get(_slot(one)))
            hit = fact_hit(one) if fits else fact_hit(replace(one, score=OTHER_TIME * one.score))
            hits.append(replace(hit, current=one.current))
    return hits


def _slot(one: FactHit) -> tuple[UUID, str]:
    return _slot_of(one.row)


def _slot_of(row: Row) -> tuple[UUID, str]:
    return row["subject_id"], row["predicate"]


def _begun(found: Sequence[FactHit]) -> set[tuple[UUID, str, datetime]]:
    """When each value of each predicate began: a value that ends just then was replaced."""
    return {(*_slot(one), one.since) for one in found}


async def _former(asked: Asked, relevant: Sequence[FactHit]) -> Sequence[Hit]:
    """The earlier values of facts: all if their predicate has one value at a time, else those that a value replaced."""
    current = {_slot(one): one for one in relevant}
    if not current or not asked.former:
        return []
    subjects, predicates = {subject for subject, _ in current}, {predicate for _, predicate in current}
    at = (asked.connection, asked.viewer, asked.point, asked.predicates)
    rows = await facts.former(*at, subjects, predicates, where=_where(asked))
    begun = _begun(relevant) | {(*_slot_of(row), row["valid_from"]) for row in rows}
    found: list[Hit] = []
    for row in sorted(rows, key=lambda row: row["valid_to"], reverse=True):
        now = current.get(_slot_of(row))
        replaced = (row["subject_id"], row["predicate"], row["valid_to"]) in begun
        if now and now.id != row["relation_id"] and (replaced or asked.predicates.rule(row["predicate"]).single):
            hit = _hit(row, _held(row), now.score, now.parts)
            found.append(replace(hit, current=False, superseded_by=str(now.id)))
    return found


async def _no_longer(
    asked: Asked, about: Collection[UUID] | None, found: Hydration, relevant: Sequence[FactHit]
) -> Sequence[Hit]:
    """What has ended of exactly what is asked, though something similar holds: `Am I married?` of a new partner."""
    if not _WHETHER.match(asked.text) or any(_is_named(asked, one.row["predicate"]) for one in relevant):
        return []
    over = await _over(asked, about or {one.entity_id for one in found.seeds}, found)
    return [hit for hit in over if _is_named(asked, hit.row["details"]["predicate"])]


def _is_named(asked: Asked, predicate: str) -> bool:
    return not asked.stems.isdisjoint(hydration.stems(predicate.replace("_", " ")))


_WHETHER = lazy_compile(r"\W*(?:am|is|are|do|does|have|has)\b", re.IGNORECASE)


async def _over(asked: Asked, about: Collection[UUID], holding: Hydration) -> Sequence[Hit]:
    """What a question about the present asks for, if it has ended and nothing took its place: the last of each."""
    if not about:
        return []
    point, where = replace(asked.point, always=True), _where(asked)
    rows = await facts.ended(asked.connection, asked.viewer, point, asked.predicates, about, where)
    taken = {_slot_of(row) for row in holding.near}
    ended = [row for row in rows if _slot_of(row) not in taken]
    if not ended:
        return []
    at = (asked.connection, asked.viewer, asked.text)
    found = await hydrate(*at, holding.seeds, asked.predicates, point, known=ended, where=where)
    last = {_slot(one): one for one in sorted(found.facts, key=lambda one: one.until or one.since)}
    asks_whether = _WHETHER.match(asked.text) is not None

    def weight(one: FactHit) -> float:
        return 1.0 if asks_whether and _is_named(asked, one.row["predicate"]) else FORMER

    answering = (one for one in last.values() if one.hops and one.score > RELEVANT)
    return [replace(fact_hit(one), score=weight(one) * one.score, current=False) for one in answering]


async def _only_named(asked: Asked, found: Hydration) -> Sequence[Hit]:
    """What is known of the entities, if the question does no more than name them: `Who is Marta?`

    Or if it is in another language: `Где живёт Наташа?` That may be the answer, so it counts less.
    Nobody said an entity: one is not an answer to a question about what was said at some time or place.
    """
    named = {one.entity_id: one for one in found.seeds if one.said}
    others = {id_: one for id_, one in named.items() if name_key(one.said) != asked.own_name}
    named = others or named  # "Am I still with Tom?" asks about Tom.
    stems = hydration.question_stems(asked.text, [one.said for one in named.values()])
    may_answer = others and not hydration.is_english(asked.text)
    of_when = answer_kind(asked.text) is not None  # "When is Mia with me?" asks for more than who she is.
    if not named or _where(asked) or of_when or (stems and not may_answer):
        return []
    hits = []
    for row in await reader.by_ids(asked.connection, asked.viewer, named.keys()):
        own = (one for one in found.facts if one.hops == 1 and one.seed == row["entity_id"])
        about = [one for one in own if not Origin(one.row["origin"]).external][:TOP_FACTS]
        if about:
            label, text = reference(row["category"], row["name"]), "; ".join(one.sentence for one in about)
            details = {
                "date": row["last_seen"],
                "score": ABROAD if stems else NAMED,
                "details": reader.shown(row),
                "label": label,
            }
            hit = hit_of(ENTITY, str(row["entity_id"]), row["category"], text, **details)
            hits.append(replace(hit, row={**hit.row, "facts": [one.row for one in about]}))
    return hits


FACTS = Source(
    kinds=frozenset({FACT, ENTITY}),
    projections=(NAME,),
    holds=_holds,
    find=_find,
    filters=SAID | {"entity_ids", "metadata"},
)
