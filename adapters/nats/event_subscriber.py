"""Receives events from the relay for the partitions of this process.

Plain subscriptions and no consumer: JetStream would only keep for this process what the log keeps anyway, and a server
that lost its storage would have to create consumers again. What is published while nobody listens is read from the log:
when a partition is taken, after a connection was lost, and by the sweep (docs/decisions/0009).
"""

import asyncio
import logging
from collections.abc import Callable, Collection

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.subjects import partition_subject
from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import Position
from mnemolog.projections.rule import Delivered

_logger = logging.getLogger("mnemolog.subscribers")

# Maximum waiting for this process, per partition; beyond that, messages are dropped and the sweep finds their events.
PENDING_BYTES = 4 << 20
FLUSH_SECONDS = 2


class EventSubscriber:
    """`deliver` gets each event, or the position of one that was too large for its message. It must not block.

    Events that are already `delivered` are not decoded.
    """

    def __init__(
        self,
        client: Client,
        wire_key: bytes,
        deliver: Callable[[Delivered], None],
        delivered: Callable[[Position], bool] = lambda place: False,
    ) -> None:
        self._client, self._key, self._deliver, self._delivered = client, wire_key, deliver, delivered
        self._subscriptions: dict[int, Subscription] = {}

    async def follow(self, partitions: Collection[int]) -> None:
        """Subscribe to exactly these partitions. When it returns, the server sends everything published from now on."""
        for partition in set(self._subscriptions).difference(partitions):
            await self._subscriptions.pop(partition).unsubscribe()
        for partition in sorted(set(partitions).difference(self._subscriptions)):
            self._subscriptions[partition] = await self._client.subscribe(
                partition_subject(partition), cb=self._on_message, pending_bytes_limit=PENDING_BYTES
            )
        try:
            await self._client.flush(FLUSH_SECONDS)
        except NatsError:
            _logger.info("NATS does not answer: it learns of the subscriptions when it comes back")

    async def _on_message(self, message: Msg) -> None:
        place = wire.place(message.headers)
        if place and self._delivered(place):
            return
        try:
            if not wire.authentic(self._key, message.headers, message.data):
                raise MalformedEvent("the message was not sent by an engine of this deployment", field="message")
            self._deliver(wire.read(message.data))
        except MalformedEvent as error:
            _logger.warning("a message on %s is skipped: %s", message.subject, error)
        await asyncio.sleep(0)  # Let others run during a burst.
