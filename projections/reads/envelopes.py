"""The read of the inference envelope: working memory, the graph and, where the gate opens, a search (A §7.1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from mnemolog.domain.claims import Claim, claims, judged
from mnemolog.domain.entity import ME, proper_name
from mnemolog.domain.errors import NotFound
from mnemolog.domain.gate import Gate
from mnemolog.domain.prompt import Prompt, prompt
from mnemolog.domain.session import Session
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import UserErased
from mnemolog.events.serving import ContextServed, ServedItem, served_tag
from mnemolog.projections import blocks, envelope
from mnemolog.projections.blocks import PromptRequest
from mnemolog.projections.envelope import Assembled, ClaimsRequest, EnvelopeRequest, Found
from mnemolog.projections.reads.graph import GraphReads, When
from mnemolog.projections.reads.knowledge import KnowledgeReads
from mnemolog.projections.reads.memories import RECALLED, MemoryReads
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import CHANGES, GRAPH, MEMORIES, PROFILE, SUMMARIES
from mnemolog.projections.slots import validated_envelope


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt, the envelope in it, and all that it shows."""

    assembled: Assembled
    prompt: Prompt
    items: Sequence[ServedItem]


class EnvelopeReads(MemoryReads, GraphReads, KnowledgeReads):
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
        *,
        search: bool | None = None,
    ) -> Assembled:
        """`search`: whether episodes and knowledge are searched, if the gate does not decide that."""
        point = await self._point(viewer, When(), moment)
        around = partial(
            envelope.local_graph,
            request=request,
            active=[UUID(one) for one in session.active_entity_ids],
            predicates=self._predicates,
            point=point,
        )
        graph = await self._read(viewer, moment, (GRAPH,), around)
        gate, found = self._gate.decide(request.message, graph.mentioned), Found()
        if gate.search if search is None else search:
            asked = partial(envelope.search, without=without)
            question, found = await self._by_meaning(viewer, moment, RECALLED, request.message, asked)
            self._used(viewer, moment, (hit.row for hit in found.hits))
            # The library has a stream of its own: what it held is told by the time.
            then = Moment(as_of=None if moment.as_of is None else await self._instant(viewer, moment.as_of))
            chunks = await self.search_knowledge(viewer, request.message, limit=envelope.HITS, moment=then)
            found = replace(found, passages=envelope.passages(chunks, question))
        affect = session.affect_shown(moment.as_of if isinstance(moment.as_of, datetime) else now)
        fields = envelope.envelope_fields(viewer, request.thread_id, affect, graph, found, self._predicates)
        whole = validated_envelope(fields)
        items, known = envelope.items(whole, graph, found), envelope.known(whole, graph, found, self._predicates)
        return Assembled(whole, gate, found.skipped, items, known)

    async def prompt(
        self, viewer: Viewer, request: PromptRequest, now: datetime, moment: Moment, message_id: str
    ) -> Prompted:
        """The prompt for a recorded message, with its envelope (C14)."""
        self._admitted(viewer)
        session = await self._session_or_new(viewer, request.thread_id, moment)
        shown = {*blocks.shown_turns(session), message_id}
        assembled = await self._assembled(viewer, request, session, now, moment, shown)
        gather = partial(blocks.contents, request=request, envelope=assembled.envelope, session=session, now=now)
        names = (MEMORIES, PROFILE, SUMMARIES, CHANGES)
        contents, beside = await self._read(viewer, moment, names, gather)
        items = {one.id: one for one in (*beside, *assembled.items)}
        return Prompted(assembled, prompt(contents), list(items.values()))

    async def claims(
        self, viewer: Viewer, request: ClaimsRequest, now: datetime, moment: Moment = NOW
    ) -> Sequence[Claim]:
        """What is known says to each claim of a text: facts around it, and what a search for it finds (A03)."""
        self._admitted(viewer)
        session = await self._session_or_new(viewer, request.thread_id, moment)
        found = []
        for claim in claims(request.text):
            asked = EnvelopeRequest(message=claim, thread_id=request.thread_id)
            about = await self._assembled(viewer, asked, session, now, moment, (), search=True)
            found.append(judged(claim, about.known, proper_name(viewer.user_id, ME)))
        return found

    async def _session_or_new(self, viewer: Viewer, chat_id: str, moment: Moment) -> Session:
        try:
            return await self.session(viewer, chat_id, moment)
        except NotFound:
            return Session(viewer.user_id, viewer.agent_id, chat_id)

    async def served(self, viewer: Viewer, message_id: str, moment: Moment = NOW) -> Sequence[Mapping[str, Any]]:
        """What the viewing agent was given for this message, or to write it, the latest first (X18)."""
        return await self._from_log(viewer, moment, served_tag(message_id), _servings)


def _servings(viewer: Viewer, events: Sequence[Recorded]) -> Sequence[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for event in events:
        if isinstance(event.payload, UserErased):
            rows.clear()
        elif isinstance(event.payload, ContextServed) and event.payload.agent_id == viewer.agent_id:
            recorded = {"policy_version": event.meta.policy_version, "at": event.recorded_at, "seq": event.seq}
            rows.append({"event_id": event.event_id, **event.payload.model_dump(), **recorded})
    return rows[::-1]
