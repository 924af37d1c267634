"""The engine of a command: attach to it or start it, use it, and release it, also on Ctrl-C and SIGTERM."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TypeVar

from mnemolog.adapters.background.attaching import is_alive
from mnemolog.adapters.cancellation import heeded
from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.embedded import EngineKind
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.errors import EngineEnded

T = TypeVar("T")

LOOK_SECONDS = 0.5


def with_engine(
    settings: Settings,
    use: Callable[[Engine], Awaitable[T]],
    *,
    attach: bool = True,
    passive: bool = False,
    kind: EngineKind = "in-process",
) -> T:
    """The result of `use`. A running engine of the data directory is used, unless `attach` is False."""
    return asyncio.run(cancelled_by_signals(_used(settings, use, attach, passive, kind)))


def settings_of(data_dir: str | None, **given: object) -> Settings:
    return load(data_dir=data_dir, **given)


async def _used(
    settings: Settings,
    use: Callable[[Engine], Awaitable[T]],
    attach: bool,
    passive: bool,
    kind: EngineKind = "in-process",
) -> T:
    async with AsyncExitStack() as stack:
        with heeded():
            opening = open_engine(settings, attach=attach, passive=passive, kind=kind)
            engine = await stack.enter_async_context(opening)
            user = await engine.authenticated() if attach and not passive else engine
        using = use(user)
        return await (_while_it_runs(engine, using) if engine.attached else using)


async def _while_it_runs(engine: Engine, using: Awaitable[T]) -> T:
    """Raises EngineEnded if the attached engine stops first: its servers stop with it, or only store."""
    working, watching = asyncio.ensure_future(using), asyncio.create_task(_ended(engine))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise _gone(engine)
        if isinstance(working.exception(), UNREACHABLE) and not _runs(engine):
            raise _gone(engine) from working.exception()
        return working.result()
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _ended(engine: Engine) -> None:
    while await asyncio.to_thread(_runs, engine):  # noqa: ASYNC110  It is another process.
        await asyncio.sleep(LOOK_SECONDS)


def _runs(engine: Engine) -> bool:
    return is_alive(engine.settings.directory, engine.endpoints)


def _gone(engine: Engine) -> EngineEnded:
    return EngineEnded(
        f"the engine that ran here (pid {engine.endpoints.pid}) stopped during the command",
        field="data_dir",
        fix="run the command again: it uses or starts another engine; acknowledged writes are kept",
    )


async def cancelled_by_signals(work: Awaitable[T]) -> T:
    """SIGTERM ends a command as Ctrl-C does, after closing everything that is open."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
