"""The patrols of beings whose session has ended: a sweep enqueues a durable job for each (C §Patrol Pipeline)."""

import logging
from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial

from mnemolog.adapters.jobs.job import Attempt, JobKind, Payload
from mnemolog.adapters.maintenance.minds import Ran, Run
from mnemolog.adapters.maintenance.patrolling import key_of_cycle, patrol
from mnemolog.adapters.services import Services
from mnemolog.domain.errors import MnemologError, NotFound
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.patrol import What, over
from mnemolog.domain.viewer import Viewer
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Header, StreamId, run_tag
from mnemolog.events.patrol import cycle_tag
from mnemolog.projections.being.reader import with_notes
from mnemolog.projections.memories.nodes import with_scenes

_logger = logging.getLogger("mnemolog.patrol")

SWEEP, PATROL = "patrol", "patrol-being"
EVERY_SECONDS = 300.0


def patrols(engine: Services) -> list[JobKind]:
    """The sweep, and the job of one being. A job that runs again goes on with what is left."""
    sweep = Sweep(engine)

    async def enqueue(attempt: Attempt) -> None:
        if engine.settings.minds == "on":
            await attempt.save({"enqueued": await sweep.enqueue(engine.writes.now())})

    one = partial(patrol_due, engine)
    return [JobKind(name=SWEEP, every=EVERY_SECONDS, run=enqueue), JobKind(name=PATROL, run=one, mind=Mind.PATROL)]


async def run_patrol(run: Run) -> Ran:
    """A patrol of one being, as a run of a mind. NotFound if it has neither scenes nor scene notes."""
    done = await patrol(run.engine, run.viewer, run.run_id, dry_run=run.dry_run)
    ran = run.begun()
    changes = [one for step in done.steps for one in step.changes]
    for one in changes:
        if one.what is not What.COUNTED:
            change = {"type": one.what.value, "memory_id": one.id, "into": one.into}
            ran.changes.append({**change, "text": one.text} if one.text else change)
    ran.figures = {"counted": sum(one.what is What.COUNTED for one in changes)}
    ran.skipped = [f"{step.step}: {step.why}" for step in done.steps if step.why]
    if done.fault:
        ran.skipped.append(str(done.fault))
    return ran


async def patrol_due(engine: Services, attempt: Attempt) -> None:
    """The patrol of a being after its session, unless another one has closed its cycle; raises a model's error last."""
    job, run_id = attempt.job, f"patrol-{attempt.job.job_id}"
    stream = job.owner
    being = Viewer(job.tenant, stream.owner, str(job.payload["agent_id"]))
    turn = await last_turn(engine, being)
    begun = await engine.log.read(stream, tags=[run_tag(run_id)])
    if not begun and (turn is None or turn.seq != job.payload["turn"]):
        return
    key = key_of_cycle(being.agent_id, job.payload["turn"])
    try:
        done = await patrol(engine, being, run_id, cycle_key=key)
    except NotFound:  # Its scenes are gone.
        return
    await attempt.save({"changes": sum(len(step.changes) for step in done.steps)})
    if done.fault:
        raise done.fault


class Sweep:
    """Enqueues a patrol for each being whose session has ended, once per session.

    It remembers up to which seq a stream has no turns of a waiting being, so that a silent being costs no reads.
    """

    def __init__(self, engine: Services) -> None:
        self._engine = engine
        self._quiet: dict[Viewer, int] = {}

    async def enqueue(self, now: datetime) -> int:
        """A job for each being that is due; how many. A damaged stream does not affect the others."""
        enqueued = 0
        async for being in self._beings():
            try:
                turn = await self._due(being, now)
            except MnemologError as error:
                _logger.warning("the patrol of %s waits: %s", being.agent_id, type(error).__name__)
                continue
            if turn is not None:
                payload: Payload = {"agent_id": str(being.agent_id), "turn": turn.seq}
                key = f"{being.agent_id}\n{turn.seq}"
                await self._engine.jobs.enqueue(PATROL, payload, stream=_stream(being), unique_key=key)
                enqueued += 1
        return enqueued

    async def _beings(self) -> AsyncIterator[Viewer]:
        """The beings of all users with scenes or unread notes, each once."""
        seen = set[Viewer]()
        async with self._engine.projections.live.connect() as connection:
            for listed in (with_scenes, with_notes):
                async for page in listed(connection):
                    await connection.commit()  # No transaction stays open meanwhile.
                    for being in page:
                        if being not in seen:
                            seen.add(being)
                            yield being

    async def _due(self, being: Viewer, now: datetime) -> Header | None:
        """The last turn of a being whose session has ended since its last cycle."""
        head = await self._engine.log.head(_stream(being))
        if self._quiet.get(being) == head:
            return None
        turn = await last_turn(self._engine, being)
        if turn is None:
            self._quiet[being] = head
            return None
        return turn if over(turn.recorded_at, now) else None


async def last_turn(engine: Services, being: Viewer) -> Header | None:
    """The being's last turn since its last cycle, from headers only."""
    log, stream, last = engine.log, _stream(being), None
    cycles = await log.read(stream, tags=[cycle_tag(being.agent_id)])
    async for batch in log.scan(stream, after=cycles[-1].seq if cycles else 0):
        for header in (one.header for one in batch):
            if header.type == TurnRecorded.type_name() and header.meta["agent_id"] == being.agent_id:
                last = header
    return last


def _stream(being: Viewer) -> StreamId:
    return StreamId.of_user(being.user_id, being.tenant)
