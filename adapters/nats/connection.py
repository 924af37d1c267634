"""The connection to NATS, which reconnects indefinitely."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

_logger = logging.getLogger("mnemolog.nats")

RECONNECT_SECONDS = 0.2
# The one error of a server that leaves the connection as it is.
REFUSED = "permissions violation"
# A server that answers none of three pings is gone, even if nothing said so.
PING_SECONDS, UNANSWERED_PINGS = 5, 2
FOR_EVER: Mapping[str, Any] = {
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": RECONNECT_SECONDS,
    "ping_interval": PING_SECONDS,
    "max_outstanding_pings": UNANSWERED_PINGS,
}


class Connection(Client):
    """A client that outlives what a server or another client sends."""

    @property
    def abandoned(self) -> bool:
        """Whether the event loop ends without closing it: `asyncio.run` has cancelled its tasks, so nothing answers."""
        return self.is_connected and self._reading_task is not None and self._reading_task.done()

    async def _process_err(self, err_msg: str) -> None:
        """Connect again after an error for which the server ended the connection: nats-py would close it for good."""
        if not self.is_connected or REFUSED in err_msg:
            await super()._process_err(err_msg)
            return
        error = NatsError(f"nats: {err_msg}")
        _logger.warning("the server ended a connection: %s", error)
        await self._error_cb(error)
        await self._process_op_err(error)

    async def _process_headers(self, headers: bytes | None) -> dict[str, str] | None:
        """None for headers that cannot be read: nats-py would read nothing more, and a server delivers them again."""
        try:
            found: dict[str, str] | None = await super()._process_headers(headers)
        except (IndexError, ValueError) as error:
            _logger.warning("headers of a message are not read: %s", type(error).__name__)
            return None
        return found

    def _build_message(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: dict[str, str] | None
    ) -> Msg:
        """A message whose subject is not UTF-8 has one that is, for the same reason."""
        plain = subject.decode(errors="backslashreplace").encode()
        message: Msg = super()._build_message(sid, plain, reply, data, headers)
        return message

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
