"""The route that reports the engine's health."""

import asyncio
from typing import Literal

from mnemolog.adapters.http.routes import TheEngine, api_router
from mnemolog.adapters.http.security import NOBODY
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.operations.results import HealthView, LiveView
from mnemolog.domain.principal import Role

DEADLINE_SECONDS = 5.0

router = api_router("", "maintenance", secured=False)


@router.get("/health", summary="How far behind each projection is, and what stands still")
async def get_health(engine: TheEngine) -> HealthView | LiveView:
    """Without a token or a key: only that the server is alive.

    With one: 200 while reads and writes work. The status is `degraded` if a poisoned event stopped a stream, if there
    are unacknowledged incidents, if jobs have failed permanently, or if a mind is paused. 503 if a store does not
    answer within five seconds.
    """
    if engine.principal is NOBODY:
        return LiveView()
    async with asyncio.timeout(DEADLINE_SECONDS):
        # The type of the error; its text, which may quote a memory, stays in the log.
        stopped = {
            name: {stream: ": ".join(reason.split(": ")[:2]) for stream, reason in streams.items()}
            for name, streams in (await engine.projections.stopped()).items()
        }
        shown = stopped if engine.principal is None or engine.principal.may(Role.ADMIN) else {}  # They name users.
        lag = await engine.projections.lag()
        outbox = await engine.outbox.size()
        await engine.incidents.refresh()
        failed = (await engine.jobs.counts())[JobStatus.FAILED]
        paused = list(await engine.jobs.paused_minds())
    incidents = len(engine.incidents.open())
    status: Literal["ok", "degraded"] = "degraded" if stopped or incidents or failed or paused else "ok"
    return HealthView(
        status=status,
        lag=dict(lag),
        outbox=outbox,
        stopped=shown,
        incidents=incidents,
        failed_jobs=failed,
        paused_minds=paused,
    )
