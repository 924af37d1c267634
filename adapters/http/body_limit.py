"""The maximum body size: larger bodies are refused before they are parsed."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 2 * 1024 * 1024
# A user's whole history, which is spooled to disk.
MAX_IMPORT_BYTES = 4 * 1024 * 1024 * 1024
IMPORT = "/v1/user/import"


def is_import(scope: Scope) -> bool:
    """Whether the body is read as a stream."""
    return scope.get("method") == "POST" and scope.get("path") == IMPORT


class BodyLimit:
    """Counts the bytes that arrive, whatever Content-Length says, and never holds more than the limit."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received, most = 0, MAX_IMPORT_BYTES if is_import(scope) else self._max_bytes

        # Raised inside the route, so that the error handler of the application answers it.
        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise HTTPException(413, f"has more than {most:,} bytes")
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)
