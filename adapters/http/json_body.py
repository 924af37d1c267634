"""JSON bodies, checked before validation: depth and numbers."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemolog.adapters.http.body_limit import is_file, is_import
from mnemolog.domain.json_value import parsed_json


class JsonBody:
    """Refuses what `parsed_json` refuses, once the body is complete. Its size is limited elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces: list[bytes] = []

        # Raised inside the route, so that the error handler of the application answers it.
        async def checked() -> Message:
            message = await receive()
            pieces.append(message.get("body", b""))
            if not message.get("more_body") and (body := b"".join(pieces)):
                parsed_json(body, "body")
            return message

        taken_as_it_is = not _is_json(scope) or is_import(scope) or is_file(scope)
        await self._app(scope, receive if taken_as_it_is else checked, send)


def _is_json(scope: Scope) -> bool:
    return scope["type"] == "http" and "json" in Headers(scope=scope).get("content-type", "").lower()
