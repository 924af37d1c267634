"""JetStream on three servers: the engine's streams have three replicas, and it goes on when one of them dies (X11)."""

import asyncio
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from nats.errors import Error as NatsError
from nats.js.api import StreamInfo

from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.nats.connection import connect
from mnemolog.adapters.nats.subjects import EVENTS
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.settings import settings_in

REPLICAS = 3


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[tuple[str, "subprocess.Popen[bytes]"]]]:
    """Three servers, each with its URL."""
    ports = free_ports(2 * REPLICAS)
    routes = ",".join(f"nats://127.0.0.1:{port}" for port in ports[REPLICAS:])
    servers = []
    for number in range(REPLICAS):
        store = ["--jetstream", "--store_dir", str(tmp_path / f"store-{number}")]
        place = ["-a", "127.0.0.1", "-p", str(ports[number]), "-n", f"server-{number}"]
        beside = ["--cluster_name", "three", "--cluster", f"nats://127.0.0.1:{ports[REPLICAS + number]}"]
        argv = [str(require("nats")), *place, *store, *beside, "--routes", routes]
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        servers.append((f"nats://127.0.0.1:{ports[number]}", process))
    try:
        yield servers
    finally:
        for _, process in servers:
            process.kill()
            process.wait()


async def together(url: str) -> None:
    """Once all servers have met: then a stream can have three replicas."""
    async with asyncio.timeout(60):
        while True:
            try:
                client = await connect(url, "tests")
                try:
                    await client.jetstream().add_stream(name="PROBE", subjects=["probe"], num_replicas=REPLICAS)
                    await client.jetstream().delete_stream("PROBE")
                finally:
                    await client.close()
            except (NatsError, OSError):
                await asyncio.sleep(0.2)
            else:
                return


@pytest.mark.faults
@pytest.mark.spec_part("X11")
async def test_the_events_have_three_replicas_and_writes_go_on_when_a_server_dies(
    cluster: list[tuple[str, "subprocess.Popen[bytes]"]], user: str, tmp_path: Path
) -> None:
    await together(cluster[0][0])
    settings = settings_in(tmp_path / "engine", nats_url=cluster[0][0], replicas=REPLICAS)
    async with open_engine(settings) as engine:
        ana = Person(engine, user)
        for number in range(10):
            await ana.creates(f"Ana keeps {number} goats")
        await engine.settled(60)
        info = await stream(cluster[1][0])
        assert (info.config.num_replicas, info.state.messages >= 10) == (REPLICAS, True)

        cluster[0][1].kill()
        cluster[0][1].wait()
        for number in range(10, 20):
            await ana.creates(f"Ana keeps {number} goats")

        await delivered(engine)
        assert len(await ana.finds("goats")) == 20
        assert (await stream(cluster[1][0])).state.messages >= 20
        await assert_live_equals_replayed(engine, ana.stream)


async def delivered(engine: Engine) -> None:
    async with asyncio.timeout(90):
        while await engine.outbox.size():  # noqa: ASYNC110  The relay does it: it is looked for.
            await asyncio.sleep(0.1)
    await engine.settled(60)


async def stream(url: str) -> StreamInfo:
    client = await connect(url, "tests")
    try:
        return await client.jetstream().stream_info(EVENTS)
    finally:
        await client.close()
