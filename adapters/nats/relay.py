"""The relay: publishes what the outbox names, pipelined, and clears a row once JetStream has its events.

A crash between the two publishes them again; JetStream drops what it has seen (`Nats-Msg-Id`), and projectors skip
the rest by their one rule.
"""

import asyncio
import logging

from nats.aio.client import Client
from nats.js.api import PubAck

from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.subjects import EVENTS, event_subject
from mnemolog.adapters.postgres.outbox import Outbox
from mnemolog.adapters.postgres.pool import Connection
from mnemolog.events.envelope import StoredEvent

_logger = logging.getLogger("mnemolog.relay")

BATCH = 500
ACK_SECONDS = 5.0
# NATS takes 1 MiB unless it is told otherwise, headers counted.
MAX_BODY = 1_000_000
HEADER_ROOM = 2048
IDLE_SECONDS = 0.25
FOLLOW_SECONDS = 1.0


class Relay:
    """`wake` is called after each commit; without it the relay looks every quarter of a second."""

    def __init__(self, outbox: Outbox, client: Client, wire_key: bytes) -> None:
        self._outbox, self._client, self._key = outbox, client, wire_key
        self._jetstream = client.jetstream()
        self._work = asyncio.Event()

    def wake(self) -> None:
        self._work.set()

    async def run(self) -> None:
        """Lead when no other relay does, until cancelled."""
        while True:
            try:
                async with self._outbox.leadership() as lead:
                    if lead is not None:
                        await self._lead(lead)
            except Exception as error:  # noqa: BLE001  A relay that ended would deliver nothing more.
                _logger.warning("relay: %s, trying again", type(error).__name__)
            await asyncio.sleep(FOLLOW_SECONDS)

    async def _lead(self, lead: Connection) -> None:
        # Anew each time: a publish that fails keeps one of the context's places for ever (nats-py 2.16).
        self._jetstream = self._client.jetstream()
        while True:
            self._work.clear()
            while await self.deliver():
                pass
            try:
                # Not wait_for: in Python 3.11 it swallows a cancellation that comes together with the wake-up.
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._work.wait()
            except TimeoutError:
                await lead.execute("SELECT 1")  # A leader whose session died must not go on.

    async def deliver(self) -> int:
        """Publish one batch; how many events it had."""
        pending = await self._outbox.pending(BATCH)
        if not pending.ids:
            return 0
        acks = [await self._publish(event) for event in pending.events]
        async with asyncio.timeout(ACK_SECONDS):
            await asyncio.gather(*acks)
        await self._outbox.delivered(pending.ids)
        return len(pending.events)

    async def _publish(self, event: StoredEvent) -> "asyncio.Future[PubAck]":
        body = wire.pack(event, min(MAX_BODY, self._client.max_payload - HEADER_ROOM))
        headers = {**wire.headers(event), wire.MAC: wire.mac(self._key, body)}
        subject = event_subject(event.header.stream, event.header.type)
        return await self._jetstream.publish_async(subject, body, stream=EVENTS, headers=headers)
