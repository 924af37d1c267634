"""Answers lines on standard input that are not requests: the library drops them, and the client would wait in vain."""

import json
from types import TracebackType
from typing import Any, Self

import mcp_types as types
from anyio import EndOfStream
from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError


class Answering:
    """The messages of `reading`. What cannot be read gets an error on `writing`, with its id if that is known."""

    def __init__(
        self, reading: ContextReceiveStream[SessionMessage | Exception], writing: ContextSendStream[SessionMessage]
    ) -> None:
        self._reading, self._writing = reading, writing

    @property
    def last_context(self) -> Any:
        return self._reading.last_context

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(item := await self._reading.receive(), ValidationError):
            if error := _refusal(item):
                await self._writing.send(SessionMessage(error))
        return item

    async def aclose(self) -> None:
        await self._reading.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def _refusal(fault: ValidationError) -> types.JSONRPCError | None:
    """The error for a line that could not be read; None for a notification, which is never answered."""
    errors = fault.errors(include_url=False)
    if errors[0]["type"] != "json_invalid":
        requests = (one["input"] for one in errors if isinstance(one["input"], dict))
        return _error(types.INVALID_REQUEST, "Not a JSON-RPC 2.0 request", next(requests, None))
    try:
        request = json.loads(errors[0]["input"])
    except (ValueError, RecursionError):
        return _error(types.PARSE_ERROR, errors[0]["msg"], None)
    if isinstance(request, dict) and "id" not in request:
        return None
    return _error(types.PARSE_ERROR, "The text has half of a surrogate pair: send whole characters", request)


def _error(code: int, message: str, request: Any) -> types.JSONRPCError:
    id_ = request.get("id") if isinstance(request, dict) else None
    known = isinstance(id_, int) or (isinstance(id_, str) and id_.isprintable())
    return types.JSONRPCError(
        jsonrpc="2.0", id=id_ if known else None, error=types.ErrorData(code=code, message=message)
    )
