"""Who calls: every request but for /health names an API key, as soon as there is one (design §7)."""

import logging
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemolog.adapters.engine.api_keys import LONGEST, ApiKeys, unauthenticated
from mnemolog.adapters.http.errors import error_answer, status_of
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.errors import NotPermitted, ServerFailed, Tampered, Unauthenticated
from mnemolog.domain.principal import Principal

_logger = logging.getLogger("mnemolog.http")

OPEN = "/health"
CHALLENGE = {"WWW-Authenticate": "Bearer"}
# What a proxy says of itself: behind one on this machine every caller has the proxy's address.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


_FIX = "tell who runs this server: `mnemolog verify` names what is damaged"


class Authenticated:
    """Puts the principal of each request into its state: None without any key, for callers on this machine only."""

    def __init__(self, app: ASGIApp, keys: ApiKeys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        try:
            state["principal"] = await self._principal(scope)
        except Unauthenticated as refused:
            if scope["path"] != OPEN:
                await error_answer(refused, 401, CHALLENGE)(scope, receive, send)
                return
            state["principal"] = NOBODY
        except NotPermitted as refused:
            await error_answer(refused, status_of(refused))(scope, receive, send)
            return
        except Tampered as damage:
            _logger.error("%s", damage)
            if scope["path"] != OPEN:
                await error_answer(ServerFailed("API keys cannot be checked", fix=_FIX), 503)(scope, receive, send)
                return
            state["principal"] = NOBODY
        except UNREACHABLE:
            await error_answer(ServerFailed(fix="try again"), 503, {"Retry-After": "1"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _principal(self, scope: Scope) -> Principal | None:
        headers = Headers(scope=scope)
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._keys.principal(text.strip()[: LONGEST + 1])
        if await self._keys.any():
            raise unauthenticated()
        if not is_loopback((scope.get("client") or ("",))[0]) or any(name in headers for name in FORWARDED):
            raise NotPermitted(
                "without API keys only this machine is answered",
                field="Authorization",
                fix="make one: `mnemolog api-keys create`",
            )
        return None


# Who may ask for the health, and sees nothing of any user in it.
NOBODY = Principal("", "", frozenset(), frozenset(), frozenset())


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in ("localhost", "")
