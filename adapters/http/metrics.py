"""Prometheus metrics of one process: requests and writes so far, and the engine's state at the time of the scrape."""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence

import psycopg
from fastapi import Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import mnemolog
from mnemolog.adapters import telemetry
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.routes import TheEngine, api_router
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.errors import MnemologError

_logger = logging.getLogger("mnemolog.http.requests")

SCRAPE_SECONDS = 5.0
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

REGISTRY = CollectorRegistry()
_requests = Counter(
    "mnemolog_requests", "HTTP requests that were answered.", ["operation", "status"], registry=REGISTRY
)
_request_seconds = Histogram(
    "mnemolog_request_seconds",
    "Time from a request to the end of its answer.",
    ["operation"],
    buckets=BUCKETS,
    registry=REGISTRY,
)
_step_seconds = {
    name: Histogram(f"mnemolog_{name}_seconds", text, buckets=BUCKETS, registry=REGISTRY)
    for name, text in {
        "command": "Time that a command took, its appends included.",
        "append": "Time until an append to the log was durable.",
        "model": "Time that a call of a model took, retries included.",
        "project": "Time that a batch of events took to be applied to projections.",
    }.items()
}
_answers = Gauge("mnemolog_stores_up", "1 when all stores answered this scrape.", registry=REGISTRY)
_lag_events = Gauge("mnemolog_projection_lag_events", "Events not yet applied.", ["projection"], registry=REGISTRY)
_lag_seconds = Gauge(
    "mnemolog_projection_lag_seconds", "Age of the oldest event not yet applied.", ["projection"], registry=REGISTRY
)
_stopped = Gauge(
    "mnemolog_projection_stopped_streams", "Streams set aside at an event.", ["projection"], registry=REGISTRY
)
_paused = Gauge("mnemolog_projection_paused", "1 while an operator paused it.", ["projection"], registry=REGISTRY)
_outbox = Gauge("mnemolog_outbox_appends", "Appends that wait for JetStream.", registry=REGISTRY)
_incidents = Gauge("mnemolog_incidents_open", "Incidents that nobody acknowledged.", registry=REGISTRY)
_failed_jobs = Gauge("mnemolog_jobs_failed", "Jobs with no attempt left.", registry=REGISTRY)
_paused_minds = Gauge("mnemolog_minds_paused", "Minds that pause after failures in a row.", registry=REGISTRY)
_waiting = Gauge("mnemolog_reads_waiting", "Reads that wait for a projection.", registry=REGISTRY)
_connections = Gauge("mnemolog_pool_connections", "Connections to Postgres.", ["pool", "state"], registry=REGISTRY)
Gauge("mnemolog_build_info", "1, with the version.", ["version"], registry=REGISTRY).labels(mnemolog.__version__).set(1)

router = api_router("", "maintenance")


def _measure(step: str, seconds: float) -> None:
    _step_seconds[step].observe(seconds)


telemetry.measure = _measure


class Measured:
    """Counts each request by its operation and status, times it, and logs it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            operation, seconds = operation_of(scope), time.perf_counter() - began
            _requests.labels(operation, str(status)).inc()
            _request_seconds.labels(operation).observe(seconds)
            # Without path and query, which name users.
            principal = scope.get("state", {}).get("principal")
            fields = {
                "method": scope["method"],
                "operation": operation,
                "status": status,
                "milliseconds": round(seconds * 1000, 1),
                "caller": principal.name if principal else "",
            }
            _logger.info("%(method)s %(operation)s %(status)d in %(milliseconds)s ms", fields, extra=fields)


def operation_of(scope: Scope) -> str:
    """The name of the matching route; `none` for a request refused before routing. Paths name users and ids."""
    return getattr(scope.get("route"), "name", "none")


@router.get(
    "/metrics",
    summary="Metrics in the text format of Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "Of this process alone."}},
)
async def get_metrics(engine: TheEngine) -> Response:
    """What the process has served since it started, and the current state of the engine."""
    await _look(engine)
    return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)


async def _look(engine: Engine) -> None:
    """Values of a store that does not answer are left out."""
    _waiting.set(engine.reads.waiting)
    _connections.clear()
    for pool, used, idle in _pools(engine):
        _connections.labels(pool, "used").set(used)
        _connections.labels(pool, "idle").set(idle)
    of_stores: Sequence[Gauge] = (_lag_events, _lag_seconds, _stopped, _paused)
    for gauge in of_stores:
        gauge.clear()
    try:
        async with asyncio.timeout(SCRAPE_SECONDS):
            for one in await engine.projections.status(engine.writes.now()):
                _lag_events.labels(one.name).set(one.lag_events)
                _lag_seconds.labels(one.name).set(one.lag_seconds)
                _stopped.labels(one.name).set(one.stopped_streams)
                _paused.labels(one.name).set(one.paused is not None)
            _outbox.set(await engine.outbox.size())
            await engine.incidents.refresh()
            _incidents.set(len(engine.incidents.open()))
            _failed_jobs.set((await engine.jobs.counts())[JobStatus.FAILED])
            _paused_minds.set(len(await engine.jobs.paused_minds()))
    except (TimeoutError, *UNREACHABLE, psycopg.Error, DBAPIError, MnemologError):
        _answers.set(0)
    else:
        _answers.set(1)


def _pools(engine: Engine) -> Iterable[tuple[str, int, int]]:
    """For each pool of Postgres connections, how many are in use and how many are idle."""
    log = engine.log.pool.get_stats()
    yield "log", log["pool_size"] - log["pool_available"], log["pool_available"]
    for name, pool in (("rows", engine.projections.live.pool), ("reads", engine.reads.pool)):
        if isinstance(pool, QueuePool):
            yield name, pool.checkedout(), pool.checkedin()
