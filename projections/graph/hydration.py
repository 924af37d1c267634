"""The facts that a question calls for, found through the entities that it names and up to two hops from them (A15)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import hydration
from mnemolog.domain.disambiguation import preferred
from mnemolog.domain.entity import ME, PERSON, proper_name
from mnemolog.domain.facts import State
from mnemolog.domain.hydration import Match
from mnemolog.domain.inflection import cases_of
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.mention import longest, phrases
from mnemolog.domain.predicates import MEDICATION, PredicatePolicy, dose_of
from mnemolog.domain.ranking import FORMER
from mnemolog.domain.sentence import sentence, verb_phrase
from mnemolog.domain.text import name_key, search_terms
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import ask, together
from mnemolog.projections.graph import facts, reader
from mnemolog.projections.graph.facts import Point, fact_sentence, fact_value
from mnemolog.projections.graph.tables import relations
from mnemolog.projections.rows import Row
from mnemolog.projections.visibility import owned, shared


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that a question is anchored to. `said` is the name by which it is meant; empty for a given id.

    `last_seen`: None if `said` is a part of its name.
    """

    entity_id: UUID
    name: str
    said: str = ""
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class FactHit:
    """A fact in the answer to a question. `row` is the fact as `facts.facts` reads it.

    `path`: the sentences of the facts that lead to it from the seed, itself last. `hops`: how many they are, 1 if its
    value is named; 0 if it was found by its words or meaning alone. `score` is in [0, 1]; `parts` are what it was made
    of.
    """

    row: Row = field(repr=False)
    sentence: str
    current: bool
    since: datetime
    until: datetime | None
    critical: bool
    score: float
    hops: int
    path: tuple[str, ...]
    seed: UUID | None
    parts: Mapping[str, float]

    @property
    def id(self) -> UUID:
        relation_id: UUID = self.row["relation_id"]
        return relation_id


@dataclass(frozen=True, slots=True)
class Hydration:
    """Facts, best first; the entities that the question names; the names in it that no entity bears.

    `near`: all facts at either end of which one of these entities stands, as they were read.
    """

    facts: Sequence[FactHit]
    seeds: Sequence[Seed]
    unborne: Sequence[str]
    near: Sequence[Row]


async def hydrate(
    connection: AsyncConnection,
    viewer: Viewer,
    text: str,
    seeds: Sequence[Seed],
    predicates: PredicatePolicy,
    point: Point,
    *,
    known: Sequence[Row] | None = None,
    where: Sequence[ColumnElement[bool]] = (),
    limit: int = hydration.MAX_EDGES,
) -> Hydration:
    """The current facts at `point` that answer a question, of those that the viewer sees.

    It follows the graph over two hops from the `seeds`. Facts whose predicate or value the question mentions are found
    without an entity too. At most `limit` facts, of which critical ones are never cut.

    `known`: all the facts at `point`, if they were read already; without them, each hop is read. `where`: only facts of
    which this holds, also on the way to others.
    """
    reading = _Reading(connection, viewer, predicates, point, known, where)
    asked = hydration.question_stems(text, [one.said for one in seeds if one.said])
    walk = _Walk(reading, asked)
    named = {one for one in phrases(text) if not asked.isdisjoint(hydration.stems(one))}
    _, used, valued = await together(walk.from_seeds(seeds), reading.used(), reading.with_value(named))
    walk.by_value(valued, named)
    await walk.by_words(used)
    best = sorted(walk.found.values(), key=_best_first)
    kept = [one for place, one in enumerate(best) if place < limit or (one.critical and one.hops == 1)]
    said = " ".join(one.said for one in seeds)
    borne = {word for one in seeds for word in _words(one.name) | _words(said)}
    unborne = [
        name
        for name in hydration.capitalised_names(text)
        if borne.isdisjoint(_words(name) | set(map(name_key, cases_of(name))))
    ]
    return Hydration(kept, seeds, unborne, walk.near)


async def critical(
    connection: AsyncConnection, viewer: Viewer, predicates: PredicatePolicy, point: Point
) -> Sequence[FactHit]:
    """The critical facts that hold, such as allergies, about anybody: they are in every context (A §6.4).

    A medication comes with its dose.
    """
    rows = [
        row
        for row in await facts.facts(connection, viewer, point, predicates, predicate=predicates.critical)
        if row["critical"]
    ]
    taken = {(row["subject_id"], dose_of(fact_value(row))) for row in rows if row["predicate"] == MEDICATION}
    if taken:
        who, what = {subject for subject, _ in taken}, sorted({dose for _, dose in taken})
        doses = await facts.facts(connection, viewer, point, predicates, who, predicate=what)
        rows += [row for row in doses if (row["subject_id"], row["predicate"]) in taken]
    return [_hit(row, 1.0, 0, (), None, {}) for row in rows if row["overridden_by"] is None]


def told_sentence(row: Row) -> str:
    """A fact as a reader is told it: in the past if it has ended."""
    return former_sentence(row) if row["state"] is State.ENDED else fact_sentence(row)


def former_sentence(row: Row) -> str:
    return sentence(row["subject"], row["predicate"], fact_value(row), over=True)


MOST_FORMER = 8
_WORDS = lazy_compile(r"\w+")


def with_former(text: str, ended: Sequence[Row]) -> str:
    """A text with the ended facts that a line mentions named behind that line."""
    if not ended:
        return text
    values = [(_spaced(fact_value(fact)), former_sentence(fact)) for fact in ended]
    return "\n".join(_marked(line, values) for line in text.split("\n"))


def _marked(line: str, values: Sequence[tuple[str, str]]) -> str:
    words = _spaced(line)
    told = dict.fromkeys(former for value, former in values if value in words)
    return f"{line} ({FORMER}: {'; '.join(list(told)[:MOST_FORMER])})" if told else line


def _spaced(text: str) -> str:
    return f" {' '.join(_WORDS.findall(name_key(text)))} "


async def seeds_of(
    connection: AsyncConnection, viewer: Viewer, text: str, entity_ids: Collection[UUID]
) -> Sequence[Seed]:
    """What a question is anchored to: the entities that it names, the user if it says `I` or `my`, and `entity_ids`.

    All that bear a name; a name that is part of a longer one is not meant. A name that nobody bears means those of
    whose names it is a part: `Ana` means Ana Silva. `entity_ids`: such as those that a pronoun means.
    """
    me = name_key(proper_name(viewer.user_id, ME)) if hydration.asks_about_user(text) else None
    borne = await reader.bearers(connection, viewer, phrases(text) | ({me} if me else set()))
    meant = longest(borne.keys() - {me}) | ({me} if me else set())
    named = {
        one["entity_id"]: Seed(one["entity_id"], one["name"], said, one["last_seen"])
        for said in sorted(meant & borne.keys())
        for one in borne[said]
    }
    for said, ones in (await _named_in_part(connection, viewer, text, meant)).items():
        for one in ones:
            named.setdefault(one["entity_id"], Seed(one["entity_id"], one["name"], said))
    given = await reader.survivors(connection, viewer, await reader.by_ids(connection, viewer, entity_ids))
    shown = (one for one in given.values() if one["status"] in VISIBLE and one["name"])
    return list(({one["entity_id"]: Seed(one["entity_id"], one["name"]) for one in shown} | named).values())


def described(text: str, found: Hydration) -> Sequence[Collection[UUID]]:
    """The seeds that a question describes by a fact about them and another seed, such as `my sister Marta`.

    For each predicate, as it may describe several: `my sister Marta and my boss Marta`.
    """
    asked = hydration.question_stems(text, [one.said for one in found.seeds if one.said])
    ids = {one.entity_id for one in found.seeds}
    told: dict[str, set[UUID]] = {}
    for row in found.near:
        ends = {row["subject_id"], row["object_id"]}
        if ends <= ids and not asked.isdisjoint(_predicate_stems(row["predicate"])):
            told.setdefault(row["predicate"], set()).update(ends)
    return list(told.values())


def namesakes(seeds: Sequence[Seed], told: Sequence[Collection[UUID]], active: Collection[UUID]) -> frozenset[UUID]:
    """The seeds that are not meant, because another one with the same name is (A §10.2). `told`: those described."""
    by_name: dict[str, dict[UUID, datetime | None]] = {}
    for one in seeds:
        if one.said:
            by_name.setdefault(one.said, {})[one.entity_id] = one.last_seen
    others = frozenset[UUID]()
    for ones in by_name.values():
        described_ = ({id_: at for id_, at in ones.items() if id_ in ids} for ids in told)
        left = list(filter(None, described_)) or [ones]
        others |= ones.keys() - {id_ for each in left for id_ in preferred(each, active)}
    return others


async def _named_in_part(
    connection: AsyncConnection, viewer: Viewer, text: str, meant: Collection[str]
) -> Mapping[str, Sequence[Row]]:
    """Who is meant by names that nobody bears: all of whose names these are a part.

    In a question without a capital, a word may be a name too: then those are meant whose first name it is.
    """
    borne = {word for name in meant for word in name.split()}
    parts = {name_key(one) for one in hydration.capitalised_names(text) if borne.isdisjoint(_words(one))}
    if parts:
        return await reader.bearers_in_part(connection, viewer, parts)
    if text != text.lower() or borne:
        return {}
    found = await reader.bearers_in_part(connection, viewer, set(search_terms(text)))
    people = {said: [one for one in ones if _is_first_name(said, one)] for said, ones in found.items()}
    return {said: ones for said, ones in people.items() if ones}


def _is_first_name(said: str, entity: Row) -> bool:
    return entity["category"] == PERSON and name_key(entity["name"]).startswith(f"{said} ")


@dataclass(frozen=True, slots=True)
class _Reading:
    """The facts at `point`, read as they are needed unless all are `known`."""

    connection: AsyncConnection
    viewer: Viewer
    predicates: PredicatePolicy
    point: Point
    known: Sequence[Row] | None
    where: Sequence[ColumnElement[bool]]

    async def used(self) -> Collection[str]:
        if self.known is not None:
            return {row["predicate"] for row in self.known}
        return [predicate for (predicate,) in await ask(self.connection, self.viewer, _used)]

    async def facts(
        self, about: Collection[UUID] | None = None, predicate: Collection[str] | None = None
    ) -> Sequence[Row]:
        if self.known is None:
            at = (self.connection, self.viewer, self.point, self.predicates)
            return await facts.facts(*at, about, predicate=predicate, where=self.where)
        return [
            row
            for row in self.known
            if (about is None or row["subject_id"] in about or row["object_id"] in about)
            and (predicate is None or row["predicate"] in predicate)
        ]

    async def with_value(self, named: Collection[str]) -> Sequence[Row]:
        """The facts whose value is not an entity and may be one of these names; of those `known`, all with a value."""
        if self.known is not None:
            return [row for row in self.known if row["object_id"] is None]
        at = (self.connection, self.viewer, self.point, self.predicates)
        rows = await facts.facts(*at, texts=named, where=self.where) if named else []
        return [row for row in rows if row["object_id"] is None]


@dataclass(slots=True)
class _Walk:
    """The facts that were found so far, each once, by the shortest way."""

    reading: _Reading
    asked: frozenset[str]
    found: dict[UUID, FactHit] = field(default_factory=dict)
    near: Sequence[Row] = ()

    async def from_seeds(self, seeds: Sequence[Seed]) -> None:
        if not seeds:
            return
        ids = {one.entity_id: one for one in seeds}
        self.near = await self.reading.facts(about=ids)
        for row in self.near:
            seed = row["subject_id"] if row["subject_id"] in ids else row["object_id"]
            self._add(row, 1, seed)
        self._from_ties(ids)
        frontier = self._frontier(ids)
        if not frontier:
            return
        for row in await self.reading.facts(about=frontier):
            ends = [end for end in (row["subject_id"], row["object_id"]) if end in frontier]
            if row["relation_id"] not in self.found and ends:
                before = frontier[ends[0]]
                self._add(row, 2, before.seed, before)

    def _from_ties(self, seeds: Collection[UUID]) -> None:
        """What a fact between two seeds says of a third fact: `my sister Marta` of where Marta lives."""
        ties = [row for row in self.near if {row["subject_id"], row["object_id"]} <= set(seeds)]
        for tie in ties:
            for row in self.near:
                of_object = row["subject_id"] == tie["object_id"] and row["relation_id"] != tie["relation_id"]
                if of_object and row["relation_id"] in self.found:
                    known = self.found[row["relation_id"]]
                    score = self._match(row).score(self.asked, 1, self._match(tie))
                    self.found[known.id] = replace(known, score=max(known.score, score))

    def _frontier(self, seeds: Collection[UUID]) -> Mapping[UUID, FactHit]:
        """The entities that the best facts about the seeds lead to, each with that fact."""
        found: dict[UUID, FactHit] = {}
        for hit in sorted(self.found.values(), key=_best_first):
            for end in (hit.row["subject_id"], hit.row["object_id"]):
                if end is not None and end not in seeds and len(found) < hydration.EXPANDED:
                    found.setdefault(end, hit)
        return found

    def by_value(self, rows: Sequence[Row], named: Collection[str]) -> None:
        """Facts whose value the question names, as `Who plays chess?` does, or has a word of."""
        for row in rows:
            if row["relation_id"] not in self.found:
                value = fact_value(row)
                if name_key(value) in named:
                    self._add(row, 1, None)
                elif not self.asked.isdisjoint(hydration.stems(value)):
                    self._add(row, 0, None)

    async def by_words(self, used: Collection[str]) -> None:
        """Facts whose predicate, of those that are used, the question mentions."""
        predicates = [one for one in used if self._mentions(one)]
        if predicates:
            for row in await self.reading.facts(predicate=predicates):
                if row["relation_id"] not in self.found:
                    self._add(row, 0, None)

    def _mentions(self, predicate: str) -> bool:
        stems = _predicate_stems(predicate)
        return not self.asked.isdisjoint(stems | hydration.alike(stems))

    def _add(self, row: Row, hops: int, seed: UUID | None, before: FactHit | None = None) -> None:
        if row["overridden_by"] is not None:
            return
        match = self._match(row)
        score = match.score(self.asked, hops, self._match(before.row) if before else None)
        parts = {"words": float(len(match.words)), "alike": float(len(match.alike))}
        path = before.path if before else ()
        self.found[row["relation_id"]] = _hit(row, score, hops, path, seed, parts)

    def _match(self, row: Row) -> Match:
        predicate = _predicate_stems(row["predicate"])
        words = predicate | hydration.stems(fact_value(row))
        alike = hydration.alike(predicate) - words
        return Match(words & self.asked, alike & self.asked)


def _used(viewer: Viewer) -> Select[Any]:
    return select(relations.c.predicate).distinct().where(owned(relations, viewer), shared(relations, viewer))


@lru_cache(maxsize=4096)
def _predicate_stems(predicate: str) -> frozenset[str]:
    told = hydration.ANSWERED_BY.get(predicate, "")
    return hydration.stems(f"{predicate.replace('_', ' ')} {verb_phrase(predicate)} {told}")


def _hit(
    row: Row, score: float, hops: int, before: tuple[str, ...], seed: UUID | None, parts: Mapping[str, float]
) -> FactHit:
    said = fact_sentence(row)
    return FactHit(
        row=row,
        sentence=said,
        current=row["state"] == State.ACTIVE,
        since=row["valid_from"],
        until=row["valid_to"],
        critical=row["critical"],
        score=score,
        hops=hops,
        path=(*before, said),
        seed=seed,
        parts=parts,
    )


def _best_first(hit: FactHit) -> tuple[Any, ...]:
    """By score; then as A §6.4 orders them: the agent's own, critical, certain, new."""
    row = hit.row
    own = row["scope"] == "agent"
    return (-round(hit.score, 6), not own, not hit.critical, -row["confidence"], -hit.since.timestamp(), hit.id)


def _words(name: str) -> set[str]:
    return set(name_key(name).split())
