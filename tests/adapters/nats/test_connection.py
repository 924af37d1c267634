"""The connection to NATS when its server is gone."""

import asyncio
from pathlib import Path

import pytest

from mnemolog.adapters.nats.connection import FOR_EVER, connect
from mnemolog.adapters.nats.subscribers import broker
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


async def test_a_server_that_does_not_answer_pings_is_left_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FOR_EVER["ping_interval"] * (FOR_EVER["max_outstanding_pings"] + 1) <= 15
    monkeypatch.setitem(FOR_EVER, "ping_interval", 0.05)
    with own_server(tmp_path) as server:
        of_turns = broker(server.url)
        clients = [await connect(server.url, "test"), await of_turns.connect()]

        async def connected() -> bool:
            return all(one.is_connected for one in clients)

        async def left() -> bool:
            return not any(one.is_connected for one in clients)

        server.hang()
        await eventually(left)
        server.wake()
        await eventually(connected)
        await clients[0].close()
        await of_turns.stop()


async def test_a_protocol_error_costs_a_connection_only_a_moment(tmp_path: Path) -> None:
    with own_server(tmp_path) as server:
        connection = await connect(server.url, "test")
        heard = await connection.subscribe("said")

        await connection.publish("s" * 5000, b"longer than a line of the protocol may be")

        async def again() -> bool:
            return connection.is_connected and connection.stats["reconnects"] == 1

        await eventually(again)
        await connection.publish("said", b"again")
        assert (await heard.next_msg(60)).data == b"again"
        await connection.close()


async def test_a_subject_that_is_not_text_stops_no_subscriber(tmp_path: Path) -> None:
    with own_server(tmp_path) as server:
        connection = await connect(server.url, "test")
        heard = await connection.subscribe("said.>")

        await connection._send_command(b"PUB said.\xff 3\r\nodd\r\n")
        await connection.publish("said.plainly", b"plain")

        assert [(await heard.next_msg(60)).data for _ in range(2)] == [b"odd", b"plain"]
        await connection.close()
