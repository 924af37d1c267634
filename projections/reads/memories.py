"""The reads of memories: search, context, history, changes, why."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import delta
from mnemolog.domain.anaphora import Candidate, Resolved, resolve
from mnemolog.domain.errors import NotFound, ProjectionPaused, ProjectionPoisoned, ReadTimeout, ServerFailed
from mnemolog.domain.identity import identifier
from mnemolog.domain.message import with_lines
from mnemolog.domain.nodes import Board
from mnemolog.domain.patrol import Node
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import candidates, context, extent, query
from mnemolog.projections.artifacts import reader as artifacts
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.context import AgentContext
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.episodes import reader as episodes
from mnemolog.projections.extent import Extent
from mnemolog.projections.graph import candidates as meant
from mnemolog.projections.history import changed, from_log
from mnemolog.projections.history import reader as history
from mnemolog.projections.id_prefix import LISTED_IDS, ids_beginning, one_of
from mnemolog.projections.memories import nodes
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.cards import Card, cards
from mnemolog.projections.paging import Slice
from mnemolog.projections.reads.graph import GraphReads, When
from mnemolog.projections.reads.knowledge import KnowledgeReads
from mnemolog.projections.reads.moment import NOW, Moment, seq_of
from mnemolog.projections.reads.reading import (
    ARTIFACTS,
    BEING,
    CHANGES,
    CONVERSATION,
    EPISODES,
    GRAPH,
    HISTORY,
    KNOWLEDGE,
    MEMORIES,
    PROFILE,
    SUMMARIES,
    VECTORS,
)
from mnemolog.projections.reads.why import Inquiry, Why
from mnemolog.projections.requests import UNFILTERED, ContextRequest, Filters, MemoryQuery
from mnemolog.projections.shown import as_uuid
from mnemolog.projections.sources.passages import PASSAGE, PASSAGES
from mnemolog.projections.sources.recorded import RECORDED
from mnemolog.projections.sources.source import Source
from mnemolog.projections.vectors import neighbours, scenes
from mnemolog.projections.vectors.question import Question
from mnemolog.projections.visibility import viewed

_logger = logging.getLogger("mnemolog.reads")

RESOLVED_WITHIN = 1.0
"""Seconds to wait for the session that pronouns refer to."""
LONGEST_READ = 4000
"""Characters of a turn of that session in which names are looked for."""
# What a search reads.
RECALLED = (MEMORIES, CONVERSATION, VECTORS)
OF_MESSAGES = (CONVERSATION, ARTIFACTS, EPISODES)


@dataclass(frozen=True, slots=True)
class Changes:
    """The content of a delta header, and the revision that the next one starts from."""

    header: str
    rev: int
    entries: Sequence[delta.Entry]


class MemoryReads(GraphReads, KnowledgeReads):
    """The part of `Reads` for memories, and for ids of any kind."""

    async def query(self, request: MemoryQuery, moment: Moment = NOW) -> query.Answer:
        """memory.query (B §6)."""
        viewer = request.viewer
        self._admitted(viewer)
        candidates.categories(self._policy, viewer.agent_id, request.categories, request.filters)
        resolved = await self._resolved(viewer, request.thread_id, request.query, moment)
        needed = {CHANGES, *candidates.needed(request.filters)}
        sources = query.sources(request)
        self.expect(resolved.text)
        passages, missing = await self._passages(viewer, sources, resolved.text, request.top_k, moment)
        skipped = [*resolved.skipped, *missing]
        ask = partial(
            query.answer,
            request=request,
            policy=self._policy,
            predicates=self._predicates,
            point=await self._point(viewer, When(), moment),
            referred=resolved.entity_ids,
            passages=passages,
            count_tokens=self.count_tokens,
        )
        while True:
            names = sorted(needed.union(*(one.projections for one in sources)))
            try:
                _, answer = await self._by_meaning(viewer, moment, names, resolved.text, partial(ask, sources=sources))
                break
            except (ProjectionPoisoned, ProjectionPaused) as error:  # Whatever does not need it is found.
                left = [one for one in sources if error.projection not in one.projections or one is RECORDED]
                if len(left) == len(sources):
                    raise
                kinds = sorted(set().union(*(one.kinds for one in sources if one not in left)))
                skipped.append(f"{', '.join(kinds)}: {error.message}")
                sources = left
        self._used(request.viewer, moment, (hit.row for hit in (*answer.hits, *answer.related)))
        return replace(answer, references=resolved.references, skipped=[*answer.skipped, *skipped])

    async def context(self, viewer: Viewer, request: ContextRequest, moment: Moment = NOW) -> AgentContext:
        """The context for an agent's answer: pinned memories, and each category in its mode (B §5)."""
        self._admitted(viewer)
        candidates.categories(self._policy, viewer.agent_id, request.categories, request.filters)
        resolved = await self._resolved(viewer, request.thread_id, request.query, moment)
        sources = context.answering(viewer, request)
        self.expect(resolved.text)
        passages, missing = await self._passages(viewer, sources, resolved.text, context.MOST_KNOWN, moment)
        gather = partial(
            context.gather,
            request=request,
            policy=self._policy,
            predicates=self._predicates,
            point=await self._point(viewer, When(), moment),
            referred=resolved.entity_ids,
            passages=passages,
            count_tokens=self.count_tokens,
        )
        reading = (name for one in sources for name in one.projections)
        working = (CONVERSATION, ARTIFACTS, PROFILE) if request.recent else ()
        names = sorted({*RECALLED, GRAPH, SUMMARIES, CHANGES, *candidates.needed(request.filters), *reading, *working})
        _, found = await self._by_meaning(viewer, moment, names, resolved.text, gather)
        self._used(viewer, moment, found.shown)
        return replace(found, references=resolved.references, skipped=[*found.skipped, *resolved.skipped, *missing])

    async def _passages(
        self, viewer: Viewer, sources: Sequence[Source], text: str, limit: int, moment: Moment
    ) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
        """The passages of the agent's library for a search of these sources, and why none were looked for."""
        if PASSAGES not in sources or not await self._log.head(viewed(self._librarian(viewer))):
            return [], []
        then = await self._of_library(viewer, moment)
        try:
            return await self.search_knowledge(viewer, text, limit=limit, moment=then), []
        except (ProjectionPoisoned, ProjectionPaused) as error:
            return [], [f"{PASSAGE}: {error.message}"]

    async def _resolved(self, viewer: Viewer, thread_id: str, text: str, moment: Moment) -> Resolved:
        """A question with what its pronouns refer to (A §6.1). Nothing is read for a question without any."""
        found = self._pronouns.found_in(text)
        if not found:
            return Resolved(text)
        soon = replace(moment, deadline=min(moment.deadline or RESOLVED_WITHIN, RESOLVED_WITHIN))
        try:
            session = await self.session(viewer, thread_id, moment if moment.as_of is not None else soon)
        except NotFound:
            return Resolved(text)
        except (ReadTimeout, ServerFailed) as error:
            _logger.warning("pronouns are not resolved: %s", error.message)
            return Resolved(text, skipped=[f"pronouns: working memory is not available ({error.code})"])
        known: Sequence[Candidate] = ()
        if found.pronouns:
            texts = [text, *(turn["text"][:LONGEST_READ] for turn in session.turns)]
            active = [UUID(one) for one in session.active_entity_ids]
            ask = partial(meant.candidates, texts=texts, active=active)
            known = await self._read(viewer, moment, (GRAPH,), ask)
        return resolve(text, found, session, known)

    async def cards(self, viewer: Viewer, refs: Collection[str], moment: Moment = NOW) -> Sequence[Card]:
        """What is known about each reference, such as `person:john`, in one line, if there is enough (D06)."""
        found = await self._read(viewer, moment, (MEMORIES,), partial(cards, refs=refs))
        self._used(viewer, moment, (row for card in found for row in card.memories))
        return found

    async def memory(self, viewer: Viewer, memory_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        """One memory, hidden or not."""
        return await self._read(viewer, moment, (MEMORIES,), partial(memories.one, memory_id=memory_id))

    async def memories(
        self, viewer: Viewer, memory_ids: Collection[UUID], moment: Moment = NOW
    ) -> Mapping[UUID, Mapping[str, Any]]:
        """Those of these memories that the agent may see, hidden or not."""
        return await self._read(viewer, moment, (MEMORIES,), partial(memories.by_ids, memory_ids=set(memory_ids)))

    async def links(self, viewer: Viewer, memory_id: UUID, moment: Moment = NOW) -> Sequence[Mapping[str, Any]]:
        """The links of a memory, strongest first (B §2)."""
        return await self._read(viewer, moment, (MEMORIES,), partial(memories.linked, memory_id=memory_id))

    async def nearest(self, viewer: Viewer, memory_id: UUID, text: str) -> tuple[Question, Mapping[UUID, float]]:
        """The memories most similar to a text, except the memory itself (B §2), and the model that was used."""
        near = partial(neighbours.nearest, memory_id=memory_id)
        return await self._by_meaning(viewer, NOW, (MEMORIES, VECTORS), text, near)

    async def similar(
        self, viewer: Viewer, text: str, filters: Filters, limit: int, moment: Moment = NOW
    ) -> Sequence[tuple[Mapping[str, Any], float]]:
        """The memories that are most similar to a text and have these properties, and how similar they are."""
        categories = candidates.categories(self._policy, viewer.agent_id, (), filters)
        similar = partial(neighbours.similar, categories=categories, filters=filters, limit=limit)
        _, found = await self._by_meaning(viewer, moment, (MEMORIES, VECTORS), text, similar)
        self._used(viewer, moment, (row for row, _ in found))
        return found

    async def newest(
        self,
        viewer: Viewer,
        limit: int,
        moment: Moment = NOW,
        cursor: str | None = None,
        filters: Filters = UNFILTERED,
    ) -> Slice:
        """The most recently changed memories, with properties that memories have themselves."""
        newest = partial(memories.newest, limit=limit, cursor=cursor, filters=filters)
        return await self._read(viewer, moment, (MEMORIES,), newest)

    async def history(
        self,
        viewer: Viewer,
        id_: UUID,
        limit: int = 100,
        moment: Moment = NOW,
        cursor: str | None = None,
        kinds: Collection[str] = history.KINDS,
    ) -> Slice:
        """The changes of a memory, an entity, a fact or another of these kinds, newest first (B §8)."""

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Slice:
            self._require_sound_log(viewer)
            rows = await history.of(connection, viewer, id_=id_, limit=limit, cursor=cursor, kinds=kinds)
            if rows:
                subject, stream = rows[0]["subject"], viewed(viewer)
                tag = f"{subject}:{id_}"
                events = await self._log.read(stream, tags=from_log.read_by(tag))
                changed.require_keys(tag, events)
                added = changed.by_seq(subject, str(id_), [one for one in events if one.seq <= rows[0]["seq"]])
                for row in rows:
                    row |= added.get(row["seq"], {})
            return rows

        return await self._read(viewer, moment, (MEMORIES, GRAPH, ARTIFACTS, EPISODES, KNOWLEDGE, HISTORY), ask)

    async def changes(self, viewer: Viewer, thread_id: str, since: int, moment: Moment = NOW) -> Changes:
        """What changed in a thread since a revision (B §1)."""

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Changes:
            header, rev = await changes.header(connection, viewer, thread_id, since)
            return Changes(header, rev, await changes.between(connection, viewer, thread_id, since, rev))

        return await self._read(viewer, moment, (MEMORIES, CHANGES), ask)

    async def extent(self, viewer: Viewer, scope: Scope, moment: Moment = NOW, *, hard: bool = False) -> Extent:
        """The subjects in a scope; for the scope `agent`, those of the viewing agent."""
        ask = partial(extent.load, scope=scope, hard=hard)
        return await self._read(viewer, moment, (MEMORIES, CONVERSATION, GRAPH, PROFILE, ARTIFACTS), ask)

    async def extent_since(
        self, viewer: Viewer, thread_id: str, since: datetime, moment: Moment = NOW, *, hard: bool = False
    ) -> Extent:
        """The messages and episodic memories of a thread since then."""
        ask = partial(extent.since, thread_id=thread_id, moment=since, hard=hard)
        return await self._read(viewer, moment, (MEMORIES, CONVERSATION), ask)

    async def message(self, viewer: Viewer, message_id: str, moment: Moment = NOW) -> Mapping[str, Any]:
        """One message, hidden or not."""

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Mapping[str, Any]:
            found = await conversation.one(connection, viewer, message_id)
            await _complete(connection, viewer, [found])
            return found

        return await self._read(viewer, moment, OF_MESSAGES, ask)

    async def messages(
        self, viewer: Viewer, thread_id: str | None, limit: int, moment: Moment = NOW, cursor: str | None = None
    ) -> Slice:
        """The messages of a user, or of one thread, the newest first."""

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Slice:
            found = await conversation.newest(connection, viewer, thread_id, limit, cursor)
            await _complete(connection, viewer, found)
            return found

        return await self._read(viewer, moment, OF_MESSAGES, ask)

    async def id_beginning(self, viewer: Viewer, prefix: str, field: str, kind: str | None = None) -> str:
        """The id, of one kind or any, that begins so; NotFound or AmbiguousId if it is not one."""
        ask = partial(ids_beginning, prefix=prefix, kind=kind, limit=LISTED_IDS + 1)
        names = (MEMORIES, CONVERSATION, EPISODES, GRAPH, PROFILE, ARTIFACTS, KNOWLEDGE, BEING, SUMMARIES, HISTORY)
        found = await self._read(viewer, Moment(), names, ask)
        return one_of(found, prefix, field)

    async def why(self, viewer: Viewer, id_: str, moment: Moment = NOW) -> Why:
        """Why anything that a search finds, a profile field or a passage of the agent's library is known (X04)."""

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Why:
            until = None if moment.as_of is None else await seq_of(self._log, viewed(viewer), moment.as_of)
            return await Inquiry(connection, viewer, self._log, until).answer(identifier(id_, "id"))

        names = (MEMORIES, CONVERSATION, EPISODES, GRAPH, PROFILE, ARTIFACTS, KNOWLEDGE, BEING, SUMMARIES)
        try:
            return await self._read(viewer, moment, names, ask)
        except NotFound:
            if viewer.library or as_uuid(str(id_)) is None:
                raise
            moment = await self._of_library(viewer, moment)
            with suppress(NotFound):
                return await self._read(self._librarian(viewer), moment, names, ask)
            raise

    async def nodes(self, viewer: Viewer, moment: Moment = NOW) -> Mapping[UUID, Node]:
        """The agent's own active and dying scenes, as its patrol sees them (C)."""
        return await self._read(viewer, moment, (MEMORIES,), nodes.of_being)

    async def board(
        self, viewer: Viewer, texts: Sequence[str] = (), moment: Moment = NOW
    ) -> tuple[Sequence[Question], Board]:
        """The agent's own scenes with their vectors, and the vectors of texts, in one call of the embedding model."""
        found, board = await self._by_meanings(viewer, moment, (MEMORIES, VECTORS), texts, scenes.board_of)
        return found, board

    async def _of_library(self, viewer: Viewer, moment: Moment) -> Moment:
        """The library has a stream of its own: what it held is told by the time."""
        at = None if moment.as_of is None else await self._instant(viewer, moment.as_of)
        return replace(moment, as_of=at, after=None)

    def _used(self, viewer: Viewer, moment: Moment, rows: Iterable[Mapping[str, Any]]) -> None:
        """Record that memories shown to an agent are in use, once per read, so that they do not fade (B §7, D13)."""
        if moment.as_of is None:
            self.recalled(viewer, dict.fromkeys((row["memory_id"] for row in rows if "memory_id" in row), 1))


async def _complete(connection: AsyncConnection, viewer: Viewer, messages: Sequence[dict[str, Any]]) -> None:
    """The episode of each message, and the surrogates of its artifacts, in its line (E §4)."""
    within = await episodes.of_messages(connection, viewer, messages)
    found = await artifacts.of_turns(connection, viewer, {one["message_id"] for one in messages})
    for one in messages:
        one["episode_id"] = within.get(one["message_id"])
        one["surrogates"] = found.get(one["message_id"], [])
        one["line"] = with_lines(one["line"], one["surrogates"])
