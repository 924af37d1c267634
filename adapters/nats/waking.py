"""Tells the relay of appends by other processes: an empty message on NATS after the commit.

A message that is lost does no harm, because the relay also polls. Postgres' NOTIFY would serialize all commits.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from mnemolog.adapters.nats.relay import GATHER_SECONDS
from mnemolog.adapters.nats.subjects import APPENDED


class RelayWaker:
    """For a process without a relay. Commits that follow each other closely share a message."""

    def __init__(self, client: Client) -> None:
        self._client, self._appended = client, asyncio.Event()

    def notify(self) -> None:
        """Call after each commit."""
        self._appended.set()

    async def run(self) -> None:
        """Send the messages until cancelled."""
        while True:
            await self._appended.wait()
            self._appended.clear()
            if self._client.is_connected:  # Otherwise it would be buffered for a relay that finds the events itself.
                with suppress(NatsError):
                    await self._client.publish(APPENDED)
            await asyncio.sleep(GATHER_SECONDS)  # The relay looks again by then.


async def wake_on_append(client: Client, wake: Callable[[], None]) -> None:
    """Call `wake` for each of these messages, as long as the client is open."""

    async def woken(message: Msg) -> None:
        wake()

    await client.subscribe(APPENDED, cb=woken)
