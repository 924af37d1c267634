"""Reads a JetStream stream once, in order and in batches, without leaving a consumer."""

from collections.abc import AsyncIterator

from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

BATCH = 500
WAIT_SECONDS = 10.0
FORGET_SECONDS = 60.0


async def messages(jetstream: JetStreamContext, stream: str, subjects: str = "", after: int = 0) -> AsyncIterator[Msg]:
    """Every message after a sequence, up to the stream's current end; none if the stream does not exist."""
    try:
        state = (await jetstream.stream_info(stream)).state
    except NotFoundError:
        return
    if not state.messages or state.last_seq <= after:
        return
    config = ConsumerConfig(
        ack_policy=AckPolicy.NONE,
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE if after else DeliverPolicy.ALL,
        opt_start_seq=after + 1 if after else None,
        inactive_threshold=FORGET_SECONDS,
        filter_subject=subjects or None,
    )
    subscription = await jetstream.pull_subscribe("", stream=stream, config=config)
    try:
        place, pending = 0, (await subscription.consumer_info()).num_pending
        while pending and place < state.last_seq:
            for message in await subscription.fetch(BATCH, timeout=WAIT_SECONDS):
                place, pending = message.metadata.sequence.stream, message.metadata.num_pending
                yield message
    finally:
        await subscription.unsubscribe()
