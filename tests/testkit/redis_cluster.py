"""A Redis Cluster of real servers on this machine."""

import random
import socket
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from mnemolog.adapters.embedded.binaries import require
from tests.testkit.eventually import eventually

SLOTS = 16384
BUS = 10_000  # Nodes talk to each other on the port of clients plus this.


@dataclass
class Node:
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"


@asynccontextmanager
async def redis_cluster(directory: Path, primaries: int = 3, replicas: int = 0) -> AsyncIterator[Sequence[Node]]:
    """The primaries, which share all slots, and after them one replica of each of the first."""
    with ExitStack() as stack:
        nodes = [_started(stack, directory / f"node-{number}") for number in range(primaries + replicas)]
        clients = [Redis.from_url(node.url) for node in nodes]
        try:
            await _joined(nodes, clients, primaries)
            yield nodes
        finally:
            for client in clients:
                await client.aclose()


def _started(stack: ExitStack, directory: Path) -> Node:
    directory.mkdir(parents=True)
    port = _free_port()
    settings = {
        "port": str(port),
        "bind": "127.0.0.1",
        "cluster-enabled": "yes",
        "cluster-node-timeout": "2000",
        "appendonly": "yes",
        "save": "",
    }
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    process = subprocess.Popen([str(require("redis")), *words], cwd=directory, stdout=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return Node(port, process)


def _free_port() -> int:
    while True:
        port = random.randrange(20_000, 50_000)
        with ExitStack() as stack:
            try:
                for one in (port, port + BUS):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", one))
            except OSError:
                continue
            return port


async def _joined(nodes: Sequence[Node], clients: Sequence[Redis], primaries: int) -> None:
    for client in clients:
        await eventually(partial(_answers, client))
    share = -(-SLOTS // primaries)
    for number, client in enumerate(clients[:primaries]):
        await _tell(client, "ADDSLOTS", *range(number * share, min(SLOTS, (number + 1) * share)))
    for client in clients[1:]:
        await _tell(client, "MEET", "127.0.0.1", nodes[0].port)
    for client, followed in zip(clients[primaries:], clients, strict=False):
        await eventually(partial(_follows, client, await _tell(followed, "MYID")))
    for client in clients:
        await eventually(partial(_whole, client, len(nodes)))


async def _tell(client: Redis, order: str, *words: object) -> Any:
    return await client.cluster(order, *words)


async def _answers(client: Redis) -> bool:
    try:
        return bool(await client.ping())
    except (RedisError, OSError):
        return False


async def _follows(client: Redis, primary: str) -> bool:
    try:
        await _tell(client, "REPLICATE", primary)
    except RedisError:  # It has not met that node yet.
        return False
    return True


async def _whole(client: Redis, nodes: int) -> bool:
    known = await _tell(client, "INFO")
    return bool(known["cluster_state"] == "ok" and int(known["cluster_known_nodes"]) == nodes)
