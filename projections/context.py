"""The context of an agent: entity cards, pinned memories, and each category in its mode (B §5, D06)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.anaphora import Reference
from mnemolog.domain.card import reference
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.mention import phrases
from mnemolog.domain.message import CATEGORY, found_id, with_lines
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.origin import Origin
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.state import asked_past
from mnemolog.domain.text import CountTokens, normalize_name
from mnemolog.domain.todo import TodoStatus
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.artifacts.reader import lines_of_turns
from mnemolog.projections.asking import together
from mnemolog.projections.candidates import candidates, categories
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.critical import critical
from mnemolog.projections.excerpts import in_excerpts
from mnemolog.projections.graph import reader as entities
from mnemolog.projections.graph.facts import Point, ended_lately, entity_card, facts, on_card, outlived
from mnemolog.projections.graph.hydration import with_former
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.cards import Card, cards
from mnemolog.projections.memories.reader import Row
from mnemolog.projections.profile.reader import own_todos
from mnemolog.projections.prompt_text import EntityCard, Shown, is_outside, line_of, prompt_text
from mnemolog.projections.requests import ContextRequest, restrictions
from mnemolog.projections.retrieval import Hit, told_once
from mnemolog.projections.sections import Collected, Section, collect, in_sections, most_relevant_first
from mnemolog.projections.sources.every import SOURCES
from mnemolog.projections.sources.graph import ENTITY
from mnemolog.projections.sources.profile import todo_hit
from mnemolog.projections.sources.ranked import Ranked, hits_that_tell, ranked, told_former
from mnemolog.projections.sources.recorded import RECORDED, hit_of_row
from mnemolog.projections.sources.source import Asked, Source
from mnemolog.projections.sources.summaries import summary_hit
from mnemolog.projections.summaries.reader import of_conversation
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question

MOST_ENTITIES = 5
MOST_KNOWN = 10
"""The facts, todos and so on that a context shows, beside critical facts."""
CONVERSATION_SHARE = 4
"""Summaries of the conversation take at most a quarter of the budget."""


@dataclass(frozen=True, slots=True)
class AgentContext:
    """`foundation` are pinned memories, which are also in their sections; `rows` has each row once, in order.

    `entities` are those that the query names or refers to. `cards` are those of what the query and the memories of the
    sections are about. `critical` are facts that are in every context, such as allergies. `conversation` are summaries
    of the thread, of the last session and of the user, in at most a quarter of the budget (D, E), and `recent` the last
    messages of the thread, if they are wanted, in as much. `known` are facts, profile fields, todos, summaries,
    artifacts and passages of the agent's library that the query asks for, without superseded ones. `unknown` are names
    in the query that are not known. `text` is all of it for a prompt: grouped, dated, within the budget. `references`
    is what pronouns of the query were taken to mean. `skipped` is what the context is made without. `nothing`
    says that nothing is known and what was looked for, or which of what the query names or asks for is not known.
    """

    entities: Sequence[EntityCard]
    cards: Sequence[Card]
    foundation: Sequence[Row]
    sections: Sequence[Section]
    rows: Sequence[Row]
    critical: Sequence[Hit] = ()
    conversation: Sequence[Hit] = ()
    recent: Sequence[Hit] = ()
    known: Sequence[Hit] = ()
    unknown: Sequence[str] = ()
    text: str = ""
    skipped: Sequence[str] = ()
    references: Sequence[Reference] = ()
    nothing: str = ""
    related: Sequence[Row] = ()
    header: str = ""
    rev: int = 0

    @property
    def shown(self) -> Iterator[Row]:
        """The memories shown to the agent, some twice: in a card and separately."""
        return chain(self.rows, *(card.memories for card in self.cards))

    @property
    def hits(self) -> Sequence[Hit]:
        """What is shown beside memories and cards."""
        return [*self.critical, *self.conversation, *self.recent, *self.known]


class _Found(NamedTuple):
    """What is known, before anything is left out."""

    rev: int
    always: Sequence[Hit]
    spoken_of: Sequence[EntityCard]
    answers: Ranked
    foundation: Sequence[Row]
    summaries: Sequence[Row]
    collected: Sequence[Collected]
    todos: Sequence[Hit]


async def gather(
    connection: AsyncConnection,
    viewer: Viewer,
    request: ContextRequest,
    policy: CategoryPolicy,
    predicates: PredicatePolicy,
    point: Point,
    referred: Collection[UUID],
    passages: Sequence[Mapping[str, Any]],
    count_tokens: CountTokens,
    index: VectorIndex,
    question: Question,
) -> AgentContext:
    """CategoryNotAllowed if the request names a category outside the agent's allowlist."""
    viewer = viewer.within(categories(policy, viewer.agent_id, request.categories, request.filters))
    asked = Asked(
        connection=connection,
        viewer=viewer,
        question=question,
        index=index,
        predicates=predicates,
        point=point,
        among=await candidates(connection, viewer, request.filters),
        limit=MOST_KNOWN,
        entity_ids={*request.filters.entity_ids, *referred},
        former=asked_past(question.text, point.valid_at) is not None,
        profile=ranking.PROFILES[request.profile],
        cutoff=request.cutoff,
        passages=passages,
    )
    # The revision first: a change that the rest does not show yet is reported after it.
    found = await together(
        changes.revision(connection, viewer, request.thread_id),
        critical(connection, viewer, predicates, point),
        _spoken_of(asked, request, referred),
        ranked(asked, answering(viewer, request), MOST_KNOWN),
        memories.foundation(connection, viewer, trusted_only=request.trusted_only),
        of_conversation(connection, viewer, request.thread_id),
        collect(asked, policy),
        _open(asked, request),
    )
    return await _composed(asked, request, _Found(*found), count_tokens)


async def _composed(asked: Asked, request: ContextRequest, found: _Found, count_tokens: CountTokens) -> AgentContext:
    connection, viewer, budget = asked.connection, asked.viewer, request.budget_tokens
    header = await changes.header_of(connection, viewer, request.thread_id, request.since_rev, found.rev)
    sections, hits = await in_sections(asked, found.collected, found.answers.hits)
    told = {found_id(row): row for rows in (found.foundation, *(one.rows for one in sections)) for row in rows}
    linked = await _related(asked, sections, told.values())
    told |= {found_id(row): row for row in linked}
    about = await _cards(asked, found.spoken_of, told.values())

    left = None if budget is None else budget - sum(map(count_tokens, [header, *(hit.bullet for hit in found.always)]))
    share = None if left is None else left // CONVERSATION_SHARE
    said = ranking.within_budget(await _summed_up(asked, found.summaries), share, line_of, count_tokens)
    recent = await _recent(asked, request, share, count_tokens)
    told = _once(told, without={hit.id for hit in recent})
    rows = told.values() if budget is None else most_relevant_first(told, found.foundation, found.collected, sections)
    known = _beside(hits, found, {hit.id for hit in (*found.always, *said)})
    first: list[Shown] = [*said, *recent, *(one for one in found.spoken_of if one.line), *about]
    room = None if left is None else left - sum(map(count_tokens, map(line_of, first)))
    block = [*first, *in_excerpts([*known, *rows], asked.stems, room, line_of, count_tokens)]
    block.sort(key=is_outside)
    within = ranking.within_budget(block, left, line_of, count_tokens)

    unknown = await _unknown(asked, found.answers.unknown, hits, told.values())
    nothing = f"Not known: {', '.join(unknown)}." if unknown else ""
    if not (found.spoken_of or hits or any(one.rows for one in sections if one.searched)):
        nothing = ranking.nothing_known(request.query, restrictions(request))
    elif budget is not None and left is not None and block and not within and not nothing:
        nothing = ranking.over_budget(budget, taken=budget - left)
    within_rows = [one for one in within if not isinstance(one, EntityCard | Card | Hit)]
    within_ids = set(map(found_id, within_rows))
    return AgentContext(
        [one for one in within if isinstance(one, EntityCard)],
        [one for one in within if isinstance(one, Card)],
        found.foundation,
        [one for one in sections if one.rows],
        within_rows,
        critical=found.always,
        conversation=said,
        recent=[one for one in within if isinstance(one, Hit) and one.kind == MESSAGE],
        known=[one for one in within if isinstance(one, Hit) and one not in said and one.kind != MESSAGE],
        unknown=unknown,
        text=prompt_text(header, found.always, within, budget, nothing, asked.point.valid_at, count_tokens),
        skipped=asked.question.skipped,
        nothing=nothing,
        header=header,
        rev=found.rev,
        related=[row for row in linked if found_id(row) in within_ids],
    )


def answering(viewer: Viewer, request: ContextRequest) -> Sequence[Source]:
    """The sources of a context besides memories and messages."""
    named = {*request.categories, *filter(None, [request.filters.category])}
    able = (one for one in SOURCES if one is not RECORDED and (not named or one.category in named))
    readable = (one for one in able if one.category is None or viewer.may_read(one.category))
    return [one for one in readable if one.applies(request.filters)]


async def _summed_up(asked: Asked, latest: Sequence[Row]) -> Sequence[Hit]:
    """Summaries of the conversation, with the facts that have ended since named behind each that mentions them."""
    if not latest:
        return []
    predicates = asked.predicates
    ended = await ended_lately(asked.connection, asked.viewer, asked.point, predicates, predicates.single)
    return [summary_hit({**row, "text": with_former(row["text"], ended)}) for row in latest]


async def _recent(
    asked: Asked, request: ContextRequest, budget: int | None, count_tokens: CountTokens
) -> Sequence[Hit]:
    """The last messages of the thread, the oldest first, each with lines for its artifacts (E §Context Building).

    Each begins with who speaks, by name or else by role. Facts in it that no longer hold are named behind it.
    """
    if not request.recent or not asked.viewer.may_read(CATEGORY):
        return []
    rows = await conversation.latest(asked.connection, asked.viewer, request.thread_id, request.recent)
    if request.trusted_only:
        rows = [row for row in rows if not Origin(row["origin"]).external]
    lines = await lines_of_turns(asked.connection, asked.viewer, {row["message_id"] for row in rows})
    said = {row["message_id"]: row["occurred_at"] for row in rows}
    over = await outlived(asked.connection, asked.viewer, asked.point, asked.predicates, said) if said else {}
    hits = []
    for row in rows:
        files = (one.told(trusted_only=request.trusted_only) for one in lines.get(row["message_id"], ()))
        line = with_lines(row["line"], files)
        shown = {**row, "line": line if row["speaker"] else f"{row['role']}: {line}"}
        hits.append(replace(hit_of_row(told_former(shown, *over.get(row["message_id"], ((), ())))), score=1.0))
    return ranking.within_budget(hits[::-1], budget, line_of, count_tokens)[::-1]


async def _open(asked: Asked, request: ContextRequest) -> Sequence[Hit]:
    """The agent's open todos, beside the last messages."""
    if not request.recent:
        return []
    rows = await own_todos(asked.connection, asked.viewer, TodoStatus.OPEN)
    return [todo_hit(row) for row in rows if not (request.trusted_only and row["origin"].external)]


async def _related(asked: Asked, sections: Sequence[Section], shown: Iterable[Row]) -> Sequence[Row]:
    """Memories that are linked to those that answer and not shown yet, if the profile weighs links (B §2)."""
    ids = {row["memory_id"] for one in sections if one.searched for row in one.rows if "memory_id" in row}
    if not ids or not asked.profile.links:
        return []
    without = {row["memory_id"] for row in shown if "memory_id" in row}
    found = await memories.related(asked.connection, asked.viewer, ids, asked.among, without)
    return [row for row, _ in found]


async def _cards(asked: Asked, spoken_of: Sequence[EntityCard], told: Iterable[Row]) -> Sequence[Card]:
    """The cards of what the question names and the memories are about."""
    named = [reference(one.row["category"], one.row["name"]) for one in spoken_of]
    refs = [*named, *(ref for row in told for ref in row.get("entity_refs", ()))]
    return await cards(asked.connection, asked.viewer, refs)


def _once(told: Mapping[str, Row], without: Collection[str]) -> dict[str, Row]:
    """By id, what is not among the last messages, and of memories that tell the same the first."""
    left = {id_: row for id_, row in told.items() if id_ not in without}
    once = told_once((row, not row.get("contradicted_by")) for row in left.values() if "memory_id" in row)
    return {id_: row for id_, row in left.items() if "memory_id" not in row or id_ in once}


def _beside(hits: Sequence[Hit], found: _Found, shown: Collection[str]) -> Sequence[Hit]:
    """What is known and not shown yet, and the open todos."""
    # The user is not an entity that a question names; the cards of others are shown already.
    carded = {str(one.row["entity_id"]) for one in found.spoken_of}
    known = [hit for hit in hits if hit.id not in shown and not (hit.kind == ENTITY and hit.id in carded)]
    return [*known, *(hit for hit in found.todos if hit.id not in {one.id for one in known})]


async def _unknown(asked: Asked, names: Sequence[str], hits: Sequence[Hit], told: Collection[Row]) -> Sequence[str]:
    """The names that nobody bears and no memory has, and what the question asks for and nothing tells."""
    words = {word for row in told for word in normalize_name(row["text"]).split()}
    _, untold = await hits_that_tell(asked, [*hits, *map(hit_of_row, told)])
    return [*(name for name in names if not words & set(normalize_name(name).split())), *untold]


async def _spoken_of(asked: Asked, request: ContextRequest, referred: Collection[UUID]) -> Sequence[EntityCard]:
    """The entities that are referred to, and then those that the question names (A §6.1), with the facts about them.

    None if categories are asked for: facts are of no category.
    """
    if request.categories:
        return []
    connection, viewer = asked.connection, asked.viewer
    named = [*referred, *await entities.named_in(connection, viewer, phrases(asked.question.text))]
    if not named:
        return []
    found = await entities.survivors(connection, viewer, await entities.by_ids(connection, viewer, named))
    rows = {row["entity_id"]: row for id_ in named if (row := found.get(id_)) and row["name"]}
    known = await facts(connection, viewer, asked.point, asked.predicates, list(rows)[:MOST_ENTITIES])
    about = {id_: [fact for fact in known if id_ in (fact["subject_id"], fact["object_id"])] for id_ in rows}
    shown = list(rows.items())[:MOST_ENTITIES]
    return [EntityCard(row, entity_card(row, about[id_]), on_card(about[id_])) for id_, row in shown]
