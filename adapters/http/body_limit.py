"""The largest body that is read: anything above is refused before it is parsed."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 2 * 1024 * 1024


class BodyLimit:
    """Counts what arrives, whatever Content-Length says, and never holds more than the limit."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0

        # Raised here, inside the route, so that the one error handler answers it.
        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                raise HTTPException(413, f"has more than {self._max_bytes:,} bytes")
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)
