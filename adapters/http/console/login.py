"""Signing in with an API key, or with the token of the data directory on its own machine."""

import secrets
from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.console.pages import rendered
from mnemolog.adapters.http.console.sessions import LASTS, Session, Sessions
from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.http.security import CONSOLE, Callers, is_here
from mnemolog.commands.writes.api_keys import LONGEST
from mnemolog.domain.errors import MnemologError, NotPermitted, Unauthenticated
from mnemolog.domain.principal import Principal

COOKIE = "mnemolog_console"
FORM_TOKEN = "form_token"


class SignedOut(Exception):
    """The request has no session, or one that has ended."""


class Login:
    """Turns credentials into sessions, and sessions into visits."""

    def __init__(self, engine: Engine, callers: Callers) -> None:
        self._engine, self._callers, self._sessions = engine, callers, Sessions(engine.session_key)

    def page(self, request: Request, status: int = 200, error: MnemologError | None = None) -> Response:
        return rendered("login.html", status, error=error, to=_own_path(request.query_params.get("to", "")))

    async def enter(self, request: Request, form: Mapping[str, str]) -> Response:
        """Open a session, or show the form again and say why not."""
        given = form.get("key", "").strip()[: LONGEST + 1] or None
        try:
            principal = await self._callers.principal(given, here=is_here(request.scope))
        except (Unauthenticated, NotPermitted) as refused:
            return self.page(request, 401, refused)
        ends = int((self._engine.writes.now() + LASTS).timestamp())
        key_id = "" if principal is None or given is None else (await self._callers.keys.verified(given)).key_id
        session = Session(key_id, self._mark(key_id), secrets.token_urlsafe(16), ends)
        answer = RedirectResponse(_own_path(request.query_params.get("to", "")), 303)
        answer.set_cookie(
            COOKIE,
            self._sessions.cookie(session),
            max_age=int(LASTS.total_seconds()),
            path=CONSOLE,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    async def visit(self, request: Request, form: Mapping[str, str]) -> Visit:
        """Who asks, with the rights that the key has now; SignedOut without a session."""
        session = self._sessions.read(request.cookies.get(COOKIE, ""), self._engine.writes.now())
        if session is None or session.mark != self._mark(session.key_id):
            raise SignedOut
        principal = await self._principal(request, session)
        request.state.principal = principal  # For the log of requests.
        engine = self._engine.by(principal) if principal else self._engine.of_anybody()
        return Visit(request, engine, principal, self._sessions.form_token(session), form)

    def require_form_token(self, visit: Visit) -> None:
        """NotPermitted for a form of another session."""
        if not secrets.compare_digest(visit.form.get(FORM_TOKEN, "").encode(), visit.form_token.encode()):
            raise NotPermitted(
                "this form belongs to another session", field=FORM_TOKEN, fix="reload the page and send it again"
            )

    async def _principal(self, request: Request, session: Session) -> Principal | None:
        if session.key_id:
            return await self._callers.keys.current(session.key_id)
        return await self._callers.principal(self._callers.token, here=is_here(request.scope))

    def _mark(self, key_id: str) -> str:
        return "" if key_id else self._sessions.mark(self._callers.token)

    @staticmethod
    def away(request: Request) -> Response:
        """To the login, and then back to the page that was asked for."""
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        to = _own_path(asked if request.method == "GET" else "")
        answer = RedirectResponse(f"{CONSOLE}/login?{urlencode({'to': to})}", 303)
        answer.delete_cookie(COOKIE, path=CONSOLE)
        return answer


async def leave(visit: Visit) -> Response:
    """Forget the session in this browser."""
    answer = RedirectResponse(f"{CONSOLE}/login", 303)
    answer.delete_cookie(COOKIE, path=CONSOLE)
    return answer


def _own_path(to: str) -> str:
    """Where to go after signing in: only to a page of the console."""
    return to if to.startswith(f"{CONSOLE}/") and "//" not in to and "\\" not in to else f"{CONSOLE}/"
