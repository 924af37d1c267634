"""Sends turns and resends them until they are answered: at least once on the wire, once in the log."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from itertools import count
from types import TracebackType
from typing import Self

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from mnemolog.adapters.nats.pipeline import IN_FLIGHT, Pipeline, acknowledged
from mnemolog.adapters.nats.subjects import Address
from mnemolog.adapters.nats.turn_message import REPLY_TO, outcome_of
from mnemolog.adapters.nats.wire import MESSAGE_ID
from mnemolog.domain.errors import InvalidInput, MnemologError, ServerFailed
from mnemolog.events.envelope import Receipt

RESEND_SECONDS = 10.0
SILENCE_SECONDS = 60.0
REFUSED_SECONDS = 0.5
HEADERS_BYTES = 1024
SHORTEN = "shorten the text or leave out attachments"

# None means that JetStream has the turn, without a receipt from the engine.
Sent = Receipt | MnemologError | None


class TurnSender:
    """An async context over a connection that somebody else closes.

    With `receipts`, a turn is done once it is in the log or refused; without, once JetStream has it.
    """

    def __init__(
        self,
        client: Client,
        address: Address,
        *,
        receipts: bool = True,
        silence: float = SILENCE_SECONDS,
        resend: float = RESEND_SECONDS,
    ) -> None:
        self._client, self._subject, self._receipts = client, address.turns, receipts
        self._silence, self._resend = silence, resend
        self._run, self._numbers = os.urandom(8).hex(), count()
        self._pipeline = Pipeline(client, f"{address.receipts}.{self._run}" if receipts else "")
        self._heard = 0.0

    async def __aenter__(self) -> Self:
        await self._pipeline.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._pipeline.__aexit__(kind, error, traceback)

    async def send(self, body: bytes, headers: Mapping[str, str] | None = None) -> Sent:
        """Send one turn until it is done. ServerFailed if no turn is answered for `silence` seconds."""
        if not self.takes(body):
            return InvalidInput(f"has {len(body):,} bytes, more than a message can hold", field="message", fix=SHORTEN)
        number, since = next(self._numbers), time.monotonic()
        while True:
            try:
                return await self._sent(body, headers or {}, number, since)
            except NatsError as refusal:
                self._require_life(since, refusal)
                await asyncio.sleep(REFUSED_SECONDS)

    def takes(self, body: bytes) -> bool:
        """Whether a message can hold this turn."""
        return len(body) + HEADERS_BYTES <= self._client.max_payload

    async def send_all(self, bodies: Iterable[bytes]) -> AsyncIterator[Sent]:
        """Send in order, a window ahead of the answers; returns the outcomes in the same order."""
        waiting: deque[asyncio.Task[Sent]] = deque()
        try:
            for body in bodies:
                if len(waiting) == IN_FLIGHT:
                    yield await waiting.popleft()
                waiting.append(asyncio.create_task(self.send(body)))
            while waiting:
                yield await waiting.popleft()
        finally:
            for task in waiting:
                task.cancel()

    async def _sent(self, body: bytes, headers: Mapping[str, str], number: int, since: float) -> Sent:
        """All attempts use the same reply subject, so that a late answer counts as well.

        Each waits twice as long as the one before: an engine that is late has the copies to look at, too.
        """
        reply, answer = await self._pipeline.place(len(body))
        try:
            for attempt in count():
                await self._publish(body, headers, reply, f"{number}-{attempt}" if self._receipts else str(number))
                try:
                    async with asyncio.timeout(self._resend * 2**attempt):
                        return self._read(await asyncio.shield(answer))
                except TimeoutError as late:
                    self._require_life(since, late)
            raise AssertionError("unreachable")
        finally:
            answer.cancel()

    async def _publish(self, body: bytes, headers: Mapping[str, str], reply: str, message_id: str) -> None:
        """JetStream drops duplicates of this id. A receipt is only sent for messages that it does not drop."""
        own = {**headers, MESSAGE_ID: f"{self._run}-{message_id}"}
        if self._receipts:
            await self._client.publish(self._subject, body, headers={**own, REPLY_TO: reply})
        else:
            await self._client.publish(self._subject, body, headers=own, reply=reply)

    def _read(self, answered: Msg) -> Sent:
        outcome = outcome_of(answered.data) if self._receipts else None
        if not self._receipts:
            acknowledged(answered)
        self._heard = time.monotonic()
        return outcome

    def _require_life(self, since: float, fault: Exception) -> None:
        if time.monotonic() - max(self._heard, since) > self._silence:
            raise ServerFailed(
                f"no answer for {self._silence:.0f} s ({str(fault) or 'silence'})",
                fix="check that NATS and the engine run, and send again: nothing is recorded twice",
            ) from fault
