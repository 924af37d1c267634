"""The subscriber of turns, run by FastStream, which hands them to the intake.

Our code owns the streams (`declare=False`: FastStream would overwrite their configuration) and acknowledges by hand
(by default FastStream ends a message whose handler raised). The consumer pushes, in order and at once; batches are
made here, because FastStream's own wait for their time to pass (docs/decisions/0003).
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from faststream import AckPolicy
from faststream.message import StreamMessage
from faststream.nats import JStream, NatsBroker
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.api import ConsumerConfig

from mnemolog.adapters.batching import Batcher
from mnemolog.adapters.nats.connection import FOR_EVER, Connection, log_error
from mnemolog.adapters.nats.subjects import ALL_TURNS, INTAKE, TURNS
from mnemolog.adapters.nats.turns import TurnIntake

_logger = logging.getLogger("mnemolog.subscribers")

TURN_BATCH = 256
MAX_PENDING = 2048
TURNS_ARE = "Turns of conversations, from producers in any language."
ACK_WAIT_SECONDS = 30.0
RETRY_SECONDS = 1.0


class TurnsConnection(Connection):
    """A connection for what producers sent."""

    def _is_control_message(self, data: bytes, header: Mapping[str, str]) -> str | None:
        """None: the consumer of turns has neither heartbeats nor flow control, and a producer may set their headers.

        nats-py would send an empty message to the subject that they name, with the engine's rights.
        """
        return None


class Broker(NatsBroker):
    """FastStream's, on a connection of ours."""

    async def _connect(self) -> Client:
        connection = TurnsConnection()
        await connection.connect(**self._connection_kwargs)
        self.config.connect(connection)
        return connection


def broker(nats_url: str) -> Broker:
    return Broker(
        nats_url,
        name="mnemolog subscribers",
        error_cb=log_error,
        logger=None,
        apply_types=False,  # Its injection takes four thread-pool calls per message.
        **FOR_EVER,
    )


class Turns:
    """Turns as they arrive, passed to the intake in batches, in order."""

    def __init__(self, intake: TurnIntake) -> None:
        self._intake = intake
        self._batches: Batcher[Msg] = Batcher(TURN_BATCH, MAX_PENDING)

    def subscribe(self, to: NatsBroker) -> None:
        """Subscribe to all tenants. Several engines share the one durable consumer."""

        @to.subscriber(ALL_TURNS, title="turns", description=TURNS_ARE, **_DURABLE)  # type: ignore[untyped-decorator]
        async def on_turn(message: StreamMessage[Msg]) -> None:
            await self._batches.put(message.raw_message)

    async def run(self) -> None:
        """Take batches until cancelled."""
        while True:
            batch = await self._batches.take()
            try:
                await self._intake.take(batch)
            except Exception as error:  # noqa: BLE001  Any error: the turns stay on JetStream and are redelivered.
                _logger.warning("%d turns come again: %r", len(batch), error)
                for message in batch:
                    if not message.is_acked:
                        with suppress(NatsError):  # Unreachable: then its acknowledgement times out.
                            await message.nak(delay=RETRY_SECONDS)


async def _whole(message: StreamMessage[Msg]) -> StreamMessage[Msg]:
    """Used instead of a decoder: handlers acknowledge, so they need the message, not only its body."""
    return message


_DURABLE: Any = {
    "stream": JStream(TURNS, declare=False),
    "queue": INTAKE,  # nats-py uses it as the durable's name as well.
    "config": ConsumerConfig(ack_wait=ACK_WAIT_SECONDS, max_ack_pending=MAX_PENDING),
    "ack_policy": AckPolicy.MANUAL,
    "decoder": _whole,
}
