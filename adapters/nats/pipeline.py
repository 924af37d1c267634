"""Pipelined publishing: each message has its own reply subject, with a limit on unanswered messages.

nats-py's own `publish_async` counts messages and not their bytes, and a publish that fails keeps its place for ever
(nats-py 2.16).
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import Self

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import ConnectionReconnectingError
from nats.errors import Error as NatsError
from nats.js.api import PubAck
from nats.js.errors import APIError, NoStreamResponseError

IN_FLIGHT = 1024
BYTES_IN_FLIGHT = 8 * 1024 * 1024
NO_RESPONDERS = "503"

Answer = asyncio.Future[Msg]


class Pipeline:
    """An async context; unanswered messages are cancelled at its end. Answers arrive below `inbox`."""

    def __init__(
        self, client: Client, inbox: str = "", most: int = IN_FLIGHT, most_bytes: int = BYTES_IN_FLIGHT
    ) -> None:
        self._client, self._most, self._most_bytes = client, most, most_bytes
        self._inbox = inbox or client.new_inbox()
        self._numbers = count()
        self._waiting: dict[str, Answer] = {}
        self._bytes = 0
        self._in_order = asyncio.Lock()
        self._freed = asyncio.Event()
        self._subscription: Subscription | None = None

    async def __aenter__(self) -> Self:
        self._subscription = await self._client.subscribe(f"{self._inbox}.*", cb=self._answered)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for answer in self._waiting.values():
            answer.cancel()
        if self._subscription:
            with suppress(NatsError):  # The connection may be gone, and the subscription with it.
                await self._subscription.unsubscribe()

    async def publish(self, subject: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Publish once there is room; the future gets the answer."""
        reply, answer = await self.place(len(body))
        if not self._client.is_connected:
            # What the client buffers for later would overtake what was lost on the way.
            raise ConnectionReconnectingError
        # nats-py modifies the dict.
        await self._client.publish(subject, body, reply=reply, headers=dict(headers))
        return answer

    async def place(self, size: int) -> tuple[str, Answer]:
        """A reply subject, once there is room for so many bytes; a message larger than all the room is sent alone.

        Callers are served in order. Cancel an answer that is no longer needed.
        """
        async with self._in_order:
            while self._waiting and (len(self._waiting) >= self._most or self._bytes + size > self._most_bytes):
                self._freed.clear()
                await self._freed.wait()
            number, answer = str(next(self._numbers)), asyncio.get_running_loop().create_future()
            self._waiting[number] = answer
            self._bytes += size

        def free(answer: Answer) -> None:
            del self._waiting[number]
            self._bytes -= size
            self._freed.set()

        answer.add_done_callback(free)
        return f"{self._inbox}.{number}", answer

    async def _answered(self, message: Msg) -> None:
        answer = self._waiting.get(message.subject.rpartition(".")[2])
        if answer and not answer.done():
            answer.set_result(message)


def acknowledged(message: Msg) -> PubAck:
    """JetStream's acknowledgement; its refusal is raised (NoStreamResponseError, APIError)."""
    if (message.headers or {}).get("Status") == NO_RESPONDERS:
        raise NoStreamResponseError
    said = json.loads(message.data)
    if "error" in said:
        raise APIError.from_error(said["error"])
    return PubAck(stream=said["stream"], seq=said["seq"], duplicate=said.get("duplicate"))
