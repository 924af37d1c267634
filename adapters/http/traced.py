"""A span for each request, in the trace given by its headers."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemolog.adapters import tracing
from mnemolog.adapters.http.metrics import operation_of


class Traced:
    """Spans contain neither path nor query, which name users."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with tracing.request(Headers(scope=scope)) as span:
            span.set_attribute("http.request.method", scope["method"])

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            try:
                await self._app(scope, receive, noting)
            finally:
                span.update_name(f"{scope['method']} {operation_of(scope)}")
                if route := getattr(scope.get("route"), "path", None):
                    span.set_attribute("http.route", route)
                if principal := scope.get("state", {}).get("principal"):
                    span.set_attribute("mnemolog.caller", principal.name)
