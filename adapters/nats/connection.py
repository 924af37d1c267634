"""The connection to NATS: reconnects for ever, and makes the streams that the engine needs."""

import logging

import nats
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from mnemolog.adapters.nats.subjects import INTAKE, TURNS, stream_configs

_logger = logging.getLogger("mnemolog.nats")

RECONNECT_SECONDS = 0.2


async def connect(nats_url: str, name: str) -> Client:
    """A client that reconnects for ever: nothing waits on it that cannot wait."""
    return await nats.connect(
        nats_url,
        name=name,
        max_reconnect_attempts=-1,
        reconnect_time_wait=RECONNECT_SECONDS,
        error_cb=log_error,
    )


async def log_error(error: Exception) -> None:
    _logger.debug("nats: %r", error)


async def ensure_streams(jetstream: JetStreamContext, replicas: int = 1) -> None:
    """Create each stream, or bring an older one up to date; limits that an operator has set stay as they are."""
    for config in stream_configs(replicas):
        assert config.name
        try:
            found = (await jetstream.stream_info(config.name)).config
        except NotFoundError:
            await jetstream.add_stream(config)
        else:
            own = {"subjects": config.subjects, "duplicate_window": config.duplicate_window}
            await jetstream.update_stream(found.evolve(**own, num_replicas=replicas))
    await _drop_former_consumers(jetstream)


async def _drop_former_consumers(jetstream: JetStreamContext) -> None:
    """A work queue has one consumer, and an earlier name would keep ours out. What is not acknowledged stays."""
    for consumer in await jetstream.consumers_info(TURNS):
        if consumer.name != INTAKE:
            await jetstream.delete_consumer(TURNS, consumer.name)
