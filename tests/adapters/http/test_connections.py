"""Whoever opens connections and sends next to nothing keeps nobody else from being answered."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http import connections, metrics
from mnemolog.adapters.http.server import serve

HEAD = b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connected(url: str, sent: bytes = b"") -> Connection:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def dripped(connection: Connection) -> bytes:
    """What the server answers to a byte now and then, until it closes the connection."""
    reader, writer = connection
    answer = bytearray()

    async def read() -> None:
        with suppress(ConnectionError):  # What came before is the answer.
            while piece := await reader.read(1000):
                answer.extend(piece)

    reading = asyncio.create_task(read())
    while not reading.done():
        writer.write(b"a")
        await asyncio.wait([reading], timeout=0.02)
    await reading
    return bytes(answer)


@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + b"\r\n"], ids=["nothing", "half a head", "half a body"])
async def test_a_connection_whose_request_does_not_arrive_is_closed(
    engine: Engine, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.2)
    async with serve(engine) as url:
        reader, writer = await connected(url, sent)
        async with asyncio.timeout(60):
            if sent:
                await dripped((reader, writer))
            else:
                assert await reader.read() == b""
        writer.close()


async def test_the_second_request_of_a_connection_has_a_deadline_too(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    async with serve(engine) as url:
        first = await connected(url, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert (await first[0].readuntil(b"}")).startswith(b"HTTP/1.1 200")
        first[1].write(HEAD)
        async with asyncio.timeout(60):
            await dripped(first)
        first[1].close()


async def test_what_is_left_of_a_body_that_was_refused_holds_no_connection(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)  # The head itself is in time on a busy machine.
    async with serve(engine) as url:
        refused = await connected(url, HEAD.replace(b"/v1/search", b"/v1/nowhere") + b"\r\n")
        async with asyncio.timeout(60):
            assert (await dripped(refused)).startswith(b"HTTP/1.1 404")
        refused[1].close()


async def test_a_connection_whose_answers_are_not_read_is_closed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "READ_SECONDS", 0.3)
    lost, losing = asyncio.Event(), connections.TimedProtocol.connection_lost

    def noticed(self: connections.TimedProtocol, error: Exception | None) -> None:
        losing(self, error)
        lost.set()

    monkeypatch.setattr(connections.TimedProtocol, "connection_lost", noticed)
    asked, times = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 60
    async with serve(engine) as url:
        one = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(one, asked * times)
        async with asyncio.timeout(60):
            await lost.wait()
        one.close()


async def test_an_answer_that_is_read_slowly_arrives(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "READ_SECONDS", 0.3)
    monkeypatch.setattr(connections, "READ_BYTES", 1)
    async with serve(engine) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        whole = (await http.get("/openapi.json")).content
        async with http.stream("GET", "/openapi.json") as answer:
            read = b""
            async for piece in answer.aiter_bytes(len(whole) // 20):
                read += piece
                await asyncio.sleep(0.05)
    assert read == whole


async def test_a_long_body_may_take_longer_than_a_period_if_it_goes_on(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(connections, "BODY_BYTES", 1)

    async def body() -> AsyncIterator[bytes]:
        yield b'{"user_id": "' + user.encode() + b'", "query": "tea"'
        for _ in range(10):
            await asyncio.sleep(0.1)
            yield b" " * 100
        yield b"}"

    async with serve(engine) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        headers = {"Content-Type": "application/json"}
        assert (await http.post("/v1/search", content=body(), headers=headers)).status_code == 200


@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + b"\r\n"], ids=["nothing", "half a head", "half a body"])
async def test_others_are_answered_while_more_connections_wait_than_there_is_room_for(
    engine: Engine, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "most_connections", lambda: 5)
    async with serve(engine) as url:
        waiting = [await connected(url, sent) for _ in range(10)]
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            assert (await http.get("/health")).status_code == 200
        for _, writer in waiting:
            writer.close()


@pytest.mark.parametrize(
    ("path", "operation"),
    [("/v1/user/import?user_id=half", "import_user"), ("/v1/artifacts?user_id=half", "add_artifact_")],
)
async def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_fault_of_the_server(
    engine: Engine, path: str, operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    def counted(status: int) -> float:
        labels = {"operation": operation, "status": str(status)}
        return metrics.REGISTRY.get_sample_value("mnemolog_requests_total", labels) or 0

    before, refused = counted(500), counted(422)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhalf"
    async with serve(engine) as url:
        _, writer = await connected(url, head.encode())
        await asyncio.sleep(0.2)
        writer.transport.abort()
        async with asyncio.timeout(30):
            while counted(422) == refused and counted(500) == before:  # noqa: ASYNC110  Nobody tells.
                await asyncio.sleep(0.05)
    assert (counted(422), counted(500)) == (refused + 1, before)
    assert not [one for one in caplog.records if one.exc_info]
