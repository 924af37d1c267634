"""A server in front of another that loses answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx


@dataclass
class Lossy:
    """Passes requests on. Of a path in `loses`, the answer to the next request that was carried out is lost.

    `keys` are the idempotency keys that came for each path.
    """

    server: str
    url: str = ""
    loses: list[str] = field(default_factory=list)
    keys: dict[str, list[str]] = field(default_factory=dict)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, target, _ = first.split()
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            path = target.partition("?")[0]
            self.keys.setdefault(path, []).append(headers.get("idempotency-key", ""))
            kept = {name: headers[name] for name in headers if name not in ("host", "content-length", "connection")}
            async with httpx.AsyncClient(timeout=60) as client:
                got = await client.request(method, self.server + target, headers=kept, content=body)
            if got.is_success and path in self.loses:
                self.loses.remove(path)
                writer.transport.abort()
                return
            head = f"HTTP/1.1 {got.status_code} Reply\r\ncontent-type: {got.headers.get('content-type', '')}\r\n"
            writer.write(
                f"{head}content-length: {len(got.content)}\r\nconnection: close\r\n\r\n".encode() + got.content
            )
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def lossy(server: str) -> AsyncIterator[Lossy]:
    """In front of this server, on a free port."""
    one = Lossy(server)
    listening = await asyncio.start_server(one.answer, "127.0.0.1", 0)
    one.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield one
    finally:
        listening.close()
