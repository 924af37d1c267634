"""Reads a whole JetStream stream once, in order and in batches, without leaving a consumer behind."""

from collections.abc import AsyncIterator

from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

BATCH = 500
WAIT_SECONDS = 10.0
FORGET_SECONDS = 60.0


async def messages(jetstream: JetStreamContext, stream: str) -> AsyncIterator[Msg]:
    """Every message that stands in the stream when this begins; none when there is no such stream."""
    try:
        state = (await jetstream.stream_info(stream)).state
    except NotFoundError:
        return
    if not state.messages:
        return
    config = ConsumerConfig(
        ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL, inactive_threshold=FORGET_SECONDS
    )
    subscription = await jetstream.pull_subscribe("", stream=stream, config=config)
    try:
        place = 0
        while place < state.last_seq:
            for message in await subscription.fetch(BATCH, timeout=WAIT_SECONDS):
                place = message.metadata.sequence.stream
                yield message
    finally:
        await subscription.unsubscribe()
