"""The background parts of an engine: relay, anchors, turn intake, and projection workers."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from mnemolog.adapters.artifacts.of_messages import with_artifact
from mnemolog.adapters.clock import new_id, now
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import Endpoints
from mnemolog.adapters.embedded.file_lock import FileLock
from mnemolog.adapters.engine.connections import Connections
from mnemolog.adapters.engine.starting import limits_of
from mnemolog.adapters.engine.tasks import run
from mnemolog.adapters.nats.event_subscriber import EventSubscriber
from mnemolog.adapters.nats.relay import Relay
from mnemolog.adapters.nats.streams import Streams
from mnemolog.adapters.nats.subjects import PARTITIONS
from mnemolog.adapters.nats.turns import Commands, TurnIntake
from mnemolog.adapters.nats.waking import wake_on_append
from mnemolog.adapters.postgres.api_keys import KeyTable
from mnemolog.adapters.postgres.leases import Leases
from mnemolog.adapters.postgres.outbox import Outbox
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.adapters.projecting.upgrading import keep
from mnemolog.adapters.projecting.workers import Workers
from mnemolog.adapters.services import Services
from mnemolog.adapters.verify import incidents as incidents_on_jetstream
from mnemolog.adapters.verify.anchor_file import FORMER, AnchorFile
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.anchoring import Anchoring
from mnemolog.adapters.verify.asking import EngineHeads, answer_for_heads
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part
from mnemolog.adapters.verify.incidents import By, Done, Incidents
from mnemolog.adapters.verify.latest_heads import LatestHeads
from mnemolog.commands.heard import HearTurn
from mnemolog.domain.errors import DatabaseRolledBack, EngineError, InvalidInput
from mnemolog.domain.principal import OPERATOR, Role
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.log import Outcome

_logger = logging.getLogger("mnemolog.engine")

# Incidents recorded per rollback; the first has the total.
NAMED = 100

Follower = Callable[[Sequence[StoredEvent]], None]


@dataclass(frozen=True, slots=True)
class EventDelivery:
    """Brings events from the log to JetStream. `followers` are called with what this process appends."""

    outbox: Outbox
    streams: Streams
    anchors: AnchorFile
    anchoring: Anchoring
    incidents: Incidents
    relay: Relay
    followers: list[Follower]

    def notify(self, events: Sequence[StoredEvent]) -> None:
        for follower in self.followers:
            follower(events)


def delivery_of(
    stack: AsyncExitStack, settings: Settings, endpoints: Endpoints, to: Connections, *, anchoring: bool
) -> EventDelivery:
    """Created but not running. Without `anchoring`, heads are anchored on JetStream only, as by clients, and an engine
    is asked for those that others anchored.
    """
    outbox = Outbox(to.pool, endpoints.postgres_dsn, to.roots.derived("chain"))
    jetstream = to.nats.jetstream()
    streams = Streams(jetstream, limits_of(settings))
    anchors = _anchor_file(settings, to.roots)
    keeper = Anchoring(
        anchors if anchoring and _locked(stack, anchors) else None,
        AnchorStream(jetstream, settings.replicas),
        to.pool,
        to.roots.derived("anchors"),
        now,
        new_id().hex,
        settings.anchor_seconds,
        LatestHeads(None if anchoring else EngineHeads(to.nats, to.roots.derived("anchors"))),
        chain_key=to.roots.derived("chain"),
        abandoned=lambda: to.nats.abandoned,
    )
    incidents = Incidents(
        anchors.path.with_suffix(".incidents.jsonl"),
        AnchorStream(jetstream, settings.replicas, incidents_on_jetstream.STREAM, incidents_on_jetstream.SUBJECTS),
        to.roots.derived("incidents"),
        now,
        new_id,
    )
    relay = Relay(
        outbox,
        to.nats,
        to.roots.derived("wire"),
        streams,
        keeper.take,
        partial(incidents.refused, found_by=By.RELAY),
    )
    return EventDelivery(outbox, streams, anchors, keeper, incidents, relay, [keeper.take, lambda events: relay.wake()])


async def start_relay(stack: AsyncExitStack, to: Connections, delivery: EventDelivery, services: Services) -> None:
    """Run the relay to JetStream and the recording of producers' turns, until the stack is closed."""
    from mnemolog.adapters.nats import subscribers  # FastStream takes 0.2 s to load, and clients do not need it.

    former_keys = KeyTable(to.beside_log, to.roots.derived("api keys"))
    await services.api_keys.take_over(await former_keys.keys())
    await former_keys.drop()
    stack.push_async_callback(delivery.anchoring.flush)
    await delivery.streams.ensure()
    await wake_on_append(to.nats, delivery.relay.wake)
    await answer_for_heads(to.nats, delivery.anchoring, to.roots.derived("anchors"), new_id().hex, now)
    in_name_of, letter_bytes = partial(_in_name_of, services), services.settings.dead_letter_bytes
    turns = subscribers.Turns(TurnIntake(in_name_of, to.nats, to.nats.jetstream(), letter_bytes))
    await run(stack, [delivery.relay.run, delivery.anchoring.run, delivery.streams.keep, turns.run])
    broker = subscribers.broker(services.endpoints.nats_url)
    turns.subscribe(broker)
    await broker.start()
    stack.push_async_callback(broker.stop)


async def start_projecting(
    stack: AsyncExitStack, endpoints: Endpoints, to: Connections, delivery: EventDelivery, projections: Projections
) -> None:
    """Run this process's share of the projections, until the stack is closed."""
    workers = Workers(projections.groups, projections.deliver, projections.paused, projections.behind)
    projections.waiting = workers.waiting
    # Directly: what this process appends because the relay would add some milliseconds, and what it relays because
    # there is nothing to unpack.
    delivery.followers.append(partial(_delivered, workers))
    delivery.relay.found = partial(_delivered, workers)
    leases = Leases(endpoints.projections_dsn, PARTITIONS, projections.kept)
    await run(stack, [*_projecting(leases, to, workers), partial(keep, projections)])


async def begin(settings: Settings, delivery: EventDelivery) -> None:
    """Check the database against its anchors, or record an incident if an operator accepted a mismatch."""
    try:
        accepted = await delivery.anchoring.begin(accept=settings.accept_rollback)
    except DatabaseRolledBack as refused:
        damage = Damage(Part.EVENT, DamageKind.ROLLED_BACK, None, refused.message)
        await delivery.incidents.record(damage, By.START, Done.REFUSED)
        raise
    for damage in accepted[:NAMED]:
        await delivery.incidents.record(damage, By.START, Done.ACCEPTED)


def _anchor_file(settings: Settings, roots: Roots) -> AnchorFile:
    """Outside the data directory, moved from inside it; still inside if no other place is writable."""
    former = None if settings.anchor_file else settings.directory / FORMER
    try:
        path = settings.anchors(roots.log_id)
        path.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, InvalidInput) as error:  # InvalidInput: this user has no home directory.
        if settings.anchor_file:
            raise EngineError(f"cannot be written: {error}", field="anchor_file", fix="choose another path") from error
        _logger.warning("anchors stay in the data directory: %s; set anchor_file to keep them apart", error)
        return AnchorFile(settings.directory / FORMER)
    return AnchorFile(path, former)


def _locked(stack: AsyncExitStack, anchors: AnchorFile) -> bool:
    """Whether this process writes the file: not while another does, such as a second relay on this machine."""
    lock = FileLock(anchors.path.with_suffix(".lock"))
    stack.callback(lock.release)
    return lock.acquire()


def _projecting(leases: Leases, to: Connections, workers: Workers) -> Sequence[Callable[[], Awaitable[None]]]:
    """The steps that keep this process's share of the partitions applied."""
    subscriber = EventSubscriber(to.nats, to.roots.derived("wire"), workers.deliver, workers.delivered)

    async def share(partitions: frozenset[int]) -> None:
        await subscriber.follow(partitions)
        workers.own(partitions)

    return [partial(leases.run, share), partial(workers.watch, lambda: to.nats.stats["reconnects"]), *workers.steps()]


def _delivered(workers: Workers, events: Sequence[StoredEvent]) -> None:
    for event in events:
        workers.deliver(event)


@dataclass(frozen=True, slots=True)
class _Recorder:
    """Records turns for the principal of these services."""

    services: Services

    def may(self, role: Role) -> bool:
        return self.services.writes.may(role)

    async def turn(self, fields: Mapping[str, Any]) -> HearTurn:
        async with with_artifact(self.services, fields) as turn:
            return self.services.writes.turn(turn)

    async def record_turns(self, stream: StreamId, commands: Commands) -> Sequence[Outcome]:
        return await self.services.writes.record_turns(stream, commands)


async def _in_name_of(services: Services, producer: str) -> _Recorder:
    """Who records a producer's turns. The name `engine` is the operator's; no producer may have it."""
    return _Recorder(services if producer == OPERATOR else services.by(await services.api_keys.producer(producer)))
