"""The connection to NATS, which reconnects indefinitely."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError

_logger = logging.getLogger("mnemolog.nats")

RECONNECT_SECONDS = 0.2
# A server that answers none of three pings is gone, even if nothing said so.
PING_SECONDS, UNANSWERED_PINGS = 5, 2
FOR_EVER: Mapping[str, Any] = {
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": RECONNECT_SECONDS,
    "ping_interval": PING_SECONDS,
    "max_outstanding_pings": UNANSWERED_PINGS,
}


class Connection(Client):
    @property
    def abandoned(self) -> bool:
        """Whether the event loop ends without closing it: `asyncio.run` has cancelled its tasks, so nothing answers."""
        return self.is_connected and self._reading_task is not None and self._reading_task.done()

    async def close(self) -> None:
        """Close it. What waits for a server that is gone is dropped: nats-py would send it, and raise an error."""
        if not self.is_connected or (self._transport and self._transport.at_eof()):
            self._pending, self._pending_data_size = [], 0
        await super().close()


async def connect(nats_url: str, name: str, inbox_prefix: str = "_INBOX") -> Connection:
    """A client that reconnects for ever.

    An initial refusal, such as a wrong password, is raised at once, because it would never succeed.
    """
    client, refused = Connection(), asyncio.get_running_loop().create_future()

    async def failed(error: Exception) -> None:
        await log_error(error)
        if is_refusal(error) and not refused.done():
            refused.set_result(error)

    connecting = asyncio.ensure_future(
        client.connect(nats_url, name=name, inbox_prefix=inbox_prefix, error_cb=failed, **FOR_EVER)
    )
    try:
        await asyncio.wait([connecting, refused], return_when=asyncio.FIRST_COMPLETED)
        if refused.done():
            raise refused.result()
        await connecting
    except BaseException:
        connecting.cancel()
        await asyncio.wait([connecting])
        await client.close()
        raise
    finally:
        refused.cancel()
    return client


def is_refusal(error: Exception) -> bool:
    """Whether a server answered, but refused this client."""
    return isinstance(error, NatsError) and "authori" in str(error).lower()


async def log_error(error: Exception) -> None:
    _logger.debug("nats: %r", error)
