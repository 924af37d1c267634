"""Publish turns to JetStream and wait for the engine's receipt of each: what is reported as recorded is in the log."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from mnemolog.adapters.ingest.source import SourceTurn
from mnemolog.adapters.nats.subjects import turn_subject
from mnemolog.adapters.nats.turns import REPLY_TO
from mnemolog.adapters.nats.wire import MESSAGE_ID
from mnemolog.domain.errors import InvalidInput, ServerFailed

WINDOW = 1024
RESEND_SECONDS = 10.0
LOOK_SECONDS = 0.5
SILENCE_SECONDS = 60.0
HEADERS_BYTES = 1024


@dataclass(frozen=True, slots=True)
class SetAside:
    """A turn that was refused; what reached the engine is in the dead-letter stream with its bytes."""

    place: str
    error: dict[str, str]


@dataclass(slots=True)
class IngestReport:
    """Every turn of the source is in exactly one of the three."""

    turns: int = 0
    recorded: int = 0
    already: int = 0
    set_aside: list[SetAside] = field(default_factory=list)


class Ingest:
    """One run over one source. Run again after a crash: turns that are in the log are counted as `already`."""

    def __init__(
        self, nats: Client, tenant: str, turns: Sequence[SourceTurn], progressed: Callable[[int], None] | None = None
    ) -> None:
        self._nats, self._subject = nats, turn_subject(tenant)
        self._turns, self._progressed = turns, progressed or (lambda count: None)
        self._run, self._attempts = os.urandom(8).hex(), 0
        self._sent: dict[int, float] = {}
        self._room = asyncio.Condition()
        self._heard = time.monotonic()
        self.report = IngestReport(turns=len(turns))

    async def run(self) -> IngestReport:
        """Send everything, at most a window ahead of the receipts; what gets none in time is sent again."""
        async with self._receipts() as inbox, self._resending(inbox):
            for index in range(len(self._turns)):
                await self._wait_until(lambda: len(self._sent) < WINDOW)
                await self._send(index, inbox)
            await self._wait_until(lambda: not self._sent)
        return self.report

    @asynccontextmanager
    async def _receipts(self) -> AsyncIterator[str]:
        inbox = self._nats.new_inbox()
        subscription = await self._nats.subscribe(f"{inbox}.*", cb=self._received)
        try:
            yield inbox
        finally:
            await subscription.unsubscribe()

    @asynccontextmanager
    async def _resending(self, inbox: str) -> AsyncIterator[None]:
        task = asyncio.create_task(self._resend(inbox))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _resend(self, inbox: str) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            late = time.monotonic() - RESEND_SECONDS
            for index in [index for index, sent_at in self._sent.items() if sent_at < late]:
                await self._send(index, inbox)

    async def _send(self, index: int, inbox: str) -> None:
        """Without waiting for JetStream: the engine's receipt says more, and a turn that gets none is sent again."""
        if len(self._turns[index].body) + HEADERS_BYTES > self._nats.max_payload:
            await self._set_aside(index)
            return
        self._sent[index] = time.monotonic()
        self._attempts += 1
        headers = {MESSAGE_ID: f"{self._run}-{self._attempts}", REPLY_TO: f"{inbox}.{index}"}
        with suppress(NatsError):
            await self._nats.publish(self._subject, self._turns[index].body, headers=headers)

    async def _set_aside(self, index: int) -> None:
        """What no message can carry never reaches the engine; it stays in the file, and its place is reported."""
        size = len(self._turns[index].body)
        error = InvalidInput(f"has {size:,} bytes, more than a message carries", field="message", fix="shorten it")
        self.report.set_aside.append(SetAside(self._turns[index].place, error.as_dict()))
        await self._done()

    async def _done(self) -> None:
        self._heard = time.monotonic()
        self._progressed(1)
        async with self._room:
            self._room.notify_all()

    async def _wait_until(self, ready: Callable[[], bool]) -> None:
        """ServerFailed when no receipt came for a minute: the engine that this run is attached to may have ended."""
        while not ready():
            if time.monotonic() - self._heard > SILENCE_SECONDS:
                raise ServerFailed(
                    f"no receipt came for {SILENCE_SECONDS:.0f} s",
                    fix="start the engine and run this again: nothing is taken in twice",
                )
            async with self._room:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._room.wait()

    async def _received(self, message: Msg) -> None:
        index = int(message.subject.rpartition(".")[2])
        if self._sent.pop(index, None) is None:
            return
        self._count(self._turns[index], json.loads(message.data))
        await self._done()

    def _count(self, turn: SourceTurn, answer: dict[str, Any]) -> None:
        if not answer["ok"]:
            self.report.set_aside.append(SetAside(turn.place, answer["error"]))
            return
        if answer["receipt"]["already"]:
            self.report.already += 1
        else:
            self.report.recorded += 1
