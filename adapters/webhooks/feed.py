"""Makes deliveries of changes, driven by a durable consumer of the events on JetStream.

At least once: a message is acknowledged after the deliveries were stored. Each webhook keeps, per stream, the last seq
that it made deliveries of, in the same transaction, so a message that comes again, late or not at all changes nothing.
A gap is read from the log, and a sweep finds streams of which JetStream lost the messages.
"""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from mnemolog.adapters.cancellation import set_within
from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.subjects import ALL_EVENTS, EVENTS, WEBHOOKS, WEBHOOKS_CHANGED
from mnemolog.adapters.reads.reads import Reads
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.adapters.webhooks.jobs import SendJobs
from mnemolog.adapters.webhooks.store import WebhookStore
from mnemolog.adapters.webhooks.webhook import NewDelivery, Webhook, acting, types_of
from mnemolog.commands.writes.api_keys import ApiKeys
from mnemolog.domain.errors import MnemologError, NotPermitted, ReadTimeout
from mnemolog.domain.principal import Principal
from mnemolog.events.envelope import USER, StreamId

_logger = logging.getLogger("mnemolog.webhooks")

ACK_SECONDS = 30.0
IDLE_SECONDS = 30.0
LOOK_SECONDS = 60.0
GATHER_SECONDS = 0.02
AGAIN_SECONDS = 1.0
BATCH = 100
# A projection that is behind is waited for so long; then the message comes again.
READ_SECONDS = 2.0
# After so many deliveries of a message, the sweep looks after its stream.
MOST_REDELIVERIES = 5
# A webhook that fails is not given more than this; the others stay in the log until it works.
MOST_PENDING = 1000
RESUME = "create a key of that name, and resume the webhook"
NO_KEY = "no valid API key with the name of its creator may read what it is sent"


class WebhookFeed:
    """Any number of processes may run one: they share the consumer."""

    def __init__(self, nats: Client, store: WebhookStore, jobs: SendJobs, reads: Reads, api_keys: ApiKeys) -> None:
        self._nats, self._store, self._jobs, self._reads, self._api_keys = nats, store, jobs, reads, api_keys
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Feed webhooks until cancelled. Nothing is consumed while there is none."""
        while True:
            try:
                await self._nats.subscribe(WEBHOOKS_CHANGED, cb=self._on_changed)
                break
            except NatsError as fault:
                _logger.info("webhooks: %r, trying again", fault)
                await asyncio.sleep(AGAIN_SECONDS)
        while True:
            try:
                await self._until_any()
                await self._follow(self._nats.jetstream())
            except (*UNREACHABLE, NatsError, MnemologError) as fault:
                _logger.info("webhooks: %r, trying again", fault)
                await asyncio.sleep(AGAIN_SECONDS)

    async def catch_up(self) -> int:
        """Make the deliveries of streams whose messages were lost; the number of streams that were behind."""
        behind = await self._store.behind()
        for stream, hook in behind:
            try:
                await self.feed(hook, stream)
            except MnemologError as fault:
                _logger.warning("webhook %s of %s: %s", hook.webhook_id, stream, fault.code)
        return len(behind)

    async def catch_up_with(self, hook: Webhook) -> None:
        """Let a sweep look after a webhook now: what happened while it was paused."""
        await self._jobs.sweep(hook)

    async def require_key(self, hook: Webhook) -> Principal | None:
        """The principal for whom a webhook reads, None for the operator. NotPermitted, and paused, without a key."""
        if not hook.created_by:
            return None
        principal = acting(hook, await self._api_keys.named(hook.tenant, hook.created_by))
        if principal is None:
            await self._store.pause(hook, NO_KEY)
            raise NotPermitted(f"webhook {hook.webhook_id} is paused: {NO_KEY}", field="webhook_id", fix=RESUME)
        return principal

    async def feed(self, hook: Webhook, stream: StreamId) -> None:
        """Make deliveries of what a stream has beyond the webhook's progress, and let them be sent.

        ReadTimeout if the projections are too far behind. NotPermitted if the API key that made it may no longer read.
        """
        if hook.failures and hook.pending >= MOST_PENDING:
            return
        reads = self._reads.by(await self.require_key(hook))
        since, viewer, made = await self._store.progress(hook, stream), hook.viewer(stream), False
        while True:
            found = await reads.changes_after(viewer, since, READ_SECONDS)
            if found.seq <= since:
                break
            wanted = [one for one in found.changes if not hook.subjects or one["subject"] in hook.subjects]
            deliveries = [_delivery(viewer.user_id, one) for one in wanted]
            if not await self._store.advance(hook, stream, since, found.seq, deliveries):
                break  # Another process makes them.
            since, made = found.seq, made or bool(deliveries)
        if made:
            await self._jobs.enqueue(hook)

    async def _until_any(self) -> None:
        while True:
            self._changed.clear()
            if await self._store.any():
                return
            await set_within(self._changed, LOOK_SECONDS)

    async def _follow(self, jetstream: JetStreamContext) -> None:
        """Until there are no webhooks, or the consumer is lost with the server's store."""
        config = ConsumerConfig(deliver_policy=DeliverPolicy.NEW, ack_wait=ACK_SECONDS)
        subscription = await jetstream.pull_subscribe(ALL_EVENTS, durable=WEBHOOKS, stream=EVENTS, config=config)
        try:
            await self.catch_up()
            while True:
                try:
                    messages = await subscription.fetch(1, IDLE_SECONDS)
                except TimeoutError:
                    if not await self._store.any():
                        await jetstream.delete_consumer(EVENTS, WEBHOOKS)
                        return
                    await jetstream.consumer_info(EVENTS, WEBHOOKS)  # NotFoundError: it is made again.
                    continue
                with suppress(TimeoutError):
                    messages += await subscription.fetch(BATCH, GATHER_SECONDS)
                await self._take(messages)
        except NotFoundError:
            _logger.warning("the consumer %s was lost and is made again", WEBHOOKS)
        finally:
            with suppress(NatsError):
                await subscription.unsubscribe()

    async def _take(self, messages: Sequence[Msg]) -> None:
        """Headers are not authenticated, so they only say where to look into the log."""
        places = {id(message): wire.place(message.headers) for message in messages}
        streams = {place.stream for place in places.values() if place and place.stream.kind == USER}
        late = set[StreamId]()
        for stream, hook in await self._store.of_streams(sorted(streams)):
            try:
                await self.feed(hook, stream)
            except ReadTimeout:
                late.add(stream)
            except MnemologError as fault:  # A damaged log, for example: the sweep tries again.
                _logger.warning("webhook %s of %s: %s", hook.webhook_id, stream, fault.code)
        for message in messages:
            place = places[id(message)]
            again = place is not None and place.stream in late
            if again and message.metadata.num_delivered < MOST_REDELIVERIES:
                await message.nak(AGAIN_SECONDS)
            else:
                await message.ack()

    async def _on_changed(self, message: Msg) -> None:
        self._changed.set()


async def tell(nats: Client) -> None:
    """Tell the processes that feed webhooks that there is one. A message that is lost costs a minute."""
    with suppress(NatsError):
        await nats.publish(WEBHOOKS_CHANGED)


def message_of(type_: str, at: Any, data: Mapping[str, Any]) -> bytes:
    """The body of a delivery, as Standard Webhooks describes it."""
    return json.dumps({"type": type_, "timestamp": at, "data": data}, ensure_ascii=False, default=_written).encode()


def _delivery(user_id: str, change: Mapping[str, Any]) -> NewDelivery:
    type_ = types_of(change)
    return NewDelivery(
        change["id"], type_, change["seq"], message_of(type_, change["ts"], {"user_id": user_id, **change})
    )


def _written(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
