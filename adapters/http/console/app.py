"""The routes of the console, and who may pass.

A request needs a session, except for the login and static files. A POST also needs the page's own origin and the
token of its form, so that no other site can send it.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.console import decisions, entities, erasure, login, memories, operations, timeline, undoing
from mnemolog.adapters.http.console.login import Login, SignedOut
from mnemolog.adapters.http.console.pages import HEADERS, STATIC, rendered
from mnemolog.adapters.http.console.visit import Visit, form_of
from mnemolog.adapters.http.errors import status_of
from mnemolog.adapters.http.security import CONSOLE, Callers
from mnemolog.adapters.unreachable import UNREACHABLE, failed
from mnemolog.domain.errors import MnemologError, NotFound, NotPermitted, Unauthenticated

_logger = logging.getLogger("mnemolog.console")

# Of static files: a browser keeps them, and asks each time whether they changed.
REVALIDATED = {"Cache-Control": "private, no-cache"}
View = Callable[[Visit], Awaitable[Response]]
VIEWS: Sequence[tuple[str, str, View]] = (
    ("GET", "/", memories.home),
    ("GET", "/memories", memories.memories),
    ("GET", "/memories/{id:uuid}", memories.memory),
    ("POST", "/memories/{id:uuid}/{act}", memories.changed),
    ("GET", "/history/{id:uuid}", memories.history_of),
    ("GET", "/undo", undoing.preview),
    ("POST", "/undo", undoing.done),
    ("GET", "/timeline", timeline.timeline),
    ("GET", "/timeline/moment", timeline.moment),
    ("GET", "/timeline/changes", timeline.changes),
    ("GET", "/entities", entities.entities),
    ("GET", "/entities/graph", entities.graph),
    ("GET", "/entities/{id:uuid}", entities.entity),
    ("POST", "/entities/{id:uuid}/merge", decisions.merge),
    ("GET", "/decisions", decisions.decisions),
    ("POST", "/decisions/{decision}", decisions.decide),
    ("GET", "/erasure", erasure.erasure),
    ("POST", "/erasure", erasure.erased),
    ("POST", "/erasure/prove", erasure.prove),
    ("GET", "/operations", operations.overview),
    ("GET", "/operations/progress", operations.progress),
    ("GET", "/operations/jobs", operations.jobs),
    ("GET", "/operations/letters", operations.letters),
    ("GET", "/operations/incidents", operations.incidents),
    ("POST", "/operations/{act}", operations.operate),
    ("POST", "/logout", login.leave),
)


class Named(Route):
    """A route whose name metrics and logs show, as those of the API."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is not Match.NONE else child


def console_routes(engine: Engine, callers: Callers) -> Sequence[BaseRoute]:
    """The console, as one application with its own errors."""
    entrance = Login(engine, callers)

    async def front(request: Request) -> Response:
        return RedirectResponse(f"{CONSOLE}/")

    async def show_login(request: Request) -> Response:
        return entrance.page(request)

    async def sign_in(request: Request) -> Response:
        require_own_origin(request)
        return await entrance.enter(request, await form_of(request))

    routes: list[BaseRoute] = [
        Named(CONSOLE, front, name="console"),
        Named(f"{CONSOLE}/login", show_login, methods=["GET"], name="console_login"),
        Named(f"{CONSOLE}/login", sign_in, methods=["POST"], name="console_login"),
        Mount(f"{CONSOLE}/static", WithHeaders(StaticFiles(directory=STATIC), REVALIDATED)),
        *(
            Named(CONSOLE + path, _endpoint(entrance, view), methods=[method], name=f"console_{view.__name__}")
            for method, path, view in VIEWS
        ),
    ]
    handlers: dict[Any, Any] = {MnemologError: _on_error, HTTPException: _on_http, SignedOut: _on_signed_out}
    handlers |= dict.fromkeys(UNREACHABLE, _on_unreachable) | {Exception: _on_unforeseen}
    app = WithHeaders(Starlette(routes=routes, exception_handlers=handlers), HEADERS)
    return [Route(CONSOLE, app), Route(f"{CONSOLE}/{{rest:path}}", app)]


def _endpoint(entrance: Login, view: View) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        if request.method != "POST":
            return await view(await entrance.visit(request, {}))
        require_own_origin(request)
        visit = await entrance.visit(request, await form_of(request))
        entrance.require_form_token(visit)
        return await view(visit)

    return endpoint


def require_own_origin(request: Request) -> None:
    """NotPermitted for a form that was not sent by a page of this server. Browsers say where a POST comes from."""
    said = request.headers.get("sec-fetch-site")
    own = [f"{scheme}://{request.headers.get('host')}" for scheme in ("http", "https")]
    if request.headers.get("origin") not in own or said not in (None, "same-origin"):
        raise NotPermitted(
            "this form was not sent by the console", field="Origin", fix="open the page again and send it from there"
        )


class WithHeaders:
    """Adds these headers to every answer, errors included, unless it has them."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                more = (one for one in self._headers if one[0] not in known)
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._app(scope, receive, adding)


async def _on_signed_out(request: Request, error: Exception) -> Response:
    if request.headers.get("sec-fetch-mode") == "cors":  # Asked by a script, which shows it in the page.
        return rendered("fragment_error.html", 401, message="your session has ended: sign in again")
    return Login.away(request)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MnemologError)
    if isinstance(error, Unauthenticated):
        return Login.away(request)
    status = status_of(error)
    if status >= 500:
        _logger.warning("%s: %s", request.method, error)
    return _problem(error, status)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return _problem(NotFound("there is no such page", fix="go back to the start"), 404)
    return _problem(MnemologError(error.detail), error.status_code)


async def _on_unreachable(request: Request, error: Exception) -> Response:
    _logger.warning("%s: %s", request.method, type(error).__name__)  # Its text may contain an address or values.
    return _problem(failed(error), 503)


async def _on_unforeseen(request: Request, error: Exception) -> Response:
    """The traceback goes to the server's log: Starlette raises the error again after the response."""
    return _problem(MnemologError(fix="this is a bug: report it with the server's log"), 500)


def _problem(error: MnemologError, status: int) -> Response:
    return rendered("error.html", status, error=error, code=status)
