"""Authentication: the token of the data directory or an API key (design §7).

Without either it learns that the server lives, and how to call it.
"""

import hmac
import logging
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemolog.adapters.http.errors import error_answer, status_of
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.commands.writes.api_keys import LONGEST, ApiKeys, unauthenticated
from mnemolog.domain.errors import NotPermitted, ServerFailed, Tampered, Unauthenticated
from mnemolog.domain.principal import Principal

_logger = logging.getLogger("mnemolog.http")

CONSOLE = "/console"
OPEN = frozenset({"/health", "/ready", "/docs", "/openapi.json"})
CHALLENGE = {"WWW-Authenticate": "Bearer"}
# Headers set by proxies: behind one on this machine, every caller has the proxy's address.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


_FIX_TOKEN = "send `Authorization: Bearer TOKEN` with the token in http.token of the data directory, or with an API key"
_FIX = "tell who runs this server: `mnemolog verify` names what is damaged"


class Callers:
    """Whom a credential stands for: None means all rights, from this machine only.

    Without a token, that is any caller on this machine, until there are API keys.
    """

    def __init__(self, keys: ApiKeys, token: str | None) -> None:
        self.keys, self.token = keys, token

    async def of(self, scope: Scope) -> Principal | None:
        """Whom the credential of a request stands for."""
        scheme, _, text = Headers(scope=scope).get("authorization", "").partition(" ")
        given = text.strip()[: LONGEST + 1] if scheme.lower() == "bearer" else None
        return await self.principal(given, here=is_here(scope))

    async def principal(self, given: str | None, *, here: bool) -> Principal | None:
        """Unauthenticated for a wrong credential; NotPermitted for all rights from another machine."""
        if given is not None:
            if self.token is None or not hmac.compare_digest(given.encode(), self.token.encode()):
                return await self.keys.principal(given)
        elif self.token is not None:
            raise Unauthenticated("missing token or API key", field="Authorization", fix=_FIX_TOKEN)
        elif await self.keys.any():
            raise unauthenticated()
        if not here:
            raise NotPermitted(
                "requests from other machines need an API key",
                field="Authorization",
                fix="create one: `mnemolog api-key create`",
            )
        return None


class Authenticated:
    """Puts the principal of each request into its state. The console asks for a session of its own instead."""

    def __init__(self, app: ASGIApp, callers: Callers) -> None:
        self._app, self._callers = app, callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_console(scope["path"]):
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        try:
            state["principal"] = await self._callers.of(scope)
        except Unauthenticated as refused:
            if scope["path"] not in OPEN:
                await error_answer(refused, 401, CHALLENGE)(scope, receive, send)
                return
            state["principal"] = NOBODY
        except NotPermitted as refused:
            await error_answer(refused, status_of(refused))(scope, receive, send)
            return
        except Tampered as damage:
            _logger.error("%s", damage)
            if scope["path"] not in OPEN:
                await error_answer(ServerFailed("API keys cannot be checked", fix=_FIX), 503)(scope, receive, send)
                return
            state["principal"] = NOBODY
        except UNREACHABLE:
            await error_answer(ServerFailed(fix="try again"), 503, {"Retry-After": "1"})(scope, receive, send)
            return

        async def whole() -> Message:
            message = await receive()
            if state["principal"] is not NOBODY and not message.get("more_body"):
                await self._callers.of(scope)  # A body may take long to arrive, and its key may be revoked meanwhile.
            return message

        await self._app(scope, whole, send)


# A caller without a token or a valid key, who only learns that the server is alive.
NOBODY = Principal("", "", frozenset(), frozenset(), frozenset())


def is_here(scope: Scope) -> bool:
    """Whether the request comes from this machine, and not through a proxy."""
    headers = Headers(scope=scope)
    return is_loopback((scope.get("client") or ("",))[0]) and not any(name in headers for name in FORWARDED)


def is_console(path: str) -> bool:
    return path == CONSOLE or path.startswith(f"{CONSOLE}/")


def is_loopback(host: str) -> bool:
    """Whether an address is a loopback address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in ("localhost", "")
