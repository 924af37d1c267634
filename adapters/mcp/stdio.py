"""The MCP server of one client, on standard input and output."""

import asyncio
from contextlib import suppress
from typing import Any

from mcp.server.stdio import stdio_server

from mnemolog.adapters.mcp.answering import Answering
from mnemolog.adapters.mcp.server import Session, mcp_server
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.requests import AnyRequest
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.principal import Principal, Role
from mnemolog.opening import Opening, guarded


class Calls(Opening):
    """Runs operations on the engine of a data directory. An engine that ends is replaced at the next call."""

    @guarded
    async def run(self, operation: Operation[Any, Any], request: AnyRequest) -> Any:
        return await operation.run(await self._engine(), request)

    @guarded
    async def principal(self) -> Principal | None:
        """Whom the API key of the settings names; None without one, which has all rights."""
        return (await self._engine()).principal if self._settings.api_key else None

    async def open(self) -> None:
        """Open the engine before the first call needs it. What goes wrong is raised by that call."""
        with suppress(MnemologError, *UNREACHABLE):
            await self._engine()


async def serve(data_dir: str | None, **options: Any) -> None:
    """Serve until the client closes standard input. `options` are those of `Session`.

    Clients wait for a minute at most until a server answers, so the engine is started meanwhile.
    """
    calls = Calls(data_dir)
    opening = asyncio.create_task(calls.open())
    try:
        principal = await calls.principal()
        session = Session(run=calls.run, may=principal.may if principal else _everything, **options)
        server = mcp_server(lambda _: session)
        async with stdio_server() as (reading, writing):
            await server.run(Answering(reading, writing), writing, server.create_initialization_options())
    finally:
        opening.cancel()
        await asyncio.wait([opening])
        await calls.close()


def _everything(_: Role) -> bool:
    return True
