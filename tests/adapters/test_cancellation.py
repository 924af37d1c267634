"""A cancellation that a library loses is heeded all the same."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool

from mnemolog.adapters import keys
from mnemolog.adapters.backup.archive import MASTER_KEY
from mnemolog.adapters.cancellation import heeded
from mnemolog.adapters.engine import connections
from mnemolog.adapters.engine.engine import Engine, open_engine


async def test_a_cancellation_that_comes_together_with_the_result_is_heeded() -> None:
    """`wait_for` of Python 3.11 returns the result; that of later versions raises."""
    result, went_on = asyncio.get_running_loop().create_future(), False

    async def waits() -> None:
        nonlocal went_on
        with heeded():
            await asyncio.wait_for(result, 60)
        went_on = True

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    result.set_result(None)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert not went_on


async def test_a_cancellation_from_before_is_no_reason_to_end() -> None:
    """Such as in the cleanup of a cancelled task."""
    cleaned = False

    async def cleans() -> None:
        nonlocal cleaned
        try:
            await asyncio.sleep(60)
        finally:
            with heeded():
                await asyncio.sleep(0)
            cleaned = True

    task = asyncio.create_task(cleans())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned


async def test_who_is_cancelled_while_connecting_never_gets_an_engine(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, opens = False, AsyncConnectionPool.open

    async def cancelled_meanwhile(pool: Any, *args: Any, **options: Any) -> None:
        await opens(pool, *args, **options)
        if task := asyncio.current_task():
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.sleep(0)

    async def attaches() -> None:
        nonlocal opened
        async with open_engine(engine.settings, attach=True):
            opened = True

    monkeypatch.setattr(AsyncConnectionPool, "open", cancelled_meanwhile)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(attaches())
    assert not opened


@pytest.mark.parametrize(
    ("connects", "is_open"),
    [
        ("open_pool", lambda pool: not pool.closed),
        ("connect_to_nats", lambda nats: not nats.is_closed),
        (
            "connect_to_redis",
            lambda redis: any(one.is_connected for one in redis.connection_pool._available_connections),
        ),
    ],
)
async def test_who_heeds_a_lost_cancellation_leaves_nothing_open(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, connects: str, is_open: Callable[[Any], bool]
) -> None:
    opened, really = list[Any](), getattr(connections, connects)

    async def cancelled_meanwhile(*args: Any, **options: Any) -> Any:
        opened.append(await really(*args, **options))
        if task := asyncio.current_task():
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.sleep(0)
        return opened[-1]

    async def connected() -> None:
        key = keys.from_file(engine.settings.directory / MASTER_KEY)
        async with AsyncExitStack() as stack:
            await connections.connect(stack, engine.endpoints, key, migrating=False)

    monkeypatch.setattr(connections, connects, cancelled_meanwhile)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(connected())

    assert opened
    assert not is_open(opened[0])
    for one in opened:
        await (one.aclose() if connects == "connect_to_redis" else one.close())
