"""The connection to NATS, which reconnects for ever."""

import logging

import nats
from nats.aio.client import Client

_logger = logging.getLogger("mnemolog.nats")

RECONNECT_SECONDS = 0.2


async def connect(nats_url: str, name: str, inbox_prefix: str = "_INBOX") -> Client:
    """A client that reconnects for ever: nothing waits on it that cannot wait."""
    return await nats.connect(
        nats_url,
        name=name,
        inbox_prefix=inbox_prefix,
        max_reconnect_attempts=-1,
        reconnect_time_wait=RECONNECT_SECONDS,
        error_cb=log_error,
    )


async def log_error(error: Exception) -> None:
    _logger.debug("nats: %r", error)
