"""The maximum body size: larger bodies are refused before they are parsed."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 2 * 1024 * 1024
# A user's whole history, which is spooled to disk.
MAX_IMPORT_BYTES = 4 * 1024 * 1024 * 1024
IMPORT, FILES = "/v1/user/import", frozenset({"/v1/artifacts", "/v1/knowledge"})


def is_import(scope: Scope) -> bool:
    """Whether the body is read as a stream."""
    return scope.get("method") == "POST" and scope.get("path") == IMPORT


def is_file(scope: Scope) -> bool:
    """Whether the body is the file of an artifact or a document."""
    return scope.get("method") == "POST" and scope.get("path") in FILES


class BodyLimit:
    """Counts the bytes that arrive, whatever Content-Length says, and never holds more than the limit."""

    def __init__(self, app: ASGIApp, artifact_max_bytes: int, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app, self._max_bytes, self._file_bytes = app, max_bytes, artifact_max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received, most = 0, self._most(scope)

        # Raised inside the route, so that the error handler of the application answers it.
        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise HTTPException(413, f"has more than {most:,} bytes")
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)

    def _most(self, scope: Scope) -> int:
        if is_import(scope):
            return MAX_IMPORT_BYTES
        return self._file_bytes if is_file(scope) else self._max_bytes
