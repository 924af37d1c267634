"""The subscribers, run by FastStream: turns to the intake, events to the projections.

Our code owns the streams (`declare=False`: FastStream would overwrite their configuration) and acknowledges by hand
(by default FastStream ends a message whose handler raised). Turns come in ordered batches. Events come one by one,
which keeps their way short; the projections' rule puts them in order again.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from faststream import AckPolicy, Context
from faststream.message import StreamMessage
from faststream.nats import JStream, NatsBroker, PullSub
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig

from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.connection import RECONNECT_SECONDS, log_error
from mnemolog.adapters.nats.subjects import ALL_EVENTS, ALL_TURNS, EVENTS, TURNS
from mnemolog.adapters.nats.turns import TurnIntake
from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import StoredEvent

_logger = logging.getLogger("mnemolog.subscribers")

TURN_BATCH = 256
TURN_COLLECT_SECONDS = 0.02
EVENT_BATCH = 256
ACK_WAIT_SECONDS = 30.0
RETRY_SECONDS = 1.0

Message = Annotated[StreamMessage[Any], Context("message")]


def broker(nats_url: str) -> NatsBroker:
    return NatsBroker(
        nats_url,
        name="mnemolog subscribers",
        max_reconnect_attempts=-1,
        reconnect_time_wait=RECONNECT_SECONDS,  # type: ignore[arg-type]  # nats-py takes a float
        error_cb=log_error,
        logger=None,
        apply_types=True,
    )


def subscribe_turns(to: NatsBroker, intake: TurnIntake) -> None:
    """Record turns from all tenants. Several engines share the one durable consumer."""

    @to.subscriber(
        ALL_TURNS,
        stream=JStream(TURNS, declare=False),
        durable="intake",
        config=ConsumerConfig(ack_wait=ACK_WAIT_SECONDS, max_ack_pending=4 * TURN_BATCH),
        pull_sub=PullSub(batch_size=TURN_BATCH, timeout=TURN_COLLECT_SECONDS, batch=True),
        ack_policy=AckPolicy.MANUAL,
        title="turns",
        description="Turns of conversations, from producers in any language.",
    )
    async def on_turns(message: Message) -> None:
        messages: Sequence[Msg] = message.raw_message
        try:
            await intake.take(messages)
        except Exception as error:  # noqa: BLE001  Whatever it was: the turns stay with JetStream and come again.
            _logger.warning("%d turns come again: %r", len(messages), error)
            for one in messages:
                if not one.is_acked:
                    await one.nak(delay=RETRY_SECONDS)


def subscribe_events(to: NatsBroker, deliver: Callable[[StoredEvent], Awaitable[None]]) -> None:
    """Hand events to the projections. Once handed over they are acknowledged: the log heals what is lost later."""

    @to.subscriber(
        ALL_EVENTS,
        stream=JStream(EVENTS, declare=False),
        durable="projections",
        config=ConsumerConfig(ack_wait=ACK_WAIT_SECONDS, max_ack_pending=8 * EVENT_BATCH),
        pull_sub=PullSub(batch_size=EVENT_BATCH, timeout=5.0),
        ack_policy=AckPolicy.MANUAL,
        decoder=_undecoded,
        title="events",
        description="Every event of the log, in the order of its stream.",
    )
    async def on_event(body: bytes, message: Message) -> None:
        try:
            await deliver(wire.unpack(body))
        except MalformedEvent:
            _logger.exception("a message on %s is skipped", message.raw_message.subject)
        await message.ack()


async def _undecoded(message: StreamMessage[Any]) -> Any:
    return message.body
