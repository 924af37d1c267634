"""Sends a delivery: signed, to a checked address, following no redirect.

The name of a receiver is resolved once for each connection, every address that it has must be allowed, and the
connection is made to one of these: what the name stands for a moment later has no effect (DNS rebinding).
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from ipaddress import ip_address
from typing import Any

import httpcore2

from mnemolog.adapters.webhooks.webhook import Delivery, Webhook
from mnemolog.domain.webhook import Address, Network, is_allowed, literal_address, retry_after, signatures

TIMEOUT_SECONDS = 10.0
GONE = 410
_USER_AGENT = f"mnemolog/{version('mnemolog')}"

Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver answered: a status, or None and an `error`. The error is "" for a delivery that was accepted.

    `retry_after` is how many seconds it asked to be left alone.
    """

    status: int | None
    error: str = ""
    retry_after: float = 0.0


class NotAllowed(Exception):
    """An address that deliveries may not connect to."""


async def resolved(host: str, port: int) -> Sequence[Address]:
    """The addresses of a host, by the resolver of the machine; OSError if it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(str(place[0]).partition("%")[0]) for *_, place in found]


class Sender:
    """`networks` may be called in addition to public addresses, and without TLS."""

    def __init__(self, networks: Sequence[Network], now: Callable[[], datetime], resolve: Resolve = resolved) -> None:
        self.networks, self._now, self.resolve = networks, now, resolve

    async def send(self, hook: Webhook, delivery: Delivery) -> Answer:
        """One attempt, which takes at most TIMEOUT_SECONDS."""
        now = self._now()
        timestamp = int(now.timestamp())
        message_id = str(delivery.delivery_id)
        headers = {
            "content-type": "application/json",
            "user-agent": _USER_AGENT,
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signatures(hook.secrets(now), message_id, timestamp, delivery.body),
        }
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status, wait = await self._post(hook.url, headers, delivery.body)
        except TimeoutError:
            return Answer(None, f"no answer within {TIMEOUT_SECONDS:.0f} seconds")
        except NotAllowed as refused:
            return Answer(None, str(refused))
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.TimeoutException,
            OSError,
            ValueError,
        ) as fault:
            unknown = isinstance(fault, socket.gaierror)
            return Answer(None, f"cannot be reached: {'its name is not found' if unknown else type(fault).__name__}")
        if 200 <= status < 300:
            return Answer(status)
        error = f"HTTP {status}" + (": redirects are not followed" if 300 <= status < 400 else "")
        return Answer(status, error, retry_after(wait, self._now()))

    async def _post(self, url: str, headers: dict[str, str], body: bytes) -> tuple[int, str]:
        """The status of the answer, and its header `Retry-After`, or ""."""
        encrypted = url.startswith("https:")
        backend = _CheckedBackend(self._addresses, encrypted=encrypted)
        sent = [("host", _host_of(url)), *headers.items(), ("content-length", str(len(body)))]
        async with (
            httpcore2.AsyncConnectionPool(network_backend=backend) as pool,
            pool.stream("POST", url, headers=sent, content=body) as answer,
        ):
            waits = (value.decode("latin-1") for name, value in answer.headers if name.lower() == b"retry-after")
            return int(answer.status), next(waits, "")  # Its body is not read.

    async def _addresses(self, host: str, port: int, *, encrypted: bool) -> Sequence[Address]:
        literal = literal_address(host)
        found = [literal] if literal else await self.resolve(host, port)
        for one in found:
            if not is_allowed(one, self.networks, encrypted=encrypted):
                what = "is not a public address" if encrypted else "is not among webhook_networks, and takes no http"
                raise NotAllowed(f"{one} {what}")
        return found


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were checked, whatever the name stands for by then."""

    def __init__(self, addresses: Callable[..., Any], *, encrypted: bool) -> None:
        self._addresses, self._encrypted = addresses, encrypted
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  Of the interface.
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        fault: Exception = OSError("the name has no address")
        for address in await self._addresses(host, port, encrypted=self._encrypted):
            try:
                return await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                fault = error
        raise fault


def _host_of(url: str) -> str:
    return url.partition("//")[2].partition("/")[0].partition("?")[0]
