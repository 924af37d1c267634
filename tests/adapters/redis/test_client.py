"""The client of Redis over TCP."""

import socket
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as Unconnected

from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.redis.client import RedisClient, connect
from tests.testkit.eventually import eventually


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = ["--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    server = subprocess.Popen([str(require("redis")), *settings], cwd=tmp_path, stdout=subprocess.DEVNULL)
    yield f"redis://127.0.0.1:{port}"
    server.kill()
    server.wait()


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has this limit")
async def test_a_connection_notices_a_server_that_disappeared_without_a_word(url: str) -> None:
    found: list[RedisClient] = []
    await eventually(partial(_connected, url, found))
    connection = await found[0].connection_pool.get_connection()  # type: ignore[union-attr]
    link = connection._writer.get_extra_info("socket")

    options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
    assert [link.getsockopt(socket.IPPROTO_TCP, one) for one in options] == [4, 2, 3, 10_000]
    assert link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)

    await found[0].connection_pool.release(connection)  # type: ignore[union-attr]
    await found[0].aclose()


async def _connected(url: str, found: list[RedisClient]) -> bool:
    try:
        found.append(await connect(url))
    except Unconnected:
        return False
    return True
