"""The engine of a Memory object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

from mnemolog.deferred import Deferred
from mnemolog.domain.errors import EngineEnded, MemoryClosed

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
Call = Callable[Concatenate[O, P], Awaitable[T]]
Guarded = Callable[Concatenate[O, P], Coroutine[Any, Any, T]]

# Longer than reads and writes take by default; an import or an export may take longer.
CALLS_SECONDS = 60.0


class Opening:
    """Holds an engine, shared with other objects, from its first use to `close`."""

    def __init__(self, data_dir: str | Path | None = None, **settings: Any) -> None:
        self._settings = config.load(data_dir=data_dir, http_port=0, **settings)
        self._uses: WeakKeyDictionary[asyncio.AbstractEventLoop, _Use] = WeakKeyDictionary()

    async def __aenter__(self) -> Self:
        await self._engine()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Release the engine once the calls under way have ended. The next use finds or starts it again.

        A `watch` ends at once with `MemoryClosed`, and so does any call that is still under way after a minute.
        """
        if use := self._uses.pop(asyncio.get_running_loop(), None):
            try:
                await use.closed()
            finally:
                await use.shared.release()

    async def _engine(self) -> Engine:
        use = self._use()
        engine = await use.shared.engine()
        if use.engine is not engine or self._settings.api_key is not None:  # It may have been revoked since.
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

    def _require(self, use: _Use) -> None:
        """Raises MemoryClosed if the object was closed since."""
        if self._uses.get(asyncio.get_running_loop()) is not use:
            raise MemoryClosed(fix=_CALL_AGAIN)


@dataclass(slots=True)
class _Use:
    """An object's use of a shared engine: `bound` is `engine` acting for its API key.

    `calls` are those under way, each with the limit that ends it; `watching` are those that wait for changes.
    """

    shared: sharing.SharedEngine
    engine: Engine | None = None
    bound: Engine | None = None
    calls: dict[asyncio.Timeout, asyncio.Event] = field(default_factory=dict)
    watching: set[asyncio.Timeout] = field(default_factory=set)

    async def closed(self) -> None:
        """Wait for the calls under way; those that watch, or take too long, end with MemoryClosed."""
        now = asyncio.get_running_loop().time()
        for limit in self.calls:
            limit.reschedule(now if limit in self.watching else now + CALLS_SECONDS)
        for ended in list(self.calls.values()):
            await ended.wait()


def guarded(call: Call[O, P, T]) -> Guarded[O, P, T]:
    """Replaces an engine that ends during the call. Driver errors are raised as EngineEnded or ServerFailed."""
    return _guarded(call, watching=False)


def until_closed(
    call: Callable[Concatenate[O, P], Awaitable[T]],
) -> Callable[Concatenate[O, P], Coroutine[Any, Any, T]]:
    """Like `guarded`, for a call that waits for changes: `close` ends it."""
    return _guarded(call, watching=True)


def _guarded(call: Call[O, P, T], *, watching: bool) -> Guarded[O, P, T]:
    @wraps(call)
    async def guarded(self: O, /, *args: P.args, **kwargs: P.kwargs) -> T:
        use, limit, ended = self._use(), asyncio.timeout(None), asyncio.Event()
        shared = use.shared
        shared.calls += 1
        use.calls[limit] = ended
        if watching:
            use.watching.add(limit)
        try:
            async with limit:
                return await call(self, *args, **kwargs)
        except unreachable.UNREACHABLE as fault:
            if limit.expired():
                raise MemoryClosed(fix=_CALL_AGAIN) from fault
            if lacking := unreachable.used_up(fault):
                raise lacking from fault
            if isinstance(fault, OSError) and fault.filename is not None:
                raise  # A file that the caller named.
            raise _gone(fault) from fault
        finally:
            shared.calls -= 1
            del use.calls[limit]
            use.watching.discard(limit)
            ended.set()

    return guarded


_CALL_AGAIN = "call again: the engine is opened again. To wait for a long call, close the object after it"


def _gone(fault: BaseException) -> EngineEnded:
    said = unreachable.own_words(fault) or type(fault).__name__
    return EngineEnded(
        f"the engine, or a server of it, stopped during this call ({said})",
        fix="call again: an engine is found or started. Acknowledged writes are kept; retry others with the same "
        "idempotency key",
    )
