"""What a model's server must not do: lead elsewhere, answer without end, or be blamed for a fault of ours."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from mnemolog.adapters.openai.client import ModelClient
from mnemolog.adapters.openai.embedder import OpenAIEmbedder
from mnemolog.adapters.openai.http import MAX_ANSWER_BYTES
from mnemolog.domain.errors import ModelUnavailable
from tests.adapters.openai.conftest import Clients
from tests.testkit.model_server import ModelServer, Reply, model_server

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def embeds(client: ModelClient) -> int:
    return len(await OpenAIEmbedder(client).embed(["Ana moved to Lisbon"]))


async def refused(client: ModelClient) -> str:
    with pytest.raises(ModelUnavailable) as unavailable:
        await embeds(client)
    assert unavailable.value.field == "model_url"
    return unavailable.value.message


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[str]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_text_is_not_sent_to_a_server_that_another_one_names(
    status: int, clients: Clients, server: ModelServer
) -> None:
    async with model_server() as stranger:
        server.replies.append(Reply(b"", status, {"location": f"{stranger.url}/embeddings"}))
        assert "redirects to another server" in await refused(clients(retries=0))
        assert stranger.requests == []


async def test_a_redirect_within_the_server_is_followed(clients: Clients, server: ModelServer) -> None:
    server.replies.append(Reply(b"", 307, {"location": "/v1/embeddings"}))
    assert await embeds(clients(retries=0)) == 1
    assert server.asked == 2


async def test_a_compressed_answer_is_not_unpacked(clients: Clients, server: ModelServer) -> None:
    bomb = gzip.compress(b" " * (4 * MAX_ANSWER_BYTES))
    server.replies.append(Reply(bomb, headers={"content-encoding": "gzip"}))
    assert "compressed answer" in await refused(clients(retries=0))
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_an_answer_that_is_too_long_is_left_in_the_middle(clients: Clients, server: ModelServer) -> None:
    server.replies.append(Reply(b" " * (MAX_ANSWER_BYTES + 1)))
    assert f"more than {MAX_ANSWER_BYTES:,} bytes" in await refused(clients(retries=0))


async def test_an_answer_without_end_is_left_in_the_middle(clients: Clients) -> None:
    sent = 0

    async def without_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                writer.write(b" " * 65_536)
                sent += 65_536
                await writer.drain()

    async with listening(without_end) as url:
        assert f"more than {MAX_ANSWER_BYTES:,} bytes" in await refused(clients(url=url, retries=0))
    assert sent >= MAX_ANSWER_BYTES


async def test_an_answer_that_trickles_takes_no_longer_than_the_timeout(clients: Clients) -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.05)

    async with listening(trickle) as url:
        with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.5 s"):
            await embeds(clients(url=url, retries=0, timeout=0.5))


async def test_a_fault_of_ours_is_not_blamed_on_the_server(clients: Clients, server: ModelServer) -> None:
    client = clients(retries=0)

    async def mistaken(opened: "AsyncOpenAI") -> object:
        return await opened.embeddings.create(model="m-1", texts=["Ana"])  # type: ignore[call-arg]

    for _ in range(6):
        with pytest.raises(TypeError, match="texts"):
            await client.call(mistaken)
    assert server.requests == []
    assert await embeds(client) == 1, "the server is not left alone for it"
