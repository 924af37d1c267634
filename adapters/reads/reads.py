"""The reads of an engine: query, history, changes, sessions; current, or as of an earlier moment."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any, Self, TypeVar
from uuid import UUID

from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import Pool

from mnemolog.adapters.minilm.sharing import expect
from mnemolog.adapters.postgres.confinement import confine_to
from mnemolog.adapters.postgres.sqlalchemy import connected, is_gone
from mnemolog.adapters.reads.limits import Caller, Callers, ReadLimits, Unlimited
from mnemolog.adapters.reads.replays import Replays
from mnemolog.adapters.reads.waiting import Waits
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.adapters.verify.incidents import By, Done, Incidents
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound, ServerFailed, TamperedEvent, TamperedRow
from mnemolog.domain.gate import Gate
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.principal import Principal
from mnemolog.domain.pronouns import Pronouns
from mnemolog.domain.session import Session
from mnemolog.domain.text import CountTokens
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import USER, Position, Recorded, StreamId
from mnemolog.events.log import EventLog
from mnemolog.events.memory import Recall
from mnemolog.projections.asking import together
from mnemolog.projections.history import from_log
from mnemolog.projections.projector import Store
from mnemolog.projections.reads.artifacts import ArtifactReads
from mnemolog.projections.reads.being import BeingReads
from mnemolog.projections.reads.envelopes import EnvelopeReads
from mnemolog.projections.reads.episodes import EpisodeReads
from mnemolog.projections.reads.moment import NOW, Moment, seq_of
from mnemolog.projections.reads.operations import OperationReads
from mnemolog.projections.reads.profile import ProfileReads
from mnemolog.projections.reads.reading import Recalled
from mnemolog.projections.reads.watching import WatchReads
from mnemolog.projections.runtime import Projection
from mnemolog.projections.vectors.embedder import Embedder
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.projector import NAME as VECTORS
from mnemolog.projections.vectors.question import Question, questions_of
from mnemolog.projections.visibility import viewed
from mnemolog.projections.working.projector import SessionPlace

_logger = logging.getLogger("mnemolog.reads")

T = TypeVar("T")

# A user may be erased from in portions, each of which ends the replays.
REPEATS = 4
# A wait asks once for the progress, however short it is.
LEAST_SECONDS = 0.001


class Reads(EnvelopeReads, ProfileReads, ArtifactReads, EpisodeReads, OperationReads, BeingReads, WatchReads):
    """Every read names its viewer and sees only that viewer's data: the agent's allowlist narrows each one here (B §5).

    A row that its projector did not write is never shown: it is reported (`tampered` counts them by projection), the
    stream is healed from the log in that projection, and the read is repeated once.

    Live reads use `reading`, whose connections only see rows of the viewer's tenant, whatever a reader selects; as of
    an earlier moment there are only rows of the viewer's own stream.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        reading: AsyncEngine,
        log: EventLog,
        running: Mapping[str, Projection],
        replays: Replays,
        working: WorkingStore,
        embedder: Embedder,
        live_embedder: Callable[[], Awaitable[Embedder]],
        index: VectorIndex,
        policy: CategoryPolicy,
        predicates: PredicatePolicy,
        pronouns: Pronouns,
        gate: Gate,
        count_tokens: CountTokens,
        limits: ReadLimits,
        incidents: Incidents,
    ) -> None:
        self._incidents = incidents
        self._log, self._running, self.replays = log, running, replays
        self._stores: Mapping[str, Store] = {name: projection.store for name, projection in running.items()}
        self._waits = Waits(self._stores, log, engine, limits.deadline, limits.longest)
        self.tampered: Counter[str] = Counter()
        self.recalled: Recalled = _unnoted
        # A read that waits for a swap holds no lock that the swap waits for; it also saves 1 of a query's 6 ms.
        self._each_statement_alone = reading
        self._principal: Principal | None = None
        self.callers = Callers(limits)
        self._caller: Caller = Unlimited()
        self._working, self._policy, self._predicates = working, policy, predicates
        self._pronouns, self._gate, self.count_tokens = pronouns, gate, count_tokens
        self._embedder, self._live_embedder, self._index = embedder, live_embedder, index

    async def aclose(self) -> None:
        """End open queries, before the connections are closed."""
        await self._waits.aclose()

    @property
    def pool(self) -> Pool:
        """The connections that live reads use."""
        return self._each_statement_alone.pool

    @property
    def embedder(self) -> Embedder:
        """That of the settings."""
        return self._embedder

    @property
    def waiting(self) -> int:
        """How many reads wait for a projection."""
        return self._waits.open

    def by(self, principal: Principal | None) -> Self:
        """The same reads, restricted to this principal's scope."""
        bound = copy(self)
        bound._principal = principal
        bound._caller = self.callers.of(principal.tenant, principal.name) if principal else Unlimited()
        return bound

    def of_anybody(self) -> Self:
        """The same reads for callers without a key, who together count as one."""
        bound = copy(self)
        bound._caller = self.callers.of("", "")
        return bound

    def long_read(self) -> AbstractAsyncContextManager[None]:
        """Counts as one of the caller's reads as of a moment, because it takes as long."""
        return self._caller.read(Moment(as_of=0))

    def held_open(self) -> AbstractAsyncContextManager[None]:
        """Counts as one of the caller's reads for as long as it lasts."""
        return self._caller.read(NOW)

    async def session(self, viewer: Viewer, chat_id: str, moment: Moment = NOW) -> Session:
        """The agent's own working memory of a chat (A §3.1); NotFound if nothing was said recently."""
        viewer = self._admitted(viewer)
        self.callers.limits.require(moment)
        async with self._caller.read(moment):
            return await self._session_of(viewer, chat_id, moment)

    async def _session_of(self, viewer: Viewer, chat_id: str, moment: Moment) -> Session:
        place = SessionPlace(viewer.tenant, viewer.user_id, viewer.agent_id, chat_id)
        try:
            if moment.as_of is None:
                await self._wait(place.stream, moment, [self._working.name])
            found = await self._session(place, moment)
        except self._working.transient as error:
            raise ServerFailed(
                f"working memory does not answer ({type(error).__name__})",
                field="redis_url",
                fix="see that Redis runs; nothing is lost, working memory is rebuilt from the log",
            ) from error
        if found is None:
            raise NotFound(
                f"no session of {place.user_id!r} with {place.agent_id!r} in {place.chat_id!r}",
                field="thread_id",
                fix="record a turn; a session ends after a day without turns",
            )
        return found

    async def affect(self, viewer: Viewer, chat_id: str, now: datetime, moment: Moment = NOW) -> dict[str, Any]:
        """The agent's affect of a chat (A §3.2); neutral if none is known."""
        viewer = self._admitted(viewer)
        self.callers.limits.require(moment)
        async with self._caller.read(moment):
            try:
                found = await self._session_of(viewer, chat_id, moment)
            except NotFound:
                found = Session(viewer.user_id, viewer.agent_id, chat_id)
            return found.affect_shown(now if moment.as_of is None else await self._instant(viewer, moment.as_of))

    async def held_up(self, position: Position) -> Mapping[str, MnemologError]:
        """Wait until every projection shows a write; returns those that do not within the read deadline, and why."""
        return await self._waits.held_up(position)

    async def unshown(
        self, stream: StreamId, names: Collection[str], most: int, types: Collection[str]
    ) -> Sequence[Recorded]:
        """Of the last events of a stream, at most so many, those of these types that some projections do not show."""
        shown, head = await together(self._waits.shown(stream, names), self._log.head(stream))
        if head <= shown:
            return ()
        scanned = self._log.scan(stream, after=max(shown, head - most), until=head)
        found = [event async for batch in scanned for event in batch if event.header.type in types]
        return await self._log.decode(found, unread=True) if found else ()

    def expect(self, text: str) -> None:
        """Let the model begin with a text while something else is read that comes before."""
        expect(self._embedder, [text])

    async def similarities(self, question: Question, texts: Sequence[str]) -> Mapping[str, float]:
        """How similar each text is to a question, by the model of the question; none if that is no longer in use."""
        embedder = await self._live_embedder()
        if not texts or embedder.model != question.model:
            return {}
        return dict(zip(texts, map(float, await embedder.embed(texts) @ question.meaning()), strict=True))

    async def known_similarities(self, question: Question, texts: Sequence[str]) -> Mapping[str, float]:
        """How similar those texts are whose vectors are cached. The model is not asked."""
        embedder = await self._live_embedder()
        if embedder.model != question.model:
            return {}
        meaning = question.meaning()
        return {text: float(vector @ meaning) for text, vector in embedder.cached(texts).items()}

    async def _session(self, place: SessionPlace, moment: Moment) -> Session | None:
        if moment.as_of is None:
            try:
                return await self._working.read(place)
            except TamperedRow as damage:
                await self._heal(damage, place.stream)
                return await self._working.read(place)
        return await self.replays.session(place, moment.as_of, moment.deadline)

    async def _by_meanings(
        self,
        viewer: Viewer,
        moment: Moment,
        names: Sequence[str],
        texts: Sequence[str],
        ask: Callable[..., Awaitable[T]],
    ) -> tuple[Sequence[Question], T]:
        """Embed texts in one call before a connection is taken, then call `ask` with the `questions`.

        Meanwhile the projections come to show what a live read must see.
        Uses the embedder of the visible vectors, and repeats once if they were swapped meanwhile. As of an earlier
        moment they are always the current model's.
        """
        viewer, stream = self._admitted(viewer), viewed(viewer)
        self.callers.limits.require(moment)
        async with self._caller.read(moment), _tables_of(names):
            embedder = await self._seen_embedder(moment)
            while True:
                embedded, there = questions_of(texts, embedder), moment
                if moment.as_of is None:
                    questions = await self._embedded(embedded, stream, moment, names)
                    there = replace(moment, after=None, consistency="eventual")
                else:
                    questions = await embedded
                found = await self._healed(
                    viewer, stream, there, names, partial(ask, index=self._index, questions=questions)
                )
                now = await self._seen_embedder(moment)
                if now is embedder:
                    return questions, found
                embedder = now

    async def _embedded(
        self, embedded: Awaitable[Sequence[Question]], stream: StreamId, moment: Moment, names: Sequence[str]
    ) -> Sequence[Question]:
        """The questions, once the projections show what a live read must see.

        Without their vectors it goes by words alone, and does not wait for the vectors of what is new.
        """
        shown, began = asyncio.create_task(self._wait(stream, moment, names)), monotonic()
        try:
            questions = await embedded
            if not any(one.fault for one in questions):
                await shown
            elif not shown.done() or shown.exception():
                shown.cancel()
                left = (moment.deadline or self.callers.limits.deadline) - (monotonic() - began)
                others = [name for name in names if name != VECTORS]
                await self._wait(stream, replace(moment, deadline=max(left, LEAST_SECONDS)), others)
            return questions
        finally:
            shown.cancel()
            await asyncio.gather(shown, return_exceptions=True)

    async def _seen_embedder(self, moment: Moment) -> Embedder:
        return self._embedder if moment.as_of is not None else await self._live_embedder()

    async def _read(
        self,
        viewer: Viewer,
        moment: Moment,
        names: Sequence[str],
        ask: Callable[[AsyncConnection, Viewer], Awaitable[T]],
    ) -> T:
        """The result of `ask` at that moment; each projection in which it finds a forged row is healed once.

        `names` are the projections that `ask` reads: as of an earlier moment there are no others.
        """
        viewer, stream = self._admitted(viewer), viewed(viewer)
        self.callers.limits.require(moment)
        async with self._caller.read(moment), _tables_of(names):
            return await self._healed(viewer, stream, moment, names, ask)

    async def _healed(
        self,
        viewer: Viewer,
        stream: StreamId,
        moment: Moment,
        names: Sequence[str],
        ask: Callable[[AsyncConnection, Viewer], Awaitable[T]],
    ) -> T:
        healed: set[str] = set()
        repeats = REPEATS if moment.as_of is not None else 0
        while True:
            try:
                async with self._at(stream, moment, names) as connection:
                    return await ask(connection, viewer)
            except OperationalError:
                if not repeats:
                    raise
                repeats -= 1  # Each erasure in another process ends the replays of its user.
            except TamperedRow as damage:
                if moment.as_of is not None or damage.projection in healed:
                    raise
                await self._heal(damage, stream)
                healed.add(damage.projection)

    async def _from_log(
        self, viewer: Viewer, moment: Moment, tag: str, read: Callable[..., Sequence[Mapping[str, Any]]]
    ) -> Sequence[Mapping[str, Any]]:
        """What is read from the log itself, which holds every write that has returned.

        The whole stream is verified against the chain, because its tags do not find a deleted event.
        """
        viewer, stream = self._admitted(viewer), viewed(viewer)
        self.callers.limits.require(moment)
        if moment.after:
            _require_own(moment.after, stream)
        async with self._caller.read(moment):
            if moment.after and moment.as_of is None:
                await self._waits.until_logged(moment.after, moment.deadline)
            async with self._caller.turn():
                until = None if moment.as_of is None else await seq_of(self._log, stream, moment.as_of)
                async for _ in self._log.scan(stream, until=until):
                    pass
                events = await self._log.read(stream, tags=from_log.read_by(tag), until=until)
                return read(viewer, events=events)

    def _admitted(self, viewer: Viewer) -> Viewer:
        if self._principal:
            self._principal.require_viewer(viewer)
        return viewer.within(self._policy.readable(viewer.agent_id))

    async def _heal(self, damage: TamperedRow, stream: StreamId) -> None:
        _logger.error("%s; %s is healed from the log", damage.message, stream)
        self.tampered[damage.projection] += 1
        try:
            await self._running[damage.projection].heal(stream)
        except TamperedEvent:
            await self._incidents.row(damage, stream, By.READ, Done.REFUSED)
            raise
        await self._incidents.row(damage, stream, By.READ, Done.HEALED)

    def _require_sound_log(self, viewer: Viewer) -> None:
        """TamperedEvent if the log of this user is known to be damaged, so that its history is unreliable."""
        stream = viewed(viewer)
        if known := self._incidents.of_log(stream):
            raise TamperedEvent(str(known.stream), known.seq, known.detail, known.event_id)

    @asynccontextmanager
    async def _at(self, stream: StreamId, moment: Moment, names: Sequence[str]) -> AsyncIterator[AsyncConnection]:
        """A connection on which the projections `names` show that moment of the stream."""
        if moment.as_of is not None:
            async with self.replays.at(stream, moment.as_of, names, moment.deadline) as connection:
                yield connection
            return
        await self._wait(stream, moment, names)
        async with self._caller.turn(), connected(self._each_statement_alone) as connection:
            await confine_to(connection, stream.tenant)
            yield connection

    async def _wait(self, stream: StreamId, moment: Moment, names: Sequence[str]) -> None:
        """Return once these projections show what a live read must see."""
        if moment.after:
            _require_own(moment.after, stream)
            await self._waits.until(moment.after, names, moment.deadline)
        elif moment.consistency == "strong":
            await self._waits.until_current(stream, names, moment.deadline)


@asynccontextmanager
async def _tables_of(names: Sequence[str]) -> AsyncIterator[None]:
    """ServerFailed if tables that are read were dropped: the engine rebuilds them within seconds."""
    try:
        yield
    except DBAPIError as error:
        if not is_gone(error):
            raise
        what = f"tables of {', '.join(names)} were dropped; they are being rebuilt from the log"
        raise ServerFailed(what, field="postgres_url", fix="try again in a few seconds") from error


def _unnoted(viewer: Viewer, weights: Mapping[UUID, int], by: Recall = Recall.QUERY) -> None:
    """Recalls are not noted until an engine is wired."""


def _require_own(after: Position, stream: StreamId) -> None:
    if after.stream == stream:
        return
    of_user, same = after.stream.kind == USER, after.stream.kind == stream.kind
    whose = ("another" if same else "a") + " user's write"
    if not of_user:
        whose = ("another" if same else "an") + " agent's library"
    fix = "pass a receipt of this user" if stream.kind == USER else "pass a receipt of this library"
    if stream.kind == USER and not of_user:
        fix = "omit it: a read includes every write to the library that was acknowledged before"
    raise InvalidInput(f"this token belongs to {whose}", field="after", fix=fix)
