"""The relay: publishes events in the outbox, pipelined, and deletes a row once JetStream has its events.

A batch that fails is published again from its start; JetStream drops what it has seen (`Nats-Msg-Id`), and projectors
skip the rest by their one rule.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Sequence

from nats.aio.client import Client
from nats.js.api import Header
from nats.js.errors import NoStreamResponseError

from mnemolog.adapters.cancellation import set_within
from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.pipeline import Answer, Pipeline, acknowledged
from mnemolog.adapters.nats.streams import Streams
from mnemolog.adapters.nats.subjects import EVENTS, event_subject
from mnemolog.adapters.postgres.chained import Refused, unrecorded
from mnemolog.adapters.postgres.lease import Lease
from mnemolog.adapters.postgres.outbox import Outbox, Pending, RelaySession
from mnemolog.events.envelope import StoredEvent

_logger = logging.getLogger("mnemolog.relay")

ROWS = 500
PAGE = 500  # Events in memory at once; with their data, up to 256 KiB of text each.
ACK_SECONDS = 5.0
# The default limit of NATS is 1 MiB, including headers.
MAX_BODY = 1_000_000
HEADER_ROOM = 2048
IDLE_SECONDS = 1.0
# A few events together cost little more than one, and their writers do not wait for the message.
GATHER_SECONDS = 0.01


class Relay:
    """`wake` is called after each commit; without it, the relay polls every second.

    `found` is called with events that are about to be published, and `published` once JetStream has them, before they
    leave the outbox: both in order within each stream, and again if publishing has to be repeated. An event that does
    not match the chain is not published: `refused` is called with it, and its row leaves the outbox.
    """

    def __init__(
        self,
        outbox: Outbox,
        client: Client,
        wire_key: bytes,
        streams: Streams,
        published: Callable[[Sequence[StoredEvent]], None] = lambda events: None,
        refused: Refused = unrecorded,
    ) -> None:
        self._outbox, self._client, self._key, self._streams = outbox, client, wire_key, streams
        self._published, self._refused = published, refused
        self.found: Callable[[Sequence[StoredEvent]], None] = lambda events: None
        self._work = asyncio.Event()

    def wake(self) -> None:
        self._work.set()

    async def run(self) -> None:
        """Run the relay whenever no other one leads, until cancelled."""
        await self._outbox.lead(self._lead)

    async def deliver(self, session: RelaySession) -> int:
        """Publish the oldest rows; returns their number."""
        rows = await session.pending(ROWS)
        if rows:
            damaged = set[int]()
            async with Pipeline(self._client) as pipeline:
                for page in _pages(rows, damaged):
                    found = await session.events(page)
                    self.found(found.events)
                    await self._publish(pipeline, found.events, session.lease)
                    self._published(found.events)
                    for damage in found.damaged.values():
                        _logger.error("relay: %s", damage.message)
                        await self._refused(damage)
                    damaged.update(found.damaged)
                    await session.delivered([part.id for part in page if part.ends or part.id in damaged])
        return len(rows)

    async def _lead(self, session: RelaySession) -> None:
        while True:
            self._work.clear()
            try:
                while delivered := await self.deliver(session):
                    if delivered < ROWS:
                        await asyncio.sleep(GATHER_SECONDS)
            except NoStreamResponseError:
                _logger.warning("relay: the stream of events was lost, and is made again")
                await self._streams.ensure()
            await set_within(self._work, IDLE_SECONDS)

    async def _publish(self, pipeline: Pipeline, events: Sequence[StoredEvent], lease: Lease) -> None:
        """Publish all and wait for all; TimeoutError if JetStream does not answer for five seconds.

        LeaseLost before the first event that another relay may be publishing: JetStream cannot tell which lease is
        newer.
        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(ACK_SECONDS) as patience:
            answers = []
            for event in events:
                lease.require()
                answers.append(await self._send(pipeline, event))
                patience.reschedule(loop.time() + ACK_SECONDS)
            for answer in answers:
                acknowledged(await answer)
                patience.reschedule(loop.time() + ACK_SECONDS)

    async def _send(self, pipeline: Pipeline, event: StoredEvent) -> Answer:
        body = wire.pack(event, min(MAX_BODY, self._client.max_payload - HEADER_ROOM))
        own = {wire.MAC: wire.mac(self._key, body), Header.EXPECTED_STREAM.value: EVENTS}
        headers = {**wire.headers(event), **own}
        return await pipeline.publish(event_subject(event.header.stream, event.header.type), body, headers)


def _pages(rows: Sequence[Pending], damaged: Collection[int]) -> Iterator[Sequence[Pending]]:
    """The rows in pages with a limited number of events; stops reading a row that turns out to be damaged."""
    page: list[Pending] = []
    size = 0
    for row in rows:
        for part in row.parts(PAGE):
            length = part.last - part.first + 1
            if page and size + length > PAGE:
                yield page
                page, size = [], 0
            if row.id in damaged:
                break
            page.append(part)
            size += length
    if page:
        yield page
