"""Wires the parts of an engine: servers, log, relay, subscribers, projections, reads and writes.

What runs is stopped in reverse.
"""

import os
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from ipaddress import ip_network

from mnemolog.adapters import keys, tracing
from mnemolog.adapters.blobs.opening import blob_store
from mnemolog.adapters.checkpoints.store import CheckpointStore
from mnemolog.adapters.clock import new_id, now
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import Endpoints, unusable
from mnemolog.adapters.engine.commanding import ObservedHandler
from mnemolog.adapters.engine.connections import Connections, connect, embedder_of
from mnemolog.adapters.engine.delivery import EventDelivery, begin, delivery_of, start_projecting, start_relay
from mnemolog.adapters.engine.roles import EVERY_ROLE, EngineRole, Roles
from mnemolog.adapters.engine.starting import require_kept
from mnemolog.adapters.engine.tasks import run
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.adapters.maintenance.prompting import prompter_of
from mnemolog.adapters.mem0.opening import mem0_store
from mnemolog.adapters.minilm import EMBEDDERS, embedder_named
from mnemolog.adapters.minilm.sharing import expect
from mnemolog.adapters.nats.waking import RelayWaker, wake_on_append
from mnemolog.adapters.openai.budget import TokenBudget
from mnemolog.adapters.openai.endpoint import endpoint_of
from mnemolog.adapters.openai.models import models_of
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.policies import Policies
from mnemolog.adapters.projecting.filling import FillEndpoints, FillProcesses
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.adapters.qdrant.opening import vector_index
from mnemolog.adapters.reads.limits import ReadLimits
from mnemolog.adapters.reads.neighbours import Neighbours
from mnemolog.adapters.reads.reads import Reads
from mnemolog.adapters.reads.recalls import Recalls
from mnemolog.adapters.reads.replays import Replays
from mnemolog.adapters.reads.sightings import Sightings
from mnemolog.adapters.services import Services
from mnemolog.adapters.tokens import token_counter
from mnemolog.adapters.unreachable import used_up
from mnemolog.adapters.verify.audit import Audit
from mnemolog.adapters.verify.incidents import Incidents
from mnemolog.adapters.verify.log_check import require_keys
from mnemolog.adapters.verify.verification import Verifier
from mnemolog.adapters.watching.appends import Appends
from mnemolog.adapters.webhooks.feed import WebhookFeed
from mnemolog.adapters.webhooks.jobs import SendJobs
from mnemolog.adapters.webhooks.sender import Sender
from mnemolog.adapters.webhooks.store import WebhookStore
from mnemolog.adapters.webhooks.webhooks import Webhooks
from mnemolog.commands.writes.api_keys import ApiKeys
from mnemolog.commands.writes.writes import Writes
from mnemolog.domain.errors import EngineError, ServerFailed, TamperedEvent
from mnemolog.domain.policy import Policy
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import NewEvent, StreamId
from mnemolog.projections.mem0.projector import Mem0Projector
from mnemolog.projections.projector import Projector
from mnemolog.projections.vectors.embedder import Embedder
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.projector import embedded_text


async def wire(
    stack: AsyncExitStack, settings: Settings, policy: Policy, endpoints: Endpoints, roles: Roles, *, attached: bool
) -> Services:
    """Connect everything, and run what these roles need.

    If `attached` to an engine elsewhere, no tables are created, and those that are read must exist.
    """
    tracing.start(settings)
    master_key = _master_key(settings)
    try:
        to = await connect(stack, endpoints, master_key, migrating=not attached)
    except EngineError as error:
        if error.field == "master_key" and _is_rotating(settings):
            raise _interrupted() from error
        raise
    anchors = EngineRole.RELAY in roles or not (roles or attached)  # Also an engine that is opened for maintenance.
    delivery = delivery_of(stack, settings, endpoints, to, anchoring=anchors)
    await delivery.incidents.load()
    log = PostgresLog(
        to.untried,
        Codec(),
        to.roots,
        now,
        delivery.notify,
        deadline=settings.append_deadline,
        known=delivery.anchoring.known,
        refused=delivery.incidents.refused,
    )

    async def indexed() -> int | None:
        return await projections.dimensions()

    embedder = await embedder_of(
        stack,
        settings,
        indexed,
        projecting=EngineRole.PROJECT in roles,
        sharing=roles == EVERY_ROLE,
        attached=attached,
    )
    mem0 = mem0_store(stack, settings)
    projections = _projections(
        settings,
        FillEndpoints(
            endpoints.postgres_dsn,
            endpoints.projections_dsn,
            endpoints.redis_url,
            master_key,
            settings.embedder,
            settings.embedder_folder,
            endpoint_of(settings, "embedding"),
            mem0=settings.mem0_file is not None,
        ),
        to,
        log,
        embedder,
        vector_index(stack, settings),
        [Mem0Projector(mem0)] if mem0 else [],
    )
    services = await _services(stack, settings, policy, endpoints, to, delivery, log, projections, embedder)
    services.mem0 = mem0
    stack.push_async_callback(services.reads.aclose)
    stack.push_async_callback(services.recalls.flush)
    if EngineRole.RELAY in roles:
        await begin(settings, delivery)
    if attached:
        await require_kept(projections, settings)
    else:
        await projections.create()
    await _run_roles(stack, settings, endpoints, to, delivery, services, roles, attached=attached)
    if EngineRole.PROJECT in roles and not settings.embedding_model:
        await run(stack, [partial(_warm, embedder)])
    return services


async def _run_roles(
    stack: AsyncExitStack,
    settings: Settings,
    endpoints: Endpoints,
    to: Connections,
    delivery: EventDelivery,
    services: Services,
    roles: Roles,
    *,
    attached: bool,
) -> None:
    if EngineRole.RELAY in roles:
        await start_relay(stack, to, delivery, services)
    elif roles or attached:
        stack.push_async_callback(delivery.anchoring.flush_quietly)
        waker = RelayWaker(to.nats)
        delivery.followers.append(lambda events: waker.notify())
        await run(stack, [delivery.anchoring.run, waker.run])
    if EngineRole.PROJECT in roles:
        await start_projecting(stack, endpoints, to, delivery, services.projections)
    if roles or attached:
        await run(stack, [services.recalls.run])
    if EngineRole.WORK in roles:
        await run(stack, [services.audit.run, services.webhooks.feed.run])
        if settings.extraction != "off":
            prompter = prompter_of(services)
            delivery.followers.append(prompter.take)
            await wake_on_append(to.nats, prompter.notice)
            await run(stack, [prompter.run])


def _projections(
    settings: Settings,
    place: FillEndpoints,
    to: Connections,
    log: PostgresLog,
    embedder: Embedder,
    index: VectorIndex,
    optional: Sequence[Projector],
) -> Projections:
    own = None if settings.embedding_model or settings.embedder_folder else settings.embedder
    former = [embedder_named(one) for one in EMBEDDERS if one != own]
    processes = FillProcesses(place)
    beside_log = None if to.beside_log is to.rows else to.beside_log
    projections = Projections(
        to.rows, to.redis, log, embedder, settings.strategy, to.writing, processes, former, beside_log, index, optional
    )
    for name in settings.projection_strategies:
        projections.require(name)
    return projections


async def _services(
    stack: AsyncExitStack,
    settings: Settings,
    policy: Policy,
    endpoints: Endpoints,
    to: Connections,
    delivery: EventDelivery,
    log: PostgresLog,
    projections: Projections,
    embedder: Embedder,
) -> Services:
    replays = Replays(
        projections.seen_on(to.replaying),
        log,
        projections.projectors,
        at_once=settings.replays_at_once,
        kept=settings.replays_kept,
        deadline=settings.replay_deadline,
    )
    stack.push_async_callback(replays.aclose)
    reads = _reads(settings, policy, to, log, projections, replays, embedder, delivery.incidents)
    projections.require_whole_log = partial(_require_whole_log, delivery)
    projections.require_keys = partial(_require_keys, to, delivery)
    projections.dropped = delivery.incidents.dropped
    for projection in projections.running.values():
        projection.healed = delivery.incidents.healed
        projection.readable = partial(_require_keys, to, delivery)
    policies = Policies(to.pool)
    await policies.keep(policy.text, now())
    handler = ObservedHandler(log, now, new_id, policy.version, partial(expect_texts, embedder), reads.callers)
    neighbours, sightings = Neighbours(reads, policy.bands), Sightings(reads, log)
    stack.push_async_callback(sightings.aclose)
    writes = Writes(handler, log, policy.categories, policy.profile, neighbours, policy.predicates, sightings)
    recalls = Recalls(writes.handle, settings.recall_seconds)
    reads.recalled = recalls.note
    databases = to.pool, to.roots, to.verifying, to.beside_log, log
    audit = Audit(
        *databases,
        projections.running,
        delivery.anchoring,
        delivery.incidents,
        delivery.anchors.path.with_suffix(".audit.json"),
        settings.audit_share,
    )
    api_keys = ApiKeys(log, to.roots.derived("api keys"), to.roots.derived("chain"), now, os.urandom, new_id)
    jobs = JobQueue(to.pool, to.roots.derived("jobs"), now, new_id)
    return Services(
        settings=settings,
        endpoints=endpoints,
        log=log,
        outbox=delivery.outbox,
        projections=projections,
        reads=reads,
        writes=writes,
        nats=to.nats,
        verifier=Verifier(*databases, projections.running, to.nats.jetstream(), delivery.anchors),
        anchoring=delivery.anchoring,
        incidents=delivery.incidents,
        audit=audit,
        policy=policy,
        policies=policies,
        api_keys=api_keys,
        recalls=recalls,
        jobs=jobs,
        models=models_of(stack, settings, TokenBudget(to.pool, now, settings.model_tokens_per_day)),
        checkpoints=CheckpointStore(to.untried, to.blocking, to.roots, handler),
        blobs=blob_store(settings),
        session_key=to.roots.derived("console sessions"),
        appends=Appends(to.nats),
        webhooks=_webhooks(settings, to, jobs, reads, api_keys),
    )


def _webhooks(settings: Settings, to: Connections, jobs: JobQueue, reads: Reads, api_keys: ApiKeys) -> Webhooks:
    store = WebhookStore(to.pool, to.roots.derived("webhooks"), now, new_id, os.urandom)
    send_jobs = SendJobs(jobs, store)
    feed = WebhookFeed(to.nats, store, send_jobs, reads, api_keys)
    return Webhooks(store, send_jobs, feed, Sender(list(map(ip_network, settings.webhook_networks)), now), to.nats)


async def _require_whole_log(delivery: EventDelivery) -> None:
    try:
        await delivery.anchoring.require_whole()
    except TamperedEvent as damage:
        await delivery.incidents.refused(damage)
        raise


async def _require_keys(to: Connections, delivery: EventDelivery, streams: Sequence[StreamId]) -> None:
    try:
        await require_keys(to.pool, to.roots, streams)
    except TamperedEvent as damage:
        await delivery.incidents.refused(damage)
        raise


def _reads(
    settings: Settings,
    policy: Policy,
    to: Connections,
    log: PostgresLog,
    projections: Projections,
    replays: Replays,
    embedder: Embedder,
    incidents: Incidents,
) -> Reads:
    return Reads(
        to.beside_log,
        projections.seen_on(to.reading),
        log,
        projections.running,
        replays,
        projections.working,
        embedder,
        projections.embedder,
        projections.index,
        policy.categories,
        policy.predicates,
        policy.pronouns,
        policy.gate,
        token_counter(settings.tokenizer_file),
        ReadLimits(
            settings.read_deadline,
            settings.max_deadline,
            settings.max_reads,
            settings.max_waiting_reads,
            settings.max_as_of_reads,
        ),
        incidents,
    )


def _master_key(settings: Settings) -> bytes:
    if settings.master_key:
        return keys.decoded(settings.master_key, field="master_key")
    try:
        settings.directory.mkdir(parents=True, exist_ok=True)
        file = settings.directory / "master.key"
        if _is_rotating(settings) and not file.exists():
            raise _interrupted()
        return keys.from_file(file)
    except OSError as error:
        raise used_up(error) or unusable(settings.directory, error) from error


def _is_rotating(settings: Settings) -> bool:
    return not settings.master_key and (settings.directory / keys.NEXT).exists()


def _interrupted() -> EngineError:
    return EngineError(
        "a rotation of the master key was interrupted",
        field="master_key",
        fix="run `mnemolog master-key rotate`, which finishes it",
    )


async def _warm(embedder: Embedder) -> None:
    """Load the model while everything else starts, so that the first query does not wait for it."""
    with suppress(ServerFailed):  # Not needed yet: the first query tries again.
        await embedder.embed(["warm"])


def expect_texts(embedder: Embedder, events: Sequence[NewEvent]) -> None:
    """Prefetch the vectors of these texts, which a projection needs as soon as they are committed."""
    expect(embedder, [text for event in events if (text := embedded_text(event.payload))])
