"""Clients that search over HTTP at once, in a process that imports nothing else: python -m tests.bench.http_clients.

Plain sockets, so that they take as little of the machine as can be. Prints the milliseconds of each request.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from random import Random
from urllib.parse import urlsplit

USER, CLIENTS = "bench", 50
WORDS = [
    "where",
    "when",
    "what",
    "does",
    "Ana",
    "like",
    "tea",
    "music",
    "work",
    "travel",
    "family",
    "garden",
    "morning",
    "friend",
    "city",
    "book",
]


def questions(client: int) -> Iterator[str]:
    """What a client asks: the same whenever it is asked."""
    random = Random(client)
    while True:
        yield " ".join(random.choices(WORDS, k=6))


async def clients(url: str, count: int) -> list[float]:
    """The milliseconds of so many requests, by CLIENTS at once."""
    host, took = urlsplit(url).netloc, list[float]()
    left = iter(range(count))

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
        for _, query in zip(left, questions(number), strict=False):
            body = json.dumps({"user_id": USER, "query": query}).encode()
            head = f"POST /v1/search HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
            began = time.perf_counter()
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(answer.partition("content-length: ")[2].split("\r\n")[0]))
            took.append(1000 * (time.perf_counter() - began))
            assert " 200 " in answer.partition("\r\n")[0], answer
        writer.close()

    await asyncio.gather(*map(client, range(CLIENTS)))
    return took


if __name__ == "__main__":
    _, address, requests = sys.argv
    sys.stdout.write(json.dumps(asyncio.run(clients(address, int(requests)))))
