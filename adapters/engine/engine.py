"""The engine: servers, log, relay, subscribers, projections and reads, wired together and stopped in reverse."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from copy import copy
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from typing import Self
from uuid import UUID

from nats.aio.client import Client
from nats.js import JetStreamContext

from mnemolog.adapters import keys
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import EmbeddedServers, Endpoints
from mnemolog.adapters.engine.connections import (
    embedder_of,
    nats_client,
    postgres_pools,
    redis_client,
    sqlalchemy_engine,
)
from mnemolog.adapters.engine.expiring import expire
from mnemolog.adapters.engine.filling import FillProcesses, Place
from mnemolog.adapters.engine.neighbours import Neighbours
from mnemolog.adapters.engine.projections import Projections
from mnemolog.adapters.engine.reads import Reads
from mnemolog.adapters.engine.recalls import Recalls
from mnemolog.adapters.engine.retention import retain
from mnemolog.adapters.engine.schedules import HOUR, Job, Schedules
from mnemolog.adapters.engine.sightings import Sightings
from mnemolog.adapters.engine.starting import require_kept, started_or_running
from mnemolog.adapters.engine.tasks import run
from mnemolog.adapters.engine.workers import Workers
from mnemolog.adapters.engine.writes import Writes
from mnemolog.adapters.minilm.ahead import Ahead
from mnemolog.adapters.nats import subscribers
from mnemolog.adapters.nats.event_subscriber import EventSubscriber
from mnemolog.adapters.nats.relay import Relay
from mnemolog.adapters.nats.streams import StreamLimits, Streams
from mnemolog.adapters.nats.subjects import PARTITIONS
from mnemolog.adapters.nats.turns import TurnIntake
from mnemolog.adapters.postgres.api_keys import ApiKeys
from mnemolog.adapters.postgres.confinement import READER, may_read_as_reader
from mnemolog.adapters.postgres.leases import Leases
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.outbox import Outbox
from mnemolog.adapters.postgres.policies import Policies
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.roots import Roots, open_roots
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.adapters.verify.anchor_file import AnchorFile
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.anchoring import Anchoring
from mnemolog.adapters.verify.verification import Verifier
from mnemolog.commands.handler import Handler
from mnemolog.domain.errors import ServerFailed
from mnemolog.domain.identity import uuid7
from mnemolog.domain.policy import Policy
from mnemolog.domain.principal import OPERATOR, Principal, Role
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import NewEvent, StoredEvent
from mnemolog.events.memory import ContentEvent
from mnemolog.projections.seal import RowSeal
from mnemolog.projections.vectors.embedder import Embedder

SETTLE_SECONDS = 0.02


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
        policy: Policy,
        policies: Policies,
        api_keys: ApiKeys,
        recalls: Recalls,
    ) -> None:
        self.settings, self.endpoints, self.servers = settings, endpoints, servers
        self.log, self.outbox, self.projections = log, outbox, projections
        self.reads, self.writes, self.nats = reads, writes, nats
        self.verifier, self.anchoring = verifier, anchoring
        self.policy, self.policies = policy, policies
        self.api_keys, self.recalls = api_keys, recalls
        self.principal: Principal | None = None

    def by(self, principal: Principal | None) -> Self:
        """The same engine, which reads and writes in this principal's name, in its tenant and no further."""
        if principal is None:
            return self
        bound = copy(self)
        bound.principal, bound.settings = principal, self.settings.model_copy(update={"tenant": principal.tenant})
        bound.reads, bound.writes = self.reads.by(principal), self.writes.by(principal)
        return bound

    async def authenticated(self) -> Self:
        """The same engine in the name of the setting `api_key`; the operator's without one."""
        key = self.settings.api_key
        return self if key is None else self.by(await self.api_keys.principal(key))

    def require_operator(self) -> None:
        """NotPermitted for a principal that may not look after the engine."""
        if self.principal:
            self.principal.require(Role.ADMIN)

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
    policy = settings.policy  # A policy that cannot be accepted is told before anything starts.
    async with AsyncExitStack() as stack:
        servers, endpoints = await started_or_running(stack, settings, attach=attach)
        yield await _wire(stack, settings, policy, endpoints, servers, passive=passive)


async def _wire(
    stack: AsyncExitStack,
    settings: Settings,
    policy: Policy,
    endpoints: Endpoints,
    servers: EmbeddedServers | None,
    *,
    passive: bool,
) -> Engine:
    pool, untried = await postgres_pools(stack, endpoints.postgres_dsn, migrating=servers is not None)
    nats = await nats_client(stack, endpoints.nats_url)
    jetstream = nats.jetstream()
    outbox = Outbox(pool, endpoints.postgres_dsn)
    master_key = _master_key(settings)
    roots = await open_roots(pool, master_key, os.urandom)
    wire_key = roots.derived("wire")
    streams = Streams(jetstream, _limits(settings))
    anchors = AnchorFile(settings.anchors)
    anchoring = _anchoring(settings, anchors, jetstream, pool, roots)
    relay = Relay(outbox, nats, wire_key, streams, anchoring.published)
    followers: list[Callable[[Sequence[StoredEvent]], None]] = [lambda events: relay.wake()]
    log = PostgresLog(untried, Codec(), roots, now, partial(_told, followers), deadline=settings.append_deadline)
    embedder = embedder_of(stack, settings.embedder, projecting=servers is not None and not passive)
    seal = RowSeal(roots.derived("rows"))
    engine = await sqlalchemy_engine(stack, endpoints.postgres_dsn, seal)
    writing = await sqlalchemy_engine(stack, endpoints.postgres_dsn, seal, projecting=True)
    role = READER if await may_read_as_reader(pool) else None
    reading = await sqlalchemy_engine(stack, endpoints.postgres_dsn, seal, role=role)
    redis = await redis_client(stack, endpoints.redis_url)
    place = Place(endpoints.postgres_dsn, endpoints.redis_url, master_key, settings.embedder)
    projections = Projections(engine, redis, log, embedder, settings.strategy, writing, FillProcesses(place))
    for name in settings.projection_strategies:
        projections.require(name)
    reads = Reads(
        projections.live,
        projections.seen_on(reading),
        log,
        projections.running,
        projections.projectors,
        projections.working,
        embedder,
        policy.categories,
        policy.predicates,
        settings.read_deadline,
    )
    api_keys = ApiKeys(engine, roots.derived("api keys"), now, os.urandom)
    policies = Policies(pool)
    await policies.keep(policy.text, now())
    handler = Handler(log, now, new_id, policy.version, partial(_expected, embedder))
    neighbours = Neighbours(reads, embedder, policy.bands)
    writes = Writes(
        handler, log, policy.categories, policy.profile, neighbours, policy.predicates, Sightings(reads, log)
    )
    recalls = Recalls(writes.record_recalls, settings.recall_seconds)
    reads.recalled = recalls.note
    stack.push_async_callback(recalls.flush)
    if servers and passive:
        await projections.create()
    elif servers:
        await anchoring.begin(accept=settings.accept_rollback)
        stack.push_async_callback(anchoring.flush)
        await streams.ensure()
        await projections.create()
        workers = Workers(projections.groups, projections.deliver, projections.paused)
        followers.append(partial(_delivered, workers))  # At once: by way of the relay it would take some milliseconds.
        turns = subscribers.Turns(TurnIntake(partial(_in_name_of, writes, api_keys), nats, jetstream))
        projecting = _projecting(endpoints.postgres_dsn, nats, wire_key, workers)
        steps = [relay.run, anchoring.run, streams.keep, turns.run, recalls.run, *projecting]
        await run(stack, [*steps, partial(_warm, embedder)])
        await _subscribe(stack, endpoints.nats_url, turns)
    if servers is None:
        await require_kept(projections, settings)
    verifier = Verifier(pool, roots, engine, log, projections.running, jetstream, anchors)
    parts = log, outbox, projections, reads, writes, nats, verifier, anchoring, policy, policies, api_keys, recalls
    opened = Engine(settings, endpoints, servers, *parts)
    if servers and not passive:
        await run(stack, [Schedules(endpoints.postgres_dsn, _jobs(opened)).run])
    return opened


def _jobs(engine: Engine) -> Sequence[Job]:
    retention = Job("retention", HOUR, lambda: retain(engine, engine.writes.now()))
    return [retention, Job("consent", HOUR, partial(expire, engine))]


def _anchoring(
    settings: Settings, anchors: AnchorFile, jetstream: JetStreamContext, pool: Pool, roots: Roots
) -> Anchoring:
    stream, key = AnchorStream(jetstream, settings.replicas), roots.derived("anchors")
    return Anchoring(anchors, stream, pool, key, now, new_id().hex, settings.anchor_seconds)


def _limits(settings: Settings) -> StreamLimits:
    return StreamLimits(**settings.model_dump(include={field.name for field in fields(StreamLimits)}))


def _master_key(settings: Settings) -> bytes:
    if settings.master_key:
        return keys.decoded(settings.master_key, field="master_key")
    settings.directory.mkdir(parents=True, exist_ok=True)
    return keys.from_file(settings.directory / "master.key")


async def _warm(embedder: Embedder) -> None:
    """Load the model while everything else starts, so that the first question does not wait for it."""
    with suppress(ServerFailed):  # Nobody needs it yet: the first question tries again.
        await embedder.embed(["warm"])


def _expected(embedder: Embedder, events: Sequence[NewEvent]) -> None:
    """Have the vectors of these texts begun, which a projection asks for as soon as they are durable."""
    if isinstance(embedder, Ahead):
        embedder.expect([one.payload.text for one in events if isinstance(one.payload, ContentEvent)])


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


async def _in_name_of(writes: Writes, api_keys: ApiKeys, producer: str) -> Writes:
    """What records a producer's turns. The engine's own place is the operator's: no producer may publish there."""
    return writes if producer == OPERATOR else writes.by(await api_keys.producer(producer))


async def _subscribe(stack: AsyncExitStack, nats_url: str, turns: subscribers.Turns) -> None:
    broker = subscribers.broker(nats_url)
    turns.subscribe(broker)
    await broker.start()
    stack.push_async_callback(broker.stop)
