"""A sync interface derived from an async one, so that there is one truth for both."""

import asyncio
import atexit
import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from mnemolog.domain.errors import EngineError

P = ParamSpec("P")
A = TypeVar("A")
T = TypeVar("T")


class EventLoopThread:
    """An event loop in a daemon thread, started at its first use. `closing` runs on it before it stops."""

    def __init__(self, closing: Callable[[], Awaitable[None]]) -> None:
        self._closing = closing
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result; called from inside an event loop it would block it, so that is refused."""
        if _inside_a_loop():
            coroutine.close()
            raise EngineError("this call blocks, and this is an event loop", fix="use its Async twin and await")
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._started()).result()
        finally:
            # What is registered last runs first: close before the servers that this call may have started.
            atexit.unregister(self.stop)
            atexit.register(self.stop)

    def stop(self) -> None:
        """Close and stop; harmless when nothing was started."""
        with self._starting:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        atexit.unregister(self.stop)
        try:
            asyncio.run_coroutine_threadsafe(_awaited(self._closing), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="mnemolog", daemon=True)
                self._thread.start()
            return self._loop


class Closable(Protocol):
    async def close(self) -> None: ...


class Blocking:
    """The sync twin of an async object, which runs on a thread of its own until this is closed."""

    def __init__(self, twin: Closable) -> None:
        self.mirrored: Any = twin
        self.loop = EventLoopThread(twin.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what it opened: servers, connections. Nothing is lost. Also done when the program ends."""
        self.loop.stop()


class _Mirror(Generic[A, P, T]):
    def __init__(self, method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "_Mirror[A, P, T]": ...
    @overload
    def __get__(self, instance: Blocking, owner: type) -> Callable[P, T]: ...
    def __get__(self, instance: Blocking | None, owner: type) -> "_Mirror[A, P, T] | Callable[P, T]":
        if instance is None:
            return self

        @functools.wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return instance.loop.run(self._method(instance.mirrored, *args, **kwargs))

        return call


def mirrored(method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> _Mirror[A, P, T]:
    """The sync twin of an async method, with its signature and its docstring."""
    return _Mirror(method)


async def _awaited(step: Callable[[], Awaitable[None]]) -> None:
    await step()


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
