"""The connection to NATS when its server is gone."""

import asyncio
from pathlib import Path

import pytest

from mnemolog.adapters.nats.connection import connect
from tests.adapters.nats.own_server import own_server
from tests.testkit.eventually import eventually


@pytest.mark.parametrize("noticed", [False, True])
async def test_one_whose_server_is_gone_is_closed_without_an_error(tmp_path: Path, noticed: bool) -> None:
    with own_server(tmp_path) as server:
        connection = await connect(server.url, "test")
        server.kill()

        async def ended() -> bool:
            transport = connection._transport
            return not connection.is_connected if noticed else transport is None or transport.at_eof()

        await eventually(ended)
        await connection.publish("turns", b"late")
        async with asyncio.timeout(60):
            await connection.close()

    assert connection.is_closed
