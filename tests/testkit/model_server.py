"""A server on this machine that speaks OpenAI's API, well or as badly as a test says."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

from mnemolog.adapters.minilm.lexical import Lexical
from mnemolog.projections.vectors.embedder import Vectors

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the server got it; `json` is empty for a form."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    json: Json


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer instead of what was asked for. `sent`: the connection ends after so many bytes of the body."""

    body: bytes | Json = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay: float = 0.0
    sent: int | None = None


class ModelServer:
    """Answers while it is `free`, and lets those wait that it is to `hold`; `requests` are those that it got.

    `replies` come first, one for each request; then what a good server says: `chat` gives the content of an answer.
    """

    def __init__(self) -> None:
        self.address, self.requests, self.free = "", list[Asked](), asyncio.Event()
        self.replies: deque[Reply] = deque()
        self.models = ["m-1", "m-2:latest"]
        self.hold: Callable[[Json], bool] = lambda request: True
        self.chat: Callable[[Json], str] = lambda request: filled(schema_of(request))
        self.free.set()
        self._open = set[asyncio.StreamWriter]()

    @property
    def url(self) -> str:
        """As a setting names it."""
        return f"{self.address}/v1"

    @property
    def asked(self) -> int:
        return len(self.requests)

    async def start(self) -> None:
        """Listen: on a free port, or again on the same."""
        port = int(self.address.rpartition(":")[2] or 0)
        self._server = await asyncio.start_server(self.answer, "127.0.0.1", port)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """As if killed: nobody listens, and who was asked says nothing more."""
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        self.free.set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, and the end of the connection."""
        self._open.add(writer)
        try:
            request = await _read(reader)
            self.requests.append(request)
            if self.hold(request.json):
                await self.free.wait()
            reply = self.replies.popleft() if self.replies else self.good(request)
            await asyncio.sleep(reply.delay)
            body = json.dumps(reply.body).encode() if isinstance(reply.body, dict) else reply.body
            headers = {
                "connection": "close",
                "content-type": reply.content_type,
                "content-length": str(len(body)),
                **reply.headers,
            }
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(f"HTTP/1.1 {reply.status} Reply\r\n{head}\r\n".encode() + body[: reply.sent])
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # Whoever asked is gone.
        finally:
            self._open.discard(writer)
            writer.close()

    def good(self, request: Asked) -> Reply:
        """What a server answers that works."""
        match request.path.removeprefix("/v1"):
            case "/embeddings":
                rows = Lexical().embed(request.json["input"])
                data = [{"object": "embedding", "index": n, "embedding": row.tolist()} for n, row in enumerate(rows)]
                return Reply({"object": "list", "model": request.json["model"], "data": data})
            case "/models":
                return Reply({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})
            case "/audio/transcriptions":
                return Reply({"text": "hello there", "usage": {"type": "duration", "seconds": 3}})
            case _:
                return Reply(completion(self.chat(request.json), request.json["model"]))


def completion(content: Any, model: str = "m-1", *, finish: str = "stop", refusal: str | None = None) -> Json:
    """A chat completion that took 100 tokens, and 20 for the answer."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def error(status: int, code: str | None = None, *, param: str | None = None, **headers: str) -> Reply:
    """An error as OpenAI's servers give it."""
    told = {"message": "sk-secret said that Ana moved", "type": "some_error", "code": code, "param": param}
    return Reply({"error": told}, status, {name.replace("_", "-"): value for name, value in headers.items()})


def narrower(server: ModelServer, dimensions: int) -> Callable[[Asked], Reply]:
    """What a server answers to requests for embeddings, with so many numbers for each text."""
    good = server.good

    def answer(request: Asked) -> Reply:
        said = good(request).body
        assert isinstance(said, dict)
        return Reply({**said, "data": [{**one, "embedding": one["embedding"][:dimensions]} for one in said["data"]]})

    return answer


def schema_of(request: Json) -> Json:
    """The schema that an answer is to fit."""
    schema: Json = request["response_format"]["json_schema"]["schema"]
    return schema


def filled(schema: Json) -> str:
    """JSON that fits: the name of each property as its text."""
    empty: Json = {"array": [], "object": {}, "number": 0.5, "integer": 1, "boolean": True}
    made = {name: empty.get(one.get("type", ""), name) for name, one in schema["properties"].items()}
    return json.dumps(made)


async def _read(reader: asyncio.StreamReader) -> Asked:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    is_json = headers.get("content-type", "").startswith("application/json")
    return Asked(first.split()[1], headers, body, json.loads(body) if is_json else {})


class OverHttp:
    """The lexical embedder, behind a server."""

    def __init__(self, server: ModelServer) -> None:
        self.model, self.calibration = "lexical-over-http", Lexical.calibration
        self._server = server

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        return {}

    async def embed(self, texts: Sequence[str]) -> Vectors:
        async with httpx.AsyncClient(timeout=300) as client:
            asked = {"model": self.model, "input": list(texts)}
            answer = (await client.post(f"{self._server.url}/embeddings", json=asked)).raise_for_status().json()
        return np.array([one["embedding"] for one in answer["data"]], np.float32)


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """On a free port."""
    model = ModelServer()
    await model.start()
    try:
        yield model
    finally:
        await model.stop()
