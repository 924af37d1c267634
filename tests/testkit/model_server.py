"""A server on this machine that speaks the embeddings of the OpenAI API, and an embedder that asks it over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx
import numpy as np

from mnemolog.adapters.minilm.lexical import Lexical
from mnemolog.domain.calibration import Calibration
from mnemolog.projections.vectors.embedder import Vectors

LENGTH = b"content-length:"


class ModelServer:
    """Answers `POST /v1/embeddings` while it is `free`, and lets others wait; `asked` counts requests."""

    def __init__(self) -> None:
        self.url, self.asked, self.free = "", 0, asyncio.Event()
        self.free.set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, and the end of the connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
            [length] = [int(line.removeprefix(LENGTH)) for line in head if line.startswith(LENGTH)]
            request = json.loads(await reader.readexactly(length))
            self.asked += 1
            await self.free.wait()
            rows = Lexical().embed(request["input"])
            data = [{"object": "embedding", "index": n, "embedding": row.tolist()} for n, row in enumerate(rows)]
            body = json.dumps({"object": "list", "model": request["model"], "data": data}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n")
            writer.write(b"content-length: %d\r\n\r\n%b" % (len(body), body))
            await writer.drain()
        finally:
            writer.close()


class OverHttp:
    """The lexical embedder, behind a server."""

    def __init__(self, server: ModelServer) -> None:
        self.model, self.dimensions = "lexical-over-http", Lexical.dimensions
        self.calibration: Calibration = Lexical.calibration
        self._server = server

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        return {}

    async def embed(self, texts: Sequence[str]) -> Vectors:
        async with httpx.AsyncClient(base_url=self._server.url, timeout=300) as client:
            asked = {"model": self.model, "input": list(texts)}
            answer = (await client.post("/v1/embeddings", json=asked)).raise_for_status().json()
        return np.array([one["embedding"] for one in answer["data"]], np.float32)


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """On a free port."""
    model = ModelServer()
    server = await asyncio.start_server(model.answer, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        model.url = f"http://{host}:{port}"
        yield model
        model.free.set()
