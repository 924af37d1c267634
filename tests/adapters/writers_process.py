"""Some of many writers, each on a connection of its own: `python -m tests.adapters.writers_process WAY URL < turns`.

Reads a line of JSON, one turn for each writer. Says how many connections stand once they do; then, told to go on, each
writer sends its turn. Says how many were taken.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil  # type: ignore[import-untyped]

from mnemolog import AsyncTurnProducer
from tests.testkit.turns import as_request

SECONDS = 300
Turns = Sequence[Mapping[str, Any]]


def standing(url: str) -> int:
    """The connections of this process to the server."""
    port = urlsplit(url).port
    found = psutil.Process().net_connections("tcp")
    return len([one for one in found if one.status == psutil.CONN_ESTABLISHED and one.raddr and one.raddr.port == port])


async def told_to_go_on(url: str) -> None:
    sys.stdout.write(f"{standing(url)}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)


async def over_http(url: str, turns: Turns) -> None:
    limits = httpx.Limits(max_connections=len(turns), max_keepalive_connections=len(turns))
    async with httpx.AsyncClient(base_url=url, timeout=SECONDS, limits=limits) as client:
        await asyncio.gather(*(client.get("/") for _ in turns))
        await told_to_go_on(url)
        await asyncio.gather(*(taken(client, turn) for turn in turns))


async def taken(client: httpx.AsyncClient, turn: Mapping[str, Any]) -> None:
    """Send it until it is taken, as a careful client does: its message id is its key.

    A server may close a connection that waited for the others, or be overloaded.
    """
    while True:
        with suppress(httpx.TransportError):
            answer = await client.post("/v1/turns", json=as_request(turn))
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                answer.raise_for_status()
                return
        await asyncio.sleep(0.5)


async def through_jetstream(url: str, turns: Turns) -> None:
    async with AsyncExitStack() as stack:
        producers = [
            await stack.enter_async_context(AsyncTurnProducer(url, deadline=SECONDS)) for _ in range(len(turns))
        ]
        await told_to_go_on(url)
        await asyncio.gather(*(one.publish(turn) for one, turn in zip(producers, turns, strict=True)))


async def main(way: str, url: str) -> None:
    turns = json.loads(sys.stdin.readline())
    await (over_http if way == "http" else through_jetstream)(url, turns)
    sys.stdout.write(f"{len(turns)}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
