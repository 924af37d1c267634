"""The engine: servers, log, relay, subscribers, projections and reads, wired together and stopped in reverse."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from nats.aio.client import Client
from nats.js import JetStreamContext
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from mnemolog.adapters import keys
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import EmbeddedServers, Endpoints, ServerEvent, running_engine
from mnemolog.adapters.engine.filling import FillProcesses, Place
from mnemolog.adapters.engine.projections import Projections
from mnemolog.adapters.engine.reaching import UNREACHABLE, reaching
from mnemolog.adapters.engine.reads import Reads
from mnemolog.adapters.engine.workers import Workers
from mnemolog.adapters.engine.writes import Writes
from mnemolog.adapters.minilm import embedder_named
from mnemolog.adapters.nats import connection as nats_connection
from mnemolog.adapters.nats import subscribers
from mnemolog.adapters.nats.event_subscriber import EventSubscriber
from mnemolog.adapters.nats.relay import Relay
from mnemolog.adapters.nats.streams import StreamLimits, Streams
from mnemolog.adapters.nats.subjects import PARTITIONS
from mnemolog.adapters.nats.turns import TurnIntake
from mnemolog.adapters.postgres.leases import Leases
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.outbox import Outbox
from mnemolog.adapters.postgres.pool import Pool, open_pool
from mnemolog.adapters.postgres.roots import Roots, open_roots
from mnemolog.adapters.postgres.url import sqlalchemy_url
from mnemolog.adapters.verify.anchor_file import AnchorFile
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.anchoring import Anchoring
from mnemolog.adapters.verify.verification import Verifier
from mnemolog.commands.handler import Handler
from mnemolog.domain.errors import DataDirectoryInUse, EngineError
from mnemolog.domain.identity import uuid7
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StoredEvent
from mnemolog.projections.seal import OPTION as SEAL
from mnemolog.projections.seal import RowSeal
from mnemolog.projections.vectors.embedder import Embedder
from mnemolog.projections.vectors.tables import NAME as VECTORS

_logger = logging.getLogger("mnemolog.engine")

POOL = 10
SETTLE_SECONDS = 0.02
CANCEL_SECONDS = 0.2
ATTACH_SECONDS = 15.0
ATTACH_POLL_SECONDS = 0.2
KEPT_SECONDS = 1.0


def now() -> datetime:
    return datetime.now(UTC)


def new_id() -> UUID:
    return uuid7(now(), os.urandom(10))


class Engine:
    """Everything that runs in one process. Made by `open_engine`; every part is ready to use.

    An engine that is `attached` uses the servers of one that runs already and leaves relay and projections to it.
    """

    def __init__(
        self,
        settings: Settings,
        endpoints: Endpoints,
        servers: EmbeddedServers | None,
        log: PostgresLog,
        outbox: Outbox,
        projections: Projections,
        reads: Reads,
        writes: Writes,
        nats: Client,
        verifier: Verifier,
        anchoring: Anchoring,
    ) -> None:
        self.settings, self.endpoints, self.servers = settings, endpoints, servers
        self.log, self.outbox, self.projections = log, outbox, projections
        self.reads, self.writes, self.nats = reads, writes, nats
        self.verifier, self.anchoring = verifier, anchoring

    @property
    def attached(self) -> bool:
        return self.servers is None

    async def settled(self, deadline: float = 600.0) -> None:
        """Wait until everything appended is delivered and every projection has caught up."""
        async with asyncio.timeout(deadline):
            while True:  # What is waited for may happen in another process, so it is looked for.
                with suppress(*UNREACHABLE):  # A server that was just killed is on its way back.
                    if not await self.outbox.size() and await self.projections.settled():
                        return
                await asyncio.sleep(SETTLE_SECONDS)


@asynccontextmanager
async def open_engine(settings: Settings, *, attach: bool = False, passive: bool = False) -> AsyncIterator[Engine]:
    """Start an engine on the settings' data directory, and stop it cleanly at the end.

    With `attach`, an engine that runs there already is used; without, DataDirectoryInUse is raised then. A `passive`
    one has its servers and nothing that runs: it starts on a database that is older than its anchors, too.
    """
    async with AsyncExitStack() as stack:
        servers, endpoints = await _servers(stack, settings, attach=attach)
        yield await _wire(stack, settings, endpoints, servers, passive=passive)


async def _servers(
    stack: AsyncExitStack, settings: Settings, *, attach: bool
) -> tuple[EmbeddedServers | None, Endpoints]:
    """Servers of our own, or the endpoints of an engine that runs already; one that is just starting is waited for."""
    until = time.monotonic() + ATTACH_SECONDS
    while True:
        running = await asyncio.to_thread(running_engine, settings.directory) if attach else None
        if running:
            return None, running
        try:
            servers = await _started(stack, settings)
        except DataDirectoryInUse:
            if not attach or time.monotonic() > until:
                raise
            await asyncio.sleep(ATTACH_POLL_SECONDS)
        else:
            return servers, servers.endpoints


async def _started(stack: AsyncExitStack, settings: Settings) -> EmbeddedServers:
    servers = EmbeddedServers(
        settings.directory,
        postgres_url=settings.postgres_url,
        nats_url=settings.nats_url,
        redis_url=settings.redis_url,
        durable=settings.durable,
        nats_sync=settings.nats_sync,
        on_event=_log_server_event,
    )
    stack.callback(servers.stop)  # Not in a thread: at interpreter exit none can be started. It takes 0.1 s.
    await asyncio.to_thread(servers.start)
    return servers


def _log_server_event(event: ServerEvent) -> None:
    _logger.warning("%s %s %s", event.server, event.what, event.detail)


async def _wire(
    stack: AsyncExitStack, settings: Settings, endpoints: Endpoints, servers: EmbeddedServers | None, *, passive: bool
) -> Engine:
    async with reaching("postgres", endpoints.postgres_dsn):
        if servers:
            await asyncio.to_thread(_migrate, endpoints.postgres_dsn)
        pool = await open_pool(endpoints.postgres_dsn, size=POOL)
    stack.push_async_callback(pool.close)
    nats = await _nats(stack, endpoints.nats_url)
    jetstream = nats.jetstream()
    outbox = Outbox(pool, endpoints.postgres_dsn)
    roots = await open_roots(pool, _master_key(settings), os.urandom)
    wire_key = roots.derived("wire")
    streams = Streams(jetstream, _limits(settings))
    anchors = AnchorFile(settings.anchors)
    anchoring = _anchoring(settings, anchors, jetstream, pool, roots)
    relay = Relay(outbox, nats, wire_key, streams, anchoring.published)
    untried = await open_pool(endpoints.postgres_dsn, size=POOL, check=False)
    stack.push_async_callback(untried.close)
    followers: list[Callable[[Sequence[StoredEvent]], None]] = [lambda events: relay.wake()]
    log = PostgresLog(untried, Codec(), roots, now, partial(_told, followers), deadline=settings.append_deadline)
    engine = await _sqlalchemy(stack, endpoints.postgres_dsn, RowSeal(roots.derived("rows")))
    embedder = embedder_named(settings.embedder)
    redis = await _redis(stack, endpoints.redis_url)
    seal = RowSeal(roots.derived("rows"))
    writing = await _sqlalchemy(stack, endpoints.postgres_dsn, seal, projecting=True)
    place = Place(endpoints.postgres_dsn, endpoints.redis_url, _master_key(settings), settings.embedder)
    projections = Projections(engine, redis, log, embedder, settings.strategy, writing, FillProcesses(place))
    for name in settings.projection_strategies:
        projections.require(name)
    reads = Reads(
        projections.live,
        log,
        projections.running,
        projections.projectors,
        projections.working,
        embedder,
        settings.category_policy,
        settings.read_deadline,
    )
    handler = Handler(log, now, new_id)
    writes = Writes(handler, log, settings.category_policy)
    if servers and passive:
        await projections.create()
    elif servers:
        await anchoring.begin(accept=settings.accept_rollback)
        stack.push_async_callback(anchoring.flush)
        await streams.ensure()
        await projections.create()
        workers = Workers(projections.groups, projections.deliver, projections.paused)
        followers.append(partial(_delivered, workers))  # At once: by way of the relay it would take some milliseconds.
        turns = subscribers.Turns(TurnIntake(handler, nats, jetstream))
        projecting = _projecting(endpoints.postgres_dsn, nats, wire_key, workers)
        await _run(stack, [relay.run, anchoring.run, streams.keep, turns.run, *projecting, partial(_warm, embedder)])
        await _subscribe(stack, endpoints.nats_url, turns)
    if servers is None:
        await _require_kept(projections, settings)
    verifier = Verifier(pool, roots, engine, log, projections.running, jetstream, anchors)
    return Engine(settings, endpoints, servers, log, outbox, projections, reads, writes, nats, verifier, anchoring)


async def _require_kept(projections: Projections, settings: Settings) -> None:
    """EngineError when the engine that runs keeps other projections than this one reads; one that starts is awaited."""
    began, before = time.monotonic(), list[str]()
    while missing := await projections.missing():
        patience = KEPT_SECONDS if missing == [VECTORS] else ATTACH_SECONDS
        if missing == before and time.monotonic() > began + patience:
            raise _not_kept(missing, settings)
        before = missing
        await asyncio.sleep(ATTACH_POLL_SECONDS)


def _not_kept(missing: Sequence[str], settings: Settings) -> EngineError:
    if missing == [VECTORS]:
        return EngineError(
            f"the engine that runs here keeps no vectors of the embedder {settings.embedder!r}",
            field="embedder",
            fix="set MNEMOLOG_EMBEDDER (or the settings file) as that engine has it, or restart it with this one",
        )
    return EngineError(
        f"the engine that runs here does not keep {', '.join(missing)} as this Mnemolog reads them",
        field="data_dir",
        fix="stop it and start it with this version: each version has tables of its own",
    )


def _anchoring(
    settings: Settings, anchors: AnchorFile, jetstream: JetStreamContext, pool: Pool, roots: Roots
) -> Anchoring:
    stream, key = AnchorStream(jetstream, settings.replicas), roots.derived("anchors")
    return Anchoring(anchors, stream, pool, key, now, new_id().hex, settings.anchor_seconds)


def _migrate(postgres_dsn: str) -> None:
    from mnemolog.adapters.postgres.migrate import migrate  # Alembic takes 0.3 s to load, in this thread only.

    migrate(postgres_dsn)


async def _nats(stack: AsyncExitStack, nats_url: str) -> Client:
    async with reaching("nats", nats_url):
        client = await nats_connection.connect(nats_url, "mnemolog")
    stack.push_async_callback(client.close)
    return client


async def _redis(stack: AsyncExitStack, redis_url: str) -> Redis:
    # No socket timeout: with one, redis-py 8 waits by wait_for, which loses cancellations on Python 3.11.
    retry = Retry(ExponentialBackoff(cap=1.0, base=0.05), retries=5)
    redis = Redis.from_url(redis_url, retry=retry, socket_timeout=None)
    stack.push_async_callback(redis.aclose)
    async with reaching("redis", redis_url):
        await redis.ping()
    return redis


async def _sqlalchemy(
    stack: AsyncExitStack, postgres_dsn: str, seal: RowSeal, *, projecting: bool = False
) -> AsyncEngine:
    """For `projecting` a power cut may take the last commits, rows and progress alike: the log gives them again."""
    options = "-c timezone=UTC -c synchronous_commit=off" if projecting else "-c timezone=UTC"
    engine = create_async_engine(
        sqlalchemy_url(postgres_dsn),
        pool_size=POOL,
        max_overflow=POOL,
        pool_pre_ping=not projecting,  # A worker tries again anyhow.
        execution_options={SEAL: seal},
        hide_parameters=True,  # They hold what people said, and errors reach logs.
        connect_args={"options": options},
    )
    stack.push_async_callback(engine.dispose)
    return engine


def _limits(settings: Settings) -> StreamLimits:
    return StreamLimits(**settings.model_dump(include={field.name for field in fields(StreamLimits)}))


def _master_key(settings: Settings) -> bytes:
    if settings.master_key:
        return keys.decoded(settings.master_key, field="master_key")
    settings.directory.mkdir(parents=True, exist_ok=True)
    return keys.from_file(settings.directory / "master.key")


async def _run(stack: AsyncExitStack, steps: list[Callable[[], Awaitable[None]]]) -> None:
    """Run each step in a task until the engine stops; a step that fails is reported at once and when it stops."""
    tasks = [asyncio.create_task(_reported(step)) for step in steps]

    async def stop() -> None:
        await _cancel(tasks)
        failed = [one for one in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(one, Exception)]
        if failed:
            raise EngineError("a part of the engine failed while it ran", fix="see the log") from failed[0]

    stack.push_async_callback(stop)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel until each has ended: a driver in the middle of a query may turn a cancellation into an error."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)


async def _warm(embedder: Embedder) -> None:
    """Load the model while everything else starts, so that the first question does not wait for it."""
    await asyncio.to_thread(embedder.embed, ["warm"])


async def _reported(step: Callable[[], Awaitable[None]]) -> None:
    try:
        await step()
    except Exception:
        _logger.critical("a part of the engine failed", exc_info=True)
        raise


def _projecting(
    postgres_dsn: str, nats: Client, wire_key: bytes, workers: Workers
) -> Sequence[Callable[[], Awaitable[None]]]:
    """The steps that keep this process's share of the partitions applied."""
    subscriber = EventSubscriber(nats, wire_key, workers.deliver, workers.delivered)

    async def share(partitions: frozenset[int]) -> None:
        await subscriber.follow(partitions)
        workers.own(partitions)

    leases = Leases(postgres_dsn, PARTITIONS)
    return [partial(leases.run, share), partial(workers.watch, lambda: nats.stats["reconnects"]), *workers.steps()]


def _told(followers: Sequence[Callable[[Sequence[StoredEvent]], None]], events: Sequence[StoredEvent]) -> None:
    for follower in followers:
        follower(events)


def _delivered(workers: Workers, events: Sequence[StoredEvent]) -> None:
    for event in events:
        workers.deliver(event)


async def _subscribe(stack: AsyncExitStack, nats_url: str, turns: subscribers.Turns) -> None:
    broker = subscribers.broker(nats_url)
    turns.subscribe(broker)
    await broker.start()
    stack.push_async_callback(broker.stop)
