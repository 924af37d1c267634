"""A real HTTP server that records what it is sent, and answers as it is told."""

import asyncio
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest, digest
from json import loads
from typing import Any

NEVER = 0


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = loads(self.body)
        return message

    def verified(self, secret: str) -> bool:
        """As a receiver checks it, by the standard alone."""
        signed = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        expected = b64encode(digest(b64decode(secret.removeprefix("whsec_")), signed, sha256)).decode()
        signatures = self.headers["webhook-signature"].split(" ")
        return any(compare_digest(one, f"v1,{expected}") for one in signatures)


@dataclass
class Receiver:
    """`statuses` are the next answers, then 204; NEVER keeps the caller waiting. `location` is where redirects lead.

    `retry_after` is a header of answers that refuse a delivery.
    """

    port: int = 0
    statuses: deque[int] = field(default_factory=deque)
    location: str = ""
    retry_after: str = ""
    received: list[Received] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/changes"

    @property
    def accepted(self) -> list[Received]:
        return [one for one in self.received if one.status == 204]

    async def until(self, count: int) -> list[Received]:
        """Those that were accepted, once there are so many."""
        async with asyncio.timeout(60):
            while len(self.accepted) < count:
                self.arrived.clear()
                await self.arrived.wait()
        return self.accepted

    async def attempted(self, count: int) -> list[Received]:
        """Everything that arrived, once there was so much."""
        async with asyncio.timeout(60):
            while len(self.received) < count:
                self.arrived.clear()
                await self.arrived.wait()
        return self.received

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            status = self.statuses.popleft() if self.statuses else 204
            self.received.append(Received(head[0].split()[1], headers, body, status))
            self.arrived.set()
            if status == NEVER:
                await reader.read()
            else:
                location = f"location: {self.location}\r\n" if self.location else ""
                wait = f"retry-after: {self.retry_after}\r\n" if self.retry_after and status >= 400 else ""
                writer.write(
                    f"HTTP/1.1 {status} X\r\n{location}{wait}content-length: 0\r\nconnection: close\r\n\r\n".encode()
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
