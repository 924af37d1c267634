"""HTTP to a model's server, whose answers may be too long, compressed to be so, or lead to another server."""

from collections.abc import AsyncIterator
from contextvars import ContextVar

from httpx2 import URL, AsyncByteStream, Request, Response
from openai import DefaultAsyncHttpxClient

# The vectors of 32 texts, each of 8,000 numbers, take 6 MB.
MAX_ANSWER_BYTES = 16 * 1024 * 1024
PORTS = {"http": 80, "https": 443}

answered: ContextVar[bool] = ContextVar("answered", default=False)
"""Whether the server answered the request of this task. What fails before is a fault of ours."""


class AnswerRefused(Exception):
    """The server gave an answer that is not read. The text says what it did."""


def http_client(timeout: float) -> DefaultAsyncHttpxClient:
    """Follows redirects within one server alone: a text is sent to no other."""
    return DefaultAsyncHttpxClient(timeout=timeout, event_hooks={"request": [_ask_plainly], "response": [_admit]})


async def _ask_plainly(request: Request) -> None:
    """A compressed answer may grow a thousandfold while it is read."""
    request.headers["Accept-Encoding"] = "identity"


async def _admit(response: Response) -> None:
    answered.set(True)
    if response.has_redirect_location:
        there = response.request.url.join(response.headers["location"])
        if _origin(there) != _origin(response.request.url):
            raise AnswerRefused("redirects to another server, which is not followed")
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise AnswerRefused("gave a compressed answer, which was not asked for")
    assert isinstance(response.stream, AsyncByteStream)
    response.stream = _Limited(response.stream)


class _Limited(AsyncByteStream):
    def __init__(self, stream: AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise AnswerRefused(f"gave an answer of more than {MAX_ANSWER_BYTES:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _origin(url: URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or PORTS.get(url.scheme)
