"""Clients of a server of Mnemolog over HTTP, with the verbs of `Memory` and `AsyncMemory`.

from mnemolog.client import Client
memory = Client("http://127.0.0.1:8765", api_key="mnk_...", user_id="ana")
memory.search("where does Ana live?")
"""

from __future__ import annotations

import asyncio
import json
import random
from asyncio import to_thread
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, get_type_hints
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakKeyDictionary

import httpx2
from pydantic import BaseModel, TypeAdapter, ValidationError

from mnemolog.asking import Asking, Q, R, Upload
from mnemolog.deferred import Deferred
from mnemolog.domain.errors import InvalidInput, MnemologError, ServerFailed, error_of
from mnemolog.transfer import new_file
from mnemolog.verbs import BlockingVerbs, Verbs

if TYPE_CHECKING:
    from mnemolog.adapters.operations import results, watching
    from mnemolog.adapters.operations.artifacts import ArtifactRead
    from mnemolog.adapters.operations.operation import Operation
    from mnemolog.adapters.operations.results import Written
    from mnemolog.adapters.operations.watching import Watch, WatchedChange
else:
    results = Deferred("mnemolog.adapters.operations.results")
    watching = Deferred("mnemolog.adapters.operations.watching")

TIMEOUT_SECONDS = 60.0
RETRIES = 2
# A proxy answers 502 and 504 where the server does not; 429 and 503 are its own.
PASSING = frozenset({429, 502, 503})
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 10.0
CHUNK = 1 << 20
BINARY, NDJSON = "application/octet-stream", "application/x-ndjson"
UPLOADS: Mapping[str, str] = {"add_artifact": "/artifacts", "add_document": "/knowledge"}
EVENT, FAILED = b'{"seq":', b'{"error":'


class AsyncClient(Verbs):
    """The verbs of `AsyncMemory`, on a server.

    `api_key` is an API key, or the token in `http.token` of a data directory on this machine; `timeout` is in seconds
    for each attempt. `user_id`, `agent_id` and `thread_id` are the defaults of every verb. `transport` is one of
    httpx2, such as for a proxy or a certificate authority of your own.

    A call whose answer is lost, or that the server cannot serve now, is tried again up to `retries` times. A write
    has one idempotency key for all its attempts, so it is made once. Errors are those of `AsyncMemory`; `ServerFailed`
    if no attempt got an answer.

    Example:
        async with AsyncClient(url, api_key=key, user_id="ana") as memory:
            await memory.add("I moved to Lisbon")
            found = await memory.search("where does Ana live?")
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        user_id: str | None = None,
        agent_id: str = "default",
        thread_id: str = "main",
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        Asking.__init__(self, user_id, agent_id, thread_id)
        if not base_url.startswith(("http://", "https://")):
            raise InvalidInput(
                f"{base_url!r} is not a URL", field="base_url", fix="give one such as http://127.0.0.1:8765"
            )
        key = None if api_key is None else api_key.strip()  # Read from a file, it ends with a line break.
        if key is not None and not (key.isascii() and key.isprintable() and key):
            raise InvalidInput("is not an API key", field="api_key", fix="use what `mnemolog api-key create` printed")
        self._options: Mapping[str, Any] = {
            "base_url": f"{base_url.rstrip('/')}/v1",
            "headers": {} if key is None else {"Authorization": f"Bearer {key}"},
            "timeout": timeout,
            "transport": transport,
        }
        self._retries = retries
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. The next use opens new ones."""
        if client := self._clients.pop(asyncio.get_running_loop(), None):
            await client.aclose()

    async def _call(self, operation: Operation[Q, R], request: Q) -> R:
        fields, key = _fields(request)
        path, rest = _path(operation.path, fields)
        headers = {"Idempotency-Key": key or str(uuid4())} if operation.writes else {}
        if operation.method in ("GET", "DELETE"):
            answer = await self._send(operation.method, path, headers, params=rest)
        else:
            body = json.dumps(rest).encode()
            headers["Content-Type"] = "application/json"
            answer = await self._send(operation.method, path, headers, content=body)
        result: R = _read(operation.result, answer)
        return result

    async def _upload(self, add: Upload[Q, R], request: Q, content: bytes | None) -> R:
        fields, key = _fields(request)
        headers = {"Idempotency-Key": key or str(uuid4()), "Content-Type": BINARY}
        answer = await self._send("POST", UPLOADS[add.__name__], headers, params=fields, content=content or b"")
        result: R = _read(get_type_hints(add)["return"], answer)
        return result

    async def _download(self, request: ArtifactRead) -> bytes:
        fields, _ = _fields(request)
        path, rest = _path("/artifacts/{artifact_id}/content", fields)
        return (await self._send("GET", path, {}, params=rest)).content

    async def _export(self, user_id: str, to: Path) -> int:
        async with self._streamed("GET", "/user/export", params={"user_id": user_id}) as answer:
            with new_file(to) as out:
                # The first line says how many there are.
                promised, events, rest = None, 0, b""
                async for chunk in answer.aiter_bytes(CHUNK):
                    *lines, rest = (rest + chunk).split(b"\n")
                    if lines and promised is None:
                        promised = json.loads(lines[0])["events"]
                    events += sum(line.startswith(EVENT) for line in lines)
                    if lines and lines[-1].startswith(FAILED):
                        raise error_of(json.loads(lines[-1])["error"])
                    await to_thread(out.write, chunk)
                if rest or events != promised:
                    what = f"the export ended early: {events} of {promised} events"
                    raise ServerFailed(what, field="to", fix="export again")
                return events

    async def _import(self, path: Path, user_id: str | None) -> Written:
        if user_id is None:
            user_id = await to_thread(_user_in, path)
        headers = {"Content-Type": NDJSON}
        with await to_thread(_opened, path) as file:
            sent = {"params": {"user_id": user_id}, "headers": headers, "content": _chunks(file)}
            async with self._streamed("POST", "/user/import", timeout=None, **sent) as answer:
                last = {}
                async for line in answer.aiter_lines():
                    last = json.loads(line)
        if "error" in last:
            raise error_of(last["error"])
        if "receipt" not in last:
            raise ServerFailed("the answer ended early", fix="call again: a user is imported once")
        return results.Written.model_validate(last["receipt"])

    async def _watch(self, request: Watch) -> AsyncGenerator[WatchedChange, None]:
        """A stream that breaks is opened again where it broke, as often as a call is tried again."""
        fields, _ = _fields(request)
        last, broken = None, 0
        while True:
            try:
                async for event in self._events(fields, last):
                    last, broken = event.id or last, 0
                    if event.event == "error":
                        raise error_of(json.loads(event.data))
                    if event.event == "change":
                        yield watching.WatchedChange.model_validate_json(event.data)
                    if event.event == "end":
                        return
                raise ServerFailed("the stream ended", field="base_url", fix="watch again from the last seq seen")
            except ServerFailed:
                broken += 1
                if broken > self._retries:
                    raise
                await asyncio.sleep(_pause(broken))

    async def _events(self, fields: Mapping[str, Any], last: str | None) -> AsyncIterator[httpx2.ServerSentEvent]:
        headers = {} if last is None else {"Last-Event-ID": last}
        timeout = max(self._options["timeout"], 2 * watching.HEARTBEAT_SECONDS)
        asked = {"params": fields, "headers": headers, "timeout": timeout}
        async with self._streamed("GET", "/changes/stream", **asked) as answer:
            async for event in httpx2.EventSource(answer):
                yield event

    async def _send(self, method: str, path: str, headers: Mapping[str, str], **options: Any) -> httpx2.Response:
        """The answer to a request that is safe to send again."""
        for attempt in range(self._retries + 1):
            pause = _pause(attempt)
            try:
                answer = await self._http().request(method, path, headers=dict(headers), **options)
            except httpx2.TransportError as fault:
                if attempt == self._retries:
                    raise _unanswered(fault, headers) from fault
            else:
                if answer.is_success:
                    return answer
                after = answer.headers.get("retry-after", "")
                wait = float(after) if after.isdigit() else 0.0
                if attempt == self._retries or not _passing(answer) or wait > LONGEST_PAUSE_SECONDS:
                    raise _refusal(answer)
                pause = max(pause, wait)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def _streamed(self, method: str, path: str, **options: Any) -> AsyncIterator[httpx2.Response]:
        """An answer that is read as it arrives. It is asked for once."""
        try:
            async with self._http().stream(method, path, **options) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise _refusal(answer)
                yield answer
        except httpx2.TransportError as fault:
            raise _unanswered(fault, {}) from fault

    def _http(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = httpx2.AsyncClient(**self._options)
        return self._clients[loop]


class Client(BlockingVerbs):
    """The verbs of `Memory`, on a server: `AsyncClient` without the `await`. Safe to use from several threads.

    Example:
        memory = Client(url, api_key=key, user_id="ana")
        memory.add("I moved to Lisbon")
        found = memory.search("where does Ana live?")
        memory.close()
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        user_id: str | None = None,
        agent_id: str = "default",
        thread_id: str = "main",
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(
            AsyncClient(
                base_url,
                api_key=api_key,
                user_id=user_id,
                agent_id=agent_id,
                thread_id=thread_id,
                timeout=timeout,
                retries=retries,
                transport=transport,
            )
        )


def _pause(attempt: int) -> float:
    """Seconds: twice as many for each attempt, and never quite the same."""
    return float(min(FIRST_PAUSE_SECONDS * 2.0**attempt, LONGEST_PAUSE_SECONDS) * random.uniform(0.5, 1.0))


def _fields(request: BaseModel) -> tuple[dict[str, Any], str | None]:
    """The fields that were given, as JSON, and the idempotency key, which goes into a header."""
    fields = request.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return fields, fields.pop("idempotency_key", None)


def _path(template: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path, and the fields that are not in it."""
    inside = {name: quote(str(value), safe="") for name, value in fields.items() if f"{{{name}}}" in template}
    return template.format(**inside), {name: value for name, value in fields.items() if name not in inside}


def _read(result: Any, answer: httpx2.Response) -> Any:
    try:
        return TypeAdapter(result).validate_json(answer.content)
    except ValidationError as error:
        raise _stranger(answer) from error


def _passing(answer: httpx2.Response) -> bool:
    """Whether the same request may succeed soon. The server's own 504 means that it has waited long enough."""
    return answer.status_code in PASSING or (answer.status_code == 504 and _problem(answer) is None)


def _refusal(answer: httpx2.Response) -> MnemologError:
    problem = _problem(answer)
    if problem is None:
        return _stranger(answer)
    return error_of(problem)


def _stranger(answer: httpx2.Response) -> ServerFailed:
    what = f"{answer.request.url.host} did not answer as this version of Mnemolog does (status {answer.status_code})"
    return ServerFailed(what, field="base_url", fix="check the address, what stands before the server, and its version")


def _problem(answer: httpx2.Response) -> Mapping[str, Any] | None:
    """The error in an answer of Mnemolog."""
    try:
        problem = answer.json()["error"]
    except (ValueError, KeyError, TypeError):
        return None
    return problem if isinstance(problem, dict) and "code" in problem else None


def _unanswered(fault: httpx2.TransportError, headers: Mapping[str, str]) -> ServerFailed:
    key = headers.get("Idempotency-Key")
    fix = f"call again with idempotency_key={key!r}: it is written once" if key else "check the address and try again"
    return ServerFailed(f"no answer ({type(fault).__name__}: {fault})", field="base_url", fix=fix)


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field="path", fix="correct the path") from error


def _user_in(path: Path) -> str:
    """The user whom an export names in its first line."""
    with _opened(path) as file:
        try:
            return str(json.loads(file.readline())["user_id"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{path} is not an exported user", field="path", fix="give an exported file") from error


async def _chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    while chunk := await to_thread(file.read, CHUNK):
        yield chunk
