"""The methods of a path: the most specific path decides, and `Allow` lists all of them."""

import re
from collections.abc import Iterable, Mapping

from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemolog.adapters.http.errors import error_answer
from mnemolog.domain.errors import InvalidInput


class Methods:
    """Answers 405 before a less specific path takes the request.

    Paths are compared as they were sent, so that an escaped slash is part of an id.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute]) -> None:
        self._app = app
        allowed: dict[str, set[str]] = {}
        for route in routes:
            allowed.setdefault(route.path, set()).update(route.methods or ())
        most_specific_first = sorted(allowed, key=lambda path: len(_PARAMETER.sub("", path)), reverse=True)
        self._allowed: Mapping[re.Pattern[str], set[str]] = {
            _pattern(path): allowed[path] for path in most_specific_first
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        allowed = self._of(scope) if scope["type"] == "http" else None
        if allowed is None or scope["method"] in allowed:
            await self._app(scope, receive, send)
            return
        refused = InvalidInput(f"{scope['method']} is not supported here", field="method", fix="see /docs")
        await error_answer(refused, 405, {"Allow": ", ".join(sorted(allowed))})(scope, receive, send)

    def _of(self, scope: Scope) -> set[str] | None:
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        return next((methods for pattern, methods in self._allowed.items() if pattern.fullmatch(path)), None)


def _pattern(path: str) -> re.Pattern[str]:
    parts = ("[^/]+" if one.startswith("{") else re.escape(one) for one in _PARTS.findall(path))
    return re.compile("".join(parts))


_PARAMETER = re.compile(r"\{[^}]*\}")
_PARTS = re.compile(r"\{[^}]*\}|[^{]+")
