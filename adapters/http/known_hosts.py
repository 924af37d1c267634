"""The host names that the API accepts, which prevents DNS rebinding by web pages.

Without keys, this is what keeps a browser's other tabs out (DNS rebinding).
"""

from collections.abc import Collection

from starlette.datastructures import URL, Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemolog.adapters.http.errors import error_answer
from mnemolog.domain.errors import InvalidInput


class KnownHosts:
    """Answers requests whose Host header names one of `hosts`, whatever the port."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app, self._hosts = app, frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _host(scope) in self._hosts:
            await self._app(scope, receive, send)
            return
        refused = InvalidInput("unknown host name", field="Host", fix="use localhost, or add the name to http_hosts")
        await error_answer(refused, 421)(scope, receive, send)


def _host(scope: Scope) -> str | None:
    name = Headers(scope=scope).get("host", "")
    try:
        return URL(f"//{name}").hostname
    except ValueError:  # For example an incomplete IPv6 address.
        return None
