"""Engines that the objects of a program share: one for each event loop and each set of settings.

So a program may have an object for each conversation and needs no more connections for it. An engine of another process
that ended is replaced at the next call, or at once while calls wait for it.
"""

import asyncio
import logging
import os
from contextlib import AsyncExitStack, suppress
from copy import copy
from typing import Self
from weakref import WeakKeyDictionary

from mnemolog.adapters.background import attaching
from mnemolog.adapters.background.settings import as_the_engine, policy_of
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import engine_runs, holder
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.engine.starting import require_kept
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.errors import DataDirectoryInUse, MnemologError

_logger = logging.getLogger("mnemolog.engine")

LOOK_SECONDS = 0.25
# Recalls not written yet are not waited for if the servers are gone.
CLOSE_SECONDS = 5.0
# Per caller: objects with different values share an engine.
OWN = frozenset({"tenant", "api_key"})


class SharedEngine:
    """Opened at the first use, closed by its last user."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._engine: Engine | None = None
        self._opening = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self.users = self.calls = 0

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The one of the running event loop."""
        engines = _engines.setdefault(asyncio.get_running_loop(), {})
        key = settings.model_dump_json(exclude=set(OWN))
        return engines.setdefault(key, cls(settings))  # type: ignore[return-value]

    @property
    def ended(self) -> bool:
        """Whether it belonged to another process, which ended or was replaced."""
        return self._engine is not None and self._engine.attached and not self._alive(self._engine)

    @property
    def running(self) -> Engine | None:
        """The running engine, if it is open."""
        return None if self.ended else self._engine

    async def engine(self) -> Engine:
        """The running engine, which is opened, found or started if needed."""
        if running := self.running:
            return running
        async with self._opening:
            if self._engine is None:
                self._engine = await self._opened()
            elif self.ended:
                self._engine = await self._again(self._engine)
            return self._engine

    async def release(self) -> None:
        """Release it; the last user closes it. A new user waits, and opens it again."""
        self.users -= 1
        async with self._opening:
            if self.users:
                return
            watching, self._watching = self._watching, None
            if watching:
                watching.cancel()
            await self._close()  # At once: whoever comes now must not be given this engine.
            if watching:
                await asyncio.wait([watching])
            engines = _engines.get(asyncio.get_running_loop(), {})
            for key in [key for key, one in engines.items() if one is self and not self.users]:
                del engines[key]

    async def _opened(self) -> Engine:
        attach = self._attaches()
        try:
            engine = await self._stack.enter_async_context(open_engine(self._settings, attach=attach))
        except DataDirectoryInUse:
            if attach or not self._attaches():
                raise
            # Another program began at the same moment, and was first.
            engine = await self._stack.enter_async_context(open_engine(self._settings, attach=True))
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return engine

    async def _close(self) -> None:
        """Close it; if its process has ended, without long waits and without reporting errors."""
        ended, engine, self._engine = self.ended, self._engine, None
        if not ended:
            await self._stack.aclose()
            return
        if engine:
            engine.recalls.drop()
        with suppress(*UNREACHABLE):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._stack.aclose()

    def _attaches(self) -> bool:
        """An engine of this program, of the parent of a fork, or of another program is attached to as well."""
        path = self._settings.directory
        owner = holder(path) if engine_runs(path) else None
        return self._settings.engine == "background" or (owner is not None and owner.kind in ("in-process", "up"))

    async def _again(self, engine: Engine) -> Engine:
        """Replace the engine. Connections are kept if the new one has the same addresses and policy."""
        if self._settings.engine == "in-process":
            await self._close()
            return await self._opened()
        found = await asyncio.to_thread(attaching.find_or_start, self._settings)
        settings = as_the_engine(self._settings, found)
        same_policy = policy_of(settings, found).version == engine.policy.version
        if found.addresses == engine.endpoints.addresses and same_policy:
            engine.endpoints, engine.settings = found, settings
            await require_kept(engine.projections, engine.settings)
            return engine
        await self._close()
        return await self._opened()

    async def _watch(self) -> None:
        """Calls that wait for a server while no engine runs would wait in vain."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self.calls and self.ended:
                with suppress(MnemologError, *UNREACHABLE):  # Calls raise it themselves; the next retries.
                    await self.engine()

    def _alive(self, engine: Engine) -> bool:
        return attaching.is_alive(self._settings.directory, engine.endpoints)


def with_own(engine: Engine, settings: Settings) -> Engine:
    """The same engine with the caller's own settings."""
    own = copy(engine)
    own.settings = engine.settings.model_copy(update={name: getattr(settings, name) for name in OWN})
    return own


_engines: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, SharedEngine]] = WeakKeyDictionary()
_of_the_parent: list[object] = []


def _forget_in_child() -> None:
    """Kept, so that the parent's objects are not destroyed while the child works."""
    _of_the_parent.extend(list(_engines.items()))
    _engines.clear()


os.register_at_fork(after_in_child=_forget_in_child)
