"""Divides threads into sessions and episodes, off the path of writes: a job a thread (D07, E02).

A sweep over the open threads enqueues the jobs: one once a thread was quiet for a minute, one every ten minutes while
it is not, and one when silence ends a session or closes an episode. So a turn costs nothing here, and what a crash
interrupts is found by the next sweep.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.jobs.job import JobKind
from mnemolog.adapters.maintenance.threads import enqueue_threads, of_threads
from mnemolog.adapters.services import Services
from mnemolog.commands.episodes import EPISODES, SegmentThread, undecided_from
from mnemolog.domain.episode import Place
from mnemolog.domain.errors import ModelMissing
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.segmentation import SpokenTurn, Vector, has_topic
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded, thread_tag, turn_tag
from mnemolog.events.envelope import Receipt, Recorded, StreamId
from mnemolog.events.erasure import USER, ThreadErased, UserErased
from mnemolog.events.fields import validated
from mnemolog.projections.rows import Row
from mnemolog.projections.vectors.embedder import Embedder

ACTOR = "segmenter"
SWEEP, THREAD = "sweep-threads", "segment-thread"
EVERY_SECONDS = 30.0
QUIET, LONGEST, AGAIN = timedelta(minutes=1), timedelta(minutes=10), timedelta(minutes=30)


def segmenting(engine: Services) -> list[JobKind]:
    """The sweep, and the job of one thread, which decides again under the guard of the log."""
    return of_threads(engine, SWEEP, THREAD, EVERY_SECONDS, enqueue_due, segment, Mind.EPISODES)


async def enqueue_due(engine: Services, now: datetime) -> int:
    """A job for each thread that is due, once for the same reason; how many are due."""

    async def reasons(_: AsyncConnection, page: Sequence[Row]) -> Sequence[str | None]:
        return [_reason(engine, row, now) for row in page]

    return await enqueue_threads(engine, THREAD, reasons)


def _reason(engine: Services, row: Row, now: datetime) -> str | None:
    """Why a thread is due, as part of its job's key. What silence ends is tried again until it has ended."""
    policy, again = engine.policy.segmentation, int(now.timestamp() // AGAIN.total_seconds())
    spoken = row["last_user_message_at"] or row["last_activity_at"]
    if row["active_episode_id"] and now - spoken > policy.episode_silence:
        return f"{row['turns']} closed {again}"
    if row["active_session_id"] and now - row["last_activity_at"] > policy.session_silence:
        return f"{row['turns']} ended {again}"
    if now - row["recorded_at"] >= QUIET:
        return f"{row['turns']}"
    if row["waiting_since"] and now - row["waiting_since"] >= LONGEST:
        return f"busy {int(now.timestamp() // LONGEST.total_seconds())}"
    return None


async def segment(
    engine: Services, stream: StreamId, agent_id: str, thread_id: str, now: datetime | None = None
) -> Receipt | None:
    """Divide what is undecided of a thread. None where there is nothing to decide."""
    at = now or engine.writes.now()
    who = {"tenant": stream.tenant, "user_id": stream.owner, "agent_id": agent_id, "thread_id": thread_id}
    about = {**who, "actor": ACTOR, "policy": engine.policy.segmentation, "at": at}
    empty = validated(SegmentThread, {**about, "turns": ()})
    place = undecided_from(await engine.writes.handler.read(EPISODES, empty), agent_id, thread_id)
    turns, erased = await _turns(engine, stream, agent_id, thread_id, place)
    if not turns or (place is None and erased == len(turns)):
        return None
    embedder = await engine.projections.embedder()
    least = engine.policy.segmentation.topic_similarity
    if least is None:
        least = embedder.calibration.topic_similarity
    vectors = await _vectors(embedder, [turn.payload.text for turn in turns[erased:]])
    command = empty.model_copy(
        update={
            "turns": tuple(_spoken(engine, turn, vectors) for turn in turns),
            "erased_through": turns[erased - 1].number if erased else 0,
            "least_similarity": least,
            "model": embedder.model if vectors else None,
        }
    )
    return await engine.writes.handle(command)


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn that was recorded, and its number in the thread."""

    number: int
    event: Recorded
    payload: TurnRecorded


async def _turns(
    engine: Services, stream: StreamId, agent_id: str, thread_id: str, place: Place | None
) -> tuple[Sequence[_Turn], int]:
    """The agent's turns from a place on, and how many of them an erasure of the thread took."""
    after, number = 0, 0
    if place is not None:
        known = await engine.log.read(stream, tags=[turn_tag(place.turn_id)])
        after = next(one.seq for one in known if isinstance(one.payload, TurnRecorded)) - 1
        number = place.number - 1
    found, erased = list[_Turn](), 0
    for event in await engine.log.read(stream, after=after, tags=[thread_tag(thread_id), USER]):
        if isinstance(event.payload, TurnRecorded) and event.meta.agent_id == agent_id:
            number += 1
            found.append(_Turn(number, event, event.payload))
        elif isinstance(event.payload, ThreadErased):
            erased = len(found)
        elif isinstance(event.payload, UserErased):
            found, number, erased = [], 0, 0
    return found, erased


async def _vectors(embedder: Embedder, texts: Sequence[str]) -> Mapping[str, Vector]:
    """Of the texts that say enough; none without a model, so that silence and markers decide alone (X12)."""
    telling = sorted({text for text in texts if has_topic(text)})
    try:
        return dict(zip(telling, (await embedder.embed(telling)).tolist(), strict=True))
    except ModelMissing:
        return {}


def _spoken(engine: Services, turn: _Turn, vectors: Mapping[str, Vector]) -> SpokenTurn:
    by_user, text = turn.payload.role is Role.USER, turn.payload.text
    marker = engine.policy.segmentation.markers.found_in(text) if by_user else None
    place = Place(turn.payload.turn_id, turn.number, turn.event.occurred_at)
    return SpokenTurn(place, by_user, marker, vectors.get(text), turn.event.recorded_at)
