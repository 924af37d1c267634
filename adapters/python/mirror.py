"""Derives a synchronous interface from an async one."""

import asyncio
import atexit
import functools
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, cast, overload

from mnemolog.domain.errors import EngineError

P = ParamSpec("P")
A = TypeVar("A")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])


class EventLoopThread:
    """An event loop in a daemon thread, started at its first use. All sync objects of a program share one.

    It is not the caller's loop, so sync calls work inside a running event loop, as in a notebook.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._opened: set[Closable] = set()

    def run(self, coroutine: Coroutine[Any, Any, T], of: "Closable") -> T:
        """The coroutine's result. The object `of` which it is a method is closed at the program's end at the latest."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise EngineError("this call would deadlock", fix="use the async class and await")
        self._opened.add(of)
        try:
            return self._result(coroutine)
        finally:
            # Registered last, it runs first: close before the servers that this call may have started.
            atexit.unregister(self.stop)
            atexit.register(self.stop)

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop, if it was started."""
        return self._loop

    def close(self, one: "Closable") -> None:
        """Close it; has no effect if it was never used."""
        if one in self._opened:
            self._opened.discard(one)
            self._result(one.close())

    def let_go(self, one: "Closable") -> None:
        """Close it eventually, without waiting: for objects that are no longer referenced."""
        if one in self._opened and self._loop is not None:
            self._opened.discard(one)
            asyncio.run_coroutine_threadsafe(one.close(), self._loop)

    def stop(self) -> None:
        """Close all and stop; has no effect if nothing was started."""
        for one in list(self._opened):
            self.close(one)
        if self._loop is not None:
            self._result(_cancel_others())
        with self._starting:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        atexit.unregister(self.stop)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def forget(self) -> None:
        """In a forked child: the thread is the parent's, and the loop is left alone."""
        _of_the_parent.append(self._loop)
        self.__init__()  # type: ignore[misc]

    def _result(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="mnemolog", daemon=True)
                self._thread.start()
            return self._loop


_thread = EventLoopThread()
_of_the_parent: list[object] = []
os.register_at_fork(after_in_child=_thread.forget)


async def _cancel_others() -> None:
    """Like `asyncio.run` at its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Closable(Protocol):
    def close(self) -> Coroutine[Any, Any, None]: ...


class Blocking:
    """The sync twin of an async object, run on a shared event loop in a thread."""

    def __init__(self, twin: Closable) -> None:
        self.mirrored: Any = twin
        weakref.finalize(self, _thread.let_go, twin).atexit = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what it opened. Nothing is lost. Also called when the program ends."""
        _thread.close(self.mirrored)

    @property
    def _loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that the async object runs on, if it was started."""
        return _thread.loop

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine of the async object."""
        return _thread.run(coroutine, self.mirrored)


class Method(Protocol[P, T_co]):
    """For type checkers: a method with these parameters."""

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], T_co]: ...
    @overload
    def __get__(self, instance: Blocking, owner: type) -> Callable[P, T_co]: ...


def mirrored(method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> Method[P, T]:
    """The sync twin of an async method, with its signature and its docstring."""

    @_described_by(method)
    def call(self: Blocking, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(method(self.mirrored, *args, **kwargs))

    return cast(Method[P, T], call)


def mirrored_iterator(method: Callable[Concatenate[A, P], AsyncIterator[T]]) -> Method[P, Iterator[T]]:
    """The sync twin of an async generator: an iterator that waits for each item."""

    @_described_by(method)
    def call(self: Blocking, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items: Any = method(self.mirrored, *args, **kwargs)
        try:
            while (found := self._run(_next(items))) is not _END:
                yield found
        finally:
            self._run(items.aclose())

    return cast(Method[P, Iterator[T]], call)


def _described_by(method: Callable[..., Any]) -> Callable[[F], F]:
    """Signature, docstring and name are those of the async method, without its class in the name."""

    def described(call: F) -> F:
        functools.update_wrapper(call, method)
        call.__qualname__ = method.__name__
        return call

    return described


_END: Any = object()


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items, _END)
