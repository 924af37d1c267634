"""The engine of a Memory object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

from mnemolog.deferred import Deferred
from mnemolog.domain.errors import EngineEnded

if TYPE_CHECKING:
    from mnemolog import sharing
    from mnemolog.adapters import config, unreachable
    from mnemolog.adapters.engine.engine import Engine
else:
    sharing, config = Deferred("mnemolog.sharing"), Deferred("mnemolog.adapters.config")
    unreachable = Deferred("mnemolog.adapters.unreachable")

P = ParamSpec("P")
T = TypeVar("T")
O = TypeVar("O", bound="Opening")  # noqa: E741


class Opening:
    """Holds an engine, shared with other objects, from its first use to `close`."""

    def __init__(self, data_dir: str | Path | None = None, **settings: Any) -> None:
        self._settings = config.load(data_dir=data_dir, http_port=0, **settings)
        self._uses: WeakKeyDictionary[asyncio.AbstractEventLoop, _Use] = WeakKeyDictionary()

    async def __aenter__(self) -> Self:
        await self._engine()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Release the engine. Nothing is lost; the next use finds or starts it again."""
        if use := self._uses.pop(asyncio.get_running_loop(), None):
            await use.shared.release()

    async def _engine(self) -> Engine:
        use = self._use()
        engine = await use.shared.engine()
        if use.engine is not engine:
            use.bound, use.engine = await sharing.with_own(engine, self._settings).authenticated(), engine
            self._settings = use.bound.settings  # Has the tenant of the API key.
        assert use.bound is not None
        return use.bound

    def _open_engine(self, loop: asyncio.AbstractEventLoop | None) -> Engine | None:
        """The engine that is open on an event loop, for what needs no loop. None if it has to be opened or replaced."""
        use = self._uses.get(loop) if loop else None
        return use.bound if use and use.engine is not None and use.shared.running is use.engine else None

    def _use(self) -> _Use:
        loop = asyncio.get_running_loop()
        if loop not in self._uses:
            self._uses[loop] = _Use(sharing.SharedEngine.of(self._settings))
            self._uses[loop].shared.users += 1
        return self._uses[loop]


@dataclass(slots=True)
class _Use:
    """An object's use of a shared engine: `bound` is `engine` acting for its API key."""

    shared: sharing.SharedEngine
    engine: Engine | None = None
    bound: Engine | None = None


def guarded(call: Callable[Concatenate[O, P], Awaitable[T]]) -> Callable[Concatenate[O, P], Coroutine[Any, Any, T]]:
    """Replaces an engine that ends during the call. Driver errors are raised as EngineEnded or ServerFailed."""

    @wraps(call)
    async def guarded(self: O, /, *args: P.args, **kwargs: P.kwargs) -> T:
        shared = self._use().shared
        shared.calls += 1
        try:
            return await call(self, *args, **kwargs)
        except unreachable.UNREACHABLE as fault:
            if lacking := unreachable.used_up(fault):
                raise lacking from fault
            if isinstance(fault, OSError) and fault.filename is not None:
                raise  # A file that the caller named.
            raise _gone(fault) from fault
        finally:
            shared.calls -= 1

    return guarded


def _gone(fault: BaseException) -> EngineEnded:
    said = unreachable.own_words(fault) or type(fault).__name__
    return EngineEnded(
        f"the engine, or a server of it, stopped during this call ({said})",
        fix="call again: an engine is found or started. Acknowledged writes are kept; retry others with the same "
        "idempotency key",
    )
