"""The MCP server at /mcp of the HTTP API: streamable HTTP, one exchange per request, scoped by the API key."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.errors import error_answer
from mnemolog.adapters.mcp.tools import INSTALL, ToolSet
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.requests import AnyRequest, QueryFlag
from mnemolog.adapters.unreachable import UNREACHABLE, failed
from mnemolog.domain.errors import NotFound
from mnemolog.domain.principal import ALL, Role
from mnemolog.events.envelope import DEFAULT_AGENT
from mnemolog.events.fields import Id, validated

if TYPE_CHECKING:
    from mnemolog.adapters.mcp.server import Ctx, Session

PATH = "/mcp"
LOCAL = ("http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*")


class Wanted(BaseModel):
    """The query of the URL that a client is configured with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_id: Id | None = None
    agent_id: Id = DEFAULT_AGENT
    tools: ToolSet = "default"
    destructive: QueryFlag = False


class McpEndpoint:
    """An ASGI application. The SDK is loaded by the first request, since it takes long and few engines need it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._starting = asyncio.Lock()
        self._app: ASGIApp | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            app = await self._started()
        except ImportError as missing:
            refused = NotFound(f"this server has no MCP ({missing})", field="path", fix=INSTALL)
            await error_answer(refused, 404)(scope, receive, send)
            return
        await app(scope, receive, send)

    async def close(self) -> None:
        if self._running:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    async def _started(self) -> ASGIApp:
        async with self._starting:
            if self._app is None:
                manager = await asyncio.to_thread(self._manager)
                started = asyncio.Event()
                self._running = asyncio.create_task(_run(manager, started))
                await started.wait()
                self._app = manager.handle_request
            return self._app

    def _manager(self) -> Any:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        from mnemolog.adapters.mcp.server import mcp_server

        settings = self._engine.settings
        hosts = {*settings.http_hosts, settings.http_host}
        allowed = TransportSecuritySettings(
            allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)], allowed_origins=[*LOCAL, *settings.cors_origins]
        )
        return StreamableHTTPSessionManager(
            mcp_server(self._session), json_response=True, stateless=True, security_settings=allowed
        )

    def _session(self, ctx: Ctx) -> Session:
        from mnemolog.adapters.mcp.server import Session, as_protocol_errors

        request = ctx.request
        assert request is not None
        principal = request.state.principal
        engine = self._engine.by(principal) if principal else self._engine.of_anybody()
        with as_protocol_errors():
            wanted = validated(Wanted, dict(request.query_params))
        if principal and wanted.user_id is None and ALL not in principal.users and len(principal.users) == 1:
            wanted = wanted.model_copy(update={"user_id": next(iter(principal.users))})

        async def run(operation: Operation[Any, Any], request: AnyRequest) -> Any:
            try:
                return await operation.run(engine, request)
            except UNREACHABLE as fault:
                raise failed(fault) from fault

        def may(role: Role) -> bool:
            return principal is None or principal.may(role)

        return Session(run=run, may=may, **wanted.model_dump())


async def _run(manager: Any, started: asyncio.Event) -> None:
    async with manager.run():
        started.set()
        await asyncio.Event().wait()
