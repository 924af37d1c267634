"""The read of the inference envelope: working memory, the graph and, where the gate opens, a search (A §7.1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from mnemolog.domain.authority import Slot
from mnemolog.domain.claims import Claim, claims, judged
from mnemolog.domain.entity import ME, proper_name
from mnemolog.domain.errors import NotFound
from mnemolog.domain.gate import Decision, Gate, Reason, Signal
from mnemolog.domain.hydration import MAX_EDGES
from mnemolog.domain.origin import Origin, lowest
from mnemolog.domain.prompt import Prompt, prompt
from mnemolog.domain.recall import recall_block
from mnemolog.domain.session import Session
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import UserErased
from mnemolog.events.serving import SERVED, ContextServed, ServedItem, served_tag
from mnemolog.projections import blocks, envelope
from mnemolog.projections.being.reader import is_being
from mnemolog.projections.envelope import Assembled, Found, Graph
from mnemolog.projections.graph.facts import Point
from mnemolog.projections.reads.being import BeingReads, fragments_of
from mnemolog.projections.reads.graph import When
from mnemolog.projections.reads.knowledge import EVERY_CHUNK
from mnemolog.projections.reads.memories import RECALLED, MemoryReads
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import (
    ARTIFACTS,
    BEING,
    CHANGES,
    CONVERSATION,
    GRAPH,
    MEMORIES,
    PROFILE,
    SUMMARIES,
)
from mnemolog.projections.requests import BlocksRequest, ClaimsRequest, EnvelopeRequest, PromptRequest
from mnemolog.projections.rows import Row
from mnemolog.projections.slots import validated_envelope
from mnemolog.projections.sources.passages import answering


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt, the envelope in it, and all that it shows; `origin` is the least trusted of where that comes from."""

    assembled: Assembled
    prompt: Prompt
    items: Sequence[ServedItem]
    origin: Origin = Origin.AGENT


_OPENING = (MEMORIES, PROFILE, SUMMARIES, CHANGES, BEING)


class EnvelopeReads(MemoryReads, BeingReads):
    """The part of `Reads` for the inference envelope."""

    _gate: Gate

    async def envelope(
        self,
        viewer: Viewer,
        request: EnvelopeRequest,
        now: datetime,
        moment: Moment = NOW,
        without: Collection[str] = (),
    ) -> Assembled:
        """The validated envelope for a message. The model of the vectors is asked only if the gate opens.

        `without`: messages that a search need not find, such as the one to answer.
        """
        self._admitted(viewer)
        session = await self._session_or_new(viewer, request.thread_id, moment)
        return await self._assembled(viewer, request, session, now, moment, without)

    async def _assembled(
        self,
        viewer: Viewer,
        request: EnvelopeRequest,
        session: Session,
        now: datetime,
        moment: Moment,
        without: Collection[str],
    ) -> Assembled:
        point = await self._point(viewer, When(), moment)
        only = request.trusted_only
        graph = await self._graph(viewer, request.message, request.edges, session, moment, point, only)
        resolved, found = await self._resolved(viewer, request.thread_id, request.message, moment), Found()
        gate = self._gate.decide(request.message, graph.mentioned, resolved.references)
        if gate.search:
            [found] = await self._search(viewer, [resolved.text], moment, point, without, trusted_only=only)
        elif not only and self._gate.asks(request.message):
            gate, found = await self._asked_of_library(viewer, request.message, moment)
        found = replace(found.about(graph), skipped=[*found.skipped, *resolved.skipped])
        then = now if moment.as_of is None else point.valid_at
        return self._put_together(viewer, request.thread_id, session, then, gate, graph, found)

    async def _graph(
        self,
        viewer: Viewer,
        message: str,
        edges: int,
        session: Session,
        moment: Moment,
        point: Point,
        trusted_only: bool = False,
    ) -> Graph:
        around = partial(
            envelope.local_graph,
            message=message,
            edges=edges,
            active=[UUID(one) for one in session.active_entity_ids],
            predicates=self._predicates,
            point=point,
            trusted_only=trusted_only,
        )
        return await self._read(viewer, moment, (GRAPH, MEMORIES, CONVERSATION), around)

    async def _search(
        self,
        viewer: Viewer,
        texts: Sequence[str],
        moment: Moment,
        point: Point,
        without: Collection[str] = (),
        *,
        trusted_only: bool = False,
    ) -> Sequence[Found]:
        """What episodes and knowledge say to each text."""
        asked = partial(
            envelope.search, predicates=self._predicates, point=point, without=without, trusted_only=trusted_only
        )
        questions, found = await self._by_meanings(viewer, moment, RECALLED, texts, asked)
        self._used(viewer, moment, (hit.row for one in found for hit in one.hits))
        if trusted_only:
            return found
        then = await self._of_library(viewer, moment)
        chunks = await self.search_library(viewer, texts, limit=envelope.HITS, moment=then)
        return [
            replace(one, passages=answering(of, question))
            for one, of, question in zip(found, chunks, questions, strict=True)
        ]

    async def _asked_of_library(self, viewer: Viewer, message: str, moment: Moment) -> tuple[Decision, Found]:
        """What the agent's documents say to a question, if they have a word of it (A §2.4)."""
        then = await self._of_library(viewer, moment)
        if not (words := await self.told_of(viewer, message, then)):
            return Decision(), Found()
        [question], [chunks] = await self._answers_of_library(viewer, [message], EVERY_CHUNK, envelope.HITS, then)
        passages = answering(chunks, question)
        return Decision((Reason(Signal.ASKING, words[0]),)), Found((), passages, question.skipped)

    def _put_together(
        self,
        viewer: Viewer,
        thread_id: str,
        session: Session,
        then: datetime,
        gate: Decision,
        graph: Graph,
        found: Found,
    ) -> Assembled:
        affect = session.affect_shown(then)
        fields = envelope.envelope_fields(viewer, thread_id, affect, graph, found, self._predicates)
        whole = validated_envelope(fields)
        items, known = envelope.items(whole, graph, found), envelope.known(whole, graph, found, self._predicates)
        return Assembled(whole, gate, found.skipped, items, known)

    async def blocks(
        self, viewer: Viewer, request: BlocksRequest, now: datetime, moment: Moment = NOW
    ) -> tuple[Prompt, Sequence[ServedItem]]:
        """What precedes a conversation: blocks 1-A, 1-B and 2-B, and the delta header; and what they show (C14)."""
        self._admitted(viewer)
        if moment.as_of is not None:
            now = await self._instant(viewer, moment.as_of)
        gather = partial(
            blocks.preceding,
            request=request,
            now=now,
            predicates=self._predicates,
            point=await self._point(viewer, When(), moment),
        )
        contents, items = await self._read(viewer, moment, (*_OPENING, CONVERSATION, GRAPH), gather)
        return prompt(contents), items

    async def prompt(
        self, viewer: Viewer, request: PromptRequest, now: datetime, moment: Moment, message_id: str, random: Random
    ) -> Prompted:
        """The prompt for a recorded message, with its envelope (C14). What comes to a being's mind is in it."""
        self._admitted(viewer)
        session = await self._session_or_new(viewer, request.thread_id, moment)
        shown = {*blocks.shown_turns(session), message_id}
        assembled = await self._assembled(viewer, request, session, now, moment, shown)
        gather = partial(
            blocks.contents,
            request=request,
            envelope=assembled.envelope,
            session=session,
            now=now,
            predicates=self._predicates,
            point=await self._point(viewer, When(), moment),
        )
        contents, beside, origin = await self._read(viewer, moment, (*_OPENING, ARTIFACTS, CONVERSATION, GRAPH), gather)
        scenes = await self._recalled(viewer, request, moment)
        contents = replace(contents, recalled=recall_block(fragments_of(scenes, random)))
        items = {one.id: one for one in (*map(blocks.item_of, scenes), *beside, *assembled.items)}
        origin = lowest(origin, *map(blocks.origin_of, scenes))
        return Prompted(assembled, prompt(contents), list(items.values()), origin)

    async def _recalled(self, viewer: Viewer, request: PromptRequest, moment: Moment) -> Sequence[Row]:
        """The scenes that a message brings to a being's mind; none for another agent."""
        if not await self._read(viewer, moment, (BEING,), is_being):
            return []
        _, rows = await self._come_to_mind(viewer, request.message, moment, trusted_only=request.trusted_only)
        return rows

    async def claims(
        self, viewer: Viewer, request: ClaimsRequest, now: datetime, moment: Moment = NOW
    ) -> Sequence[Claim]:
        """What is known says to each claim of a text: facts around it, and what a search for it finds (A03)."""
        self._admitted(viewer)
        said = claims(request.text)
        if not said:
            return []
        session = await self._session_or_new(viewer, request.thread_id, moment)
        point = await self._point(viewer, When(), moment)
        graph = await self._graph(viewer, request.text, MAX_EDGES * len(said), session, moment, point)
        searched = await self._search(viewer, said, moment, point)
        hits = {hit.id: hit for one in searched for hit in one.hits}
        passages = {one["chunk_id"]: one for found in searched for one in found.passages}
        found = Found(list(hits.values()), list(passages.values()))
        then = now if moment.as_of is None else point.valid_at
        about = self._put_together(viewer, request.thread_id, session, then, Decision(), graph, found)
        name = proper_name(viewer.user_id, ME)
        return [
            judged(claim, [one for one in about.known if one.slot is Slot.GRAPH or one.id in of.ids], name)
            for claim, of in zip(said, searched, strict=True)
        ]

    async def _session_or_new(self, viewer: Viewer, chat_id: str, moment: Moment) -> Session:
        try:
            return await self.session(viewer, chat_id, moment)
        except NotFound:
            return Session(viewer.user_id, viewer.agent_id, chat_id)

    async def served(self, viewer: Viewer, message_id: str | None, moment: Moment = NOW) -> Sequence[Mapping[str, Any]]:
        """What the viewing agent was given for this message or to write it, or at any time, the latest first (X18)."""
        return await self._from_log(viewer, moment, served_tag(message_id) if message_id else SERVED, _servings)


def _servings(viewer: Viewer, events: Sequence[Recorded]) -> Sequence[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for event in events:
        if isinstance(event.payload, UserErased):
            rows.clear()
        elif isinstance(event.payload, ContextServed) and event.payload.agent_id == viewer.agent_id:
            recorded = {"policy_version": event.meta.policy_version, "at": event.recorded_at, "seq": event.seq}
            rows.append({"event_id": event.event_id, **event.payload.model_dump(), **recorded})
    return rows[::-1]
