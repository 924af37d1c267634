"""One command's engine: found or started, used, and stopped, also on Ctrl-C and SIGTERM."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.engine.engine import Engine, open_engine

T = TypeVar("T")


def with_engine(
    settings: Settings, use: Callable[[Engine], Awaitable[T]], *, attach: bool = True, passive: bool = False
) -> T:
    """What `use` gives. An engine that runs on the data directory already is used, unless `attach` is False."""
    return asyncio.run(_cancelled_by_signals(_used(settings, use, attach, passive)))


def settings_of(data_dir: str | None, **given: object) -> Settings:
    return load(data_dir=data_dir, **given)


async def _used(settings: Settings, use: Callable[[Engine], Awaitable[T]], attach: bool, passive: bool) -> T:
    async with open_engine(settings, attach=attach, passive=passive) as engine:
        return await use(await engine.authenticated() if attach and not passive else engine)


async def _cancelled_by_signals(work: Awaitable[T]) -> T:
    """SIGTERM ends a command as Ctrl-C does: what is open is closed first."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
