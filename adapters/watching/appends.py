"""Wakes who waits for events of a stream, by what the relay publishes. Nothing is polled.

A message that is lost does no harm, because a watcher looks at the log itself now and then.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.subjects import ALL_EVENTS
from mnemolog.events.envelope import StreamId

PENDING_BYTES = 4 << 20


class Appends:
    """One subscription for all watchers of a process, while there are any. Only headers are read."""

    def __init__(self, nats: Client) -> None:
        self._nats = nats
        self._waiting: dict[StreamId, set[asyncio.Event]] = defaultdict(set)
        self._subscription: Subscription | None = None
        self._changing = asyncio.Lock()
        self._resting: asyncio.Task[None] | None = None

    @contextmanager
    def of(self, stream: StreamId) -> Iterator[asyncio.Event]:
        """An event that is set whenever something was appended to the stream. Call `listen` before the first wait."""
        appended = asyncio.Event()
        self._waiting[stream].add(appended)
        try:
            yield appended
        finally:
            self._waiting[stream].discard(appended)
            if not self._waiting[stream]:
                del self._waiting[stream]
            if not self._waiting:
                self._resting = asyncio.create_task(self._rest())

    async def listen(self) -> None:
        """Subscribe, unless it is subscribed already."""
        async with self._changing:
            if self._subscription is None:
                with suppress(NatsError):  # Unreachable: watchers look at the log now and then.
                    self._subscription = await self._nats.subscribe(
                        ALL_EVENTS, cb=self._published, pending_bytes_limit=PENDING_BYTES
                    )

    def wake(self) -> None:
        """Wake everybody, as a server does that stops."""
        for appended in (one for waiting in self._waiting.values() for one in waiting):
            appended.set()

    async def _rest(self) -> None:
        """Unsubscribe if nobody waits."""
        async with self._changing:
            if self._subscription is not None and not self._waiting:
                with suppress(NatsError):
                    await self._subscription.unsubscribe()
                self._subscription = None

    async def _published(self, message: Msg) -> None:
        place = wire.place(message.headers)
        for appended in self._waiting.get(place.stream, ()) if place else ():
            appended.set()
