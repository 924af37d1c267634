"""Whether NATS lets somebody in: asked by hand, because nats-py leaves its socket open when a server refuses it."""

import asyncio
import json


async def admitted(url: str) -> bool:
    """Of an address with name and password."""
    host, _, port = url.rpartition("@")[2].partition(":")
    name, _, password = url.removeprefix("nats://").rpartition("@")[0].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await reader.readline()
    writer.write(f"CONNECT {json.dumps({'user': name, 'pass': password, 'verbose': False})}\r\nPING\r\n".encode())
    said = await reader.readline()
    writer.close()
    return said == b"PONG\r\n"


async def refused(url: str) -> bool:
    return not await admitted(url)
