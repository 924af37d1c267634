"""Assembles the inference envelope for a message: graph, episodes and knowledge by the authority ladder (A §6, A15)."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import hydration, state
from mnemolog.domain.authority import Because, Fact, Ruling, Slot, Statement, names, ruling
from mnemolog.domain.claims import Known
from mnemolog.domain.entity import ME, proper_name
from mnemolog.domain.facts import State
from mnemolog.domain.gate import Decision
from mnemolog.domain.message import KIND
from mnemolog.domain.origin import Origin
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.ranking import Cutoff
from mnemolog.domain.text import count_tokens, normalize_name
from mnemolog.domain.turn import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events.serving import ServedItem
from mnemolog.projections import doubts
from mnemolog.projections.asking import together
from mnemolog.projections.doubts import Said
from mnemolog.projections.graph import facts, reader
from mnemolog.projections.graph.facts import Point, fact_sentence, fact_value
from mnemolog.projections.graph.hydration import Seed, critical, described, hydrate, namesakes, seeds_of
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.requests import Filters
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.rows import Row
from mnemolog.projections.slots import Envelope
from mnemolog.projections.sources.ranked import ranked
from mnemolog.projections.sources.recorded import RECORDED
from mnemolog.projections.sources.source import Asked
from mnemolog.projections.sources.weighing import relevant
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question

HITS = 8
"""A §6.3: the top 5 to 8."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """An envelope, why episodes and knowledge were searched or not, and what it was made without.

    `items` are what it shows, for the record, and `known` what it states, for claims to be compared with.
    """

    envelope: Envelope
    gate: Decision
    skipped: Sequence[str]
    items: Sequence[ServedItem] = ()
    known: Sequence[Known] = ()

    @property
    def tokens(self) -> int:
        """An estimate of the tokens of what it states."""
        return sum(count_tokens(text) for _, _, text, _ in self.envelope.statements)


@dataclass(frozen=True, slots=True)
class Graph:
    """The facts of an envelope and those that they replaced, and the entities that they were found from.

    `me`: the entity of the user, if there is one. `mentioned`: the seeds that the message names. `said`: by fact, what
    the user said since that may end it. `namesakes`: entities that have the name of a seed, but are not meant by it.
    """

    seeds: Sequence[Seed]
    me: UUID | None
    rows: Sequence[Row]
    overridden: Sequence[Row]
    former: Sequence[Row]
    said: Mapping[UUID, Said] = field(default_factory=dict)
    namesakes: frozenset[UUID] = frozenset()

    @property
    def mentioned(self) -> Sequence[str]:
        return [one.name for one in self.seeds if one.said and one.entity_id != self.me]


@dataclass(frozen=True, slots=True)
class Found:
    """What the search found, and what it was made without."""

    hits: Sequence[Hit] = ()
    passages: Sequence[Mapping[str, Any]] = ()
    skipped: Sequence[str] = ()

    def about(self, graph: Graph) -> "Found":
        """Without hits about namesakes of whom the message means (A §6.3)."""
        seeds = {one.entity_id for one in graph.seeds} - {graph.me}

        def meant(hit: Hit) -> bool:
            ids = set(hit.row.get("entity_ids", ()))
            return ids.isdisjoint(graph.namesakes) or not ids.isdisjoint(seeds)

        return replace(self, hits=list(filter(meant, self.hits))) if graph.namesakes else self

    @property
    def ids(self) -> frozenset[str]:
        return frozenset({*(hit.id for hit in self.hits), *(str(one["chunk_id"]) for one in self.passages)})


async def local_graph(
    connection: AsyncConnection,
    viewer: Viewer,
    message: str,
    edges: int,
    active: Collection[UUID],
    predicates: PredicatePolicy,
    point: Point,
    trusted_only: bool = False,
) -> Graph:
    """The facts around what the message mentions, the active entities and the user (A §6.4).

    One hop, the agent's own first, then critical, certain and new ones, at most `edges` with those that they overrule;
    up to a quarter of them are left to facts further away that answer the message. Critical facts that hold are never
    left out, whoever they are about. Of several entities with one name, the one that the message describes is meant
    ("my sister Marta"), else the active one, else the one last seen (A §10.2).
    """
    user = await reader.find(connection, viewer, proper_name(viewer.user_id, ME))
    me: UUID | None = user[0]["entity_id"] if user else None
    given = [*active, *([me] if me else [])]
    named = await seeds_of(connection, viewer, message, given)
    wide = await hydrate(connection, viewer, message, named, predicates, point, limit=4 * edges)
    others = namesakes(named, described(message, wide), active)
    seeds = [one for one in named if one.entity_id not in others]
    about = {one.entity_id for one in seeds}
    ever = await facts.facts(connection, viewer, replace(point, always=True), predicates, about) if about else []
    around = (row for row in wide.near if row["subject_id"] in about or row["object_id"] in about)
    near = [row for row in around if not (trusted_only and _is_outside(row))]
    one_hop = sorted((row for row in near if row["overridden_by"] is None), key=_is_outside)
    known = {row["relation_id"] for row in one_hop}
    beyond = (one.row for one in wide.facts if one.id not in known and not _is_of_namesake(one.row, seeds, others))
    further = [row for row in beyond if not (trusted_only and _is_outside(row))][: edges // 4]
    vital = await critical(connection, viewer, predicates, point)
    overruled = Counter(row["overridden_by"] for row in near if row["overridden_by"] is not None)
    # Each with those that it overrules, which are shown too.
    sizes = accumulate(1 + overruled[row["relation_id"]] for row in one_hop)
    first = [row for row, size in zip(one_hop, sizes, strict=True) if size <= edges - len(further)]
    kept = {row["relation_id"]: row for row in [*first, *further, *(one.row for one in vital)]}
    kept |= {row["relation_id"]: row for row in one_hop if row["critical"]}
    own = [row for row in kept.values() if row["subject_id"] == me]
    said = await doubts.of_states(connection, viewer, message, own, predicates)
    said = {**said, **await doubts.of_critical(connection, viewer, vital)}
    return Graph(
        seeds,
        me,
        list(kept.values()),
        [row for row in near if row["overridden_by"] in kept],
        [row for row in ever if row["state"] in (State.ENDED, State.RETIRED)],
        said,
        others,
    )


def _is_of_namesake(row: Row, seeds: Sequence[Seed], others: Collection[UUID]) -> bool:
    """Whether a fact is about somebody who has the name of a seed, but is not meant."""
    meant = {one.entity_id: normalize_name(one.name) for one in seeds}
    id_, name = row["subject_id"], normalize_name(row["subject"])
    return id_ in others or (id_ not in meant and name in meant.values())


async def search(
    connection: AsyncConnection,
    viewer: Viewer,
    predicates: PredicatePolicy,
    point: Point,
    index: VectorIndex,
    questions: Sequence[Question],
    without: Collection[str] = (),
    trusted_only: bool = False,
) -> Sequence[Found]:
    """Memories and messages that answer each question, within the relative cutoff of A §6.3, without some messages."""
    asked = [
        Asked(
            connection=connection,
            viewer=viewer,
            question=question,
            index=index,
            predicates=predicates,
            point=point,
            among=Candidates(messages=True, filters=Filters(trusted_only=trusted_only)),
            limit=HITS,
            cutoff=Cutoff.NONE,
        )
        for question in questions
    ]
    found = await together(*(ranked(one, [RECORDED], HITS + len(without)) for one in asked))
    # Only then the cutoff: the message to answer may be among the hits, and nothing is as similar to it as itself.
    others = [[hit for hit in one.hits if hit.id not in without] for one in found]
    return [
        Found(relevant(replace(of, cutoff=Cutoff.RELATIVE), hits)[:HITS], skipped=of.question.skipped)
        for of, hits in zip(asked, others, strict=True)
    ]


def envelope_fields(
    viewer: Viewer, thread_id: str, affect: Mapping[str, Any], graph: Graph, found: Found, predicates: PredicatePolicy
) -> dict[str, Any]:
    """The envelope before it is validated: each statement with what overrules it (A03)."""
    rows = [*graph.rows, *graph.overridden]
    known = {str(row["relation_id"]): fact_sentence(row) for row in [*rows, *graph.former]}
    laws = [*_laws(graph, predicates)]
    said = [replace(_said(hit, graph), outdated=_outdated(hit, graph, predicates)) for hit in found.hits]
    passages = [_passage(one, graph) for one in found.passages]
    texts = {one.id: one.text for one in (*said, *passages)}

    def marked(ruled: Ruling | None) -> dict[str, Any] | None:
        if ruled is None:
            return None
        statement = known[ruled.id] if ruled.slot is Slot.GRAPH else texts.get(ruled.id, "")
        return {"slot": ruled.slot, "id": ruled.id, "because": ruled.because, "statement": statement}

    def of_scope(row: Row) -> dict[str, Any] | None:
        winner = row["overridden_by"]
        return marked(Ruling(Slot.GRAPH, str(winner), Because.SCOPE)) if winner else None

    return {
        "slot_contract_version": affect["slot_contract_version"],
        "user_id": viewer.user_id,
        "agent_id": viewer.agent_id,
        "chat_id": thread_id,
        "AFFECT": affect,
        "GRAPH": {
            "entities": _entities(graph, rows),
            "relations": [{**_relation(row, graph.said), "overruled_by": of_scope(row)} for row in rows],
        },
        "EPISODE": {
            "hits": [
                {**_hit(hit), "overruled_by": marked(ruling(one, laws, passages))}
                for hit, one in zip(found.hits, said, strict=True)
            ]
        },
        "KNOWLEDGE": {
            "hits": [
                {**_knowledge(row), "overruled_by": marked(ruling(one, laws))}
                for row, one in zip(found.passages, passages, strict=True)
            ]
        },
    }


def items(envelope: Envelope, graph: Graph, found: Found) -> Sequence[ServedItem]:
    """What the envelope shows, with the version of each."""
    written = {str(row["relation_id"]): ("fact", row["seq"]) for row in (*graph.rows, *graph.overridden)}
    written |= {str(one["chunk_id"]): ("passage", one["seq"]) for one in found.passages}
    written |= {hit.id: (hit.kind, hit.row["seq"]) for hit in found.hits}
    shown = []
    for slot, id_, _, overruled in envelope.statements:
        kind, seq = written[id_]
        shown.append(ServedItem(kind=kind, id=id_, seq=seq, slot=slot, overruled=overruled is not None))
    return shown


def known(envelope: Envelope, graph: Graph, found: Found, predicates: PredicatePolicy) -> Sequence[Known]:
    """What the envelope states, with the most authority first."""
    graph = replace(graph, me=graph.me or UUID(int=0))  # A user of whom no fact is known has no entity.
    me = str(graph.me)
    of_user = {str(row["relation_id"]) for row in graph.rows if str(row["subject_id"]) == me}
    only = {str(row["relation_id"]): fact_value(row) for row in graph.rows if predicates.rule(row["predicate"]).single}
    of_user |= {hit.id for hit in found.hits if me in _said(hit, graph).about}
    return [
        Known(slot, id_, text, id_ in of_user, (by.statement or by.id) if by else "", only.get(id_, ""))
        for slot, id_, text, by in envelope.statements
    ]


def _laws(graph: Graph, predicates: PredicatePolicy) -> Sequence[Fact]:
    """The facts that hold, each with what it replaced; then those that ended without a successor.

    A fact from outside overrules nothing (X21).
    """
    rows = [row for row in graph.rows if not _is_outside(row)]
    former: dict[tuple[UUID, str], list[Row]] = {}
    for row in graph.former:
        if not _is_outside(row):
            former.setdefault((row["subject_id"], row["predicate"]), []).append(row)
    held = {(row["subject_id"], row["predicate"], fact_value(row)) for row in rows}
    found = []
    for row in rows:
        single = predicates.rule(row["predicate"]).single
        earlier = former.pop((row["subject_id"], row["predicate"]), []) if single else []
        found.append(
            _law(row, fact_value(row), [one for one in earlier if fact_value(one) != fact_value(row)], single=single)
        )
    ended = [row for rows in former.values() for row in rows]
    return [
        *found,
        *(_law(row, "", [row]) for row in ended if (row["subject_id"], row["predicate"], fact_value(row)) not in held),
    ]


def _is_outside(row: Row) -> bool:
    return Origin(row["origin"]).external


def _law(row: Row, value: str, former: Sequence[Row], *, single: bool = False) -> Fact:
    sources = {str(id_) for one in former for id_ in (one["memory_id"], *one["source_turn_ids"]) if id_}
    return Fact(
        id=str(row["relation_id"]),
        sentence=fact_sentence(row),
        subject=str(row["subject_id"]),
        value=value,
        single=single,
        critical=row["critical"] and bool(value),
        former=tuple(map(fact_value, former)),
        sources=frozenset(sources),
    )


def _said(hit: Hit, graph: Graph) -> Statement:
    row, text = hit.row, hit.text
    about = {str(id_) for id_ in row.get("entity_ids", ())} | _named(text, graph)
    by_user = hit.kind != KIND or row["role"] == "user"
    speaker = row.get("speaker_entity_id")
    if speaker and hydration.asks_about_user(text):
        about.add(str(speaker))
    elif graph.me and by_user and (not about or hydration.asks_about_user(text)):
        about.add(str(graph.me))  # A memory that names nobody is about the user.
    return Statement(
        slot=Slot.EPISODE,
        id=hit.id,
        text=row["text"],
        about=frozenset(about),
        opposed=hit.superseded_by or "",
    )


def _outdated(hit: Hit, graph: Graph, predicates: PredicatePolicy) -> str:
    """The id of the fact that tells what has been so since the user said or noted something else; "" if there is none.

    Such as `Ana lives in Leipzig` of `I live in Berlin`, if that was said before she did.
    """
    if hit.kind == KIND and hit.row["role"] != Role.USER:
        return ""
    held = [row for row in graph.rows if row["overridden_by"] is None and not _is_outside(row)]
    single = {row["relation_id"]: state.state_of(row["predicate"]) for row in held if _is_single(row, predicates)}
    by_user = graph.me is not None and hit.row.get("speaker_entity_id") == graph.me
    speaker = "" if by_user else hit.row.get("speaker") or ""
    told = state.statement(hit.id, speaker, hit.row["text"], hit.date, frozenset(single.values()))
    for row in held if told else []:
        subjects = {normalize_name(row["subject"]), *([ME] if row["subject_id"] == graph.me else [])}
        of = single.get(row["relation_id"], "")
        if told and state.former_of(told, subjects, of, fact_value(row), row["valid_from"]):
            return str(row["relation_id"])
    return ""


def _is_single(row: Row, predicates: PredicatePolicy) -> bool:
    return predicates.rule(row["predicate"]).single


def _passage(row: Mapping[str, Any], graph: Graph) -> Statement:
    text = row["text"]
    return Statement(slot=Slot.KNOWLEDGE, id=str(row["chunk_id"]), text=text, about=frozenset(_named(text, graph)))


def _named(text: str, graph: Graph) -> set[str]:
    subjects = {row["subject_id"]: row["subject"] for row in (*graph.rows, *graph.former)}
    plain = normalize_name(text)
    return {str(id_) for id_, name in subjects.items() if names(plain, name)}


def _entities(graph: Graph, rows: Sequence[Row]) -> Sequence[dict[str, Any]]:
    seeds = {one.entity_id: one.name for one in graph.seeds}
    ends = {row[f"{end}_id"]: row[end] for row in rows for end in ("subject", "object") if row[f"{end}_id"]}
    return [{"entity_id": id_, "name": name, "seed": id_ in seeds} for id_, name in {**seeds, **ends}.items()]


def _relation(row: Row, since: Mapping[UUID, Said]) -> dict[str, Any]:
    names_ = ("relation_id", "subject_id", "predicate", "object_id", "scope", "origin", "critical", "confidence")
    return {
        **{name: row[name] for name in names_},
        "object_value": row["value"] if row["object_id"] is None else None,
        "text": fact_sentence(row),
        "since": row["valid_from"],
        "known_from": row["known_from"],
        "until": row["valid_to"],
        "since_precision": row["valid_from_precision"],
        "until_precision": row["valid_to_precision"],
        "said_since": asdict(since[row["relation_id"]]) if row["relation_id"] in since else None,
    }


def _hit(hit: Hit) -> dict[str, Any]:
    shown = {"id": hit.id, "kind": hit.kind, "text": hit.text, "date": hit.row["occurred_at"], "origin": hit.origin}
    return {**shown, "score": hit.score, "similarity": hit.similarity}


def _knowledge(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in ("document_id", "source", "domain", "place", "text", "score", "similarity")}
    return {"id": str(row["chunk_id"]), **shown}
