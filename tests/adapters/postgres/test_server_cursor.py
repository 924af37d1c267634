"""A server-side cursor is closed whatever interrupts its caller: else the collector of garbage warns of it."""

import asyncio
from typing import Any

import pytest
from psycopg import AsyncConnection, AsyncServerCursor

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.cancellable import server_cursor


async def test_whose_caller_is_cancelled_while_it_is_being_closed(engine: Engine) -> None:
    opened: list[AsyncServerCursor[Any]] = []
    read, left = asyncio.Event(), asyncio.Event()

    async def reads(connection: AsyncConnection[Any]) -> None:
        async with server_cursor(connection, "rows") as cursor:
            opened.append(cursor)
            await cursor.execute("SELECT generate_series(1, 1000)")
            read.set()
            await left.wait()

    async with await AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        reader = asyncio.ensure_future(reads(connection))
        await read.wait()
        async with connection.lock:  # As if another statement ran.
            left.set()
            await asyncio.sleep(0)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
        assert opened[0].closed
