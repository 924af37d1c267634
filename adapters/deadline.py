"""One deadline for a call, over everything that it waits for."""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from mnemolog.domain.errors import AppendTimeout, Overloaded, ReadTimeout

T = TypeVar("T")

# The log says more precisely what became of an append, so it has to be first.
GRACE_SECONDS = 0.25


@dataclass(slots=True)
class _Limit:
    until: float
    appending: bool = False


_limit = ContextVar[_Limit | None]("limit", default=None)
_read_limit = ContextVar[_Limit | None]("read_limit", default=None)
_abandoned = set[asyncio.Task[Any]]()


def append_within(seconds: float | None) -> float | None:
    """How long an append that begins now may wait: what is left of the write's deadline, if it has one."""
    if (limit := _limit.get()) is None:
        return seconds
    limit.appending = True
    left = max(0.0, limit.until - asyncio.get_running_loop().time())
    return left if seconds is None else min(left, seconds)


async def write_within(seconds: float, work: Coroutine[Any, Any, T], *, appends: bool = True) -> T:
    """The result of a write; Overloaded or AppendTimeout after so many seconds, whatever it waits for.

    `appends`: it writes to the log alone, so that nothing is written before it appends.
    """
    limit = _Limit(asyncio.get_running_loop().time() + seconds, appending=not appends)
    try:
        return await _within(limit, GRACE_SECONDS, _limited(_limit, limit, work))
    except _Late as late:
        if limit.appending:
            raise AppendTimeout(
                f"the write did not end within {seconds:g} s; it may or may not have been written",
                field="deadline",
                fix="send it again with the same idempotency key or turn id, which is safe; if it happens again, run "
                "`mnemolog doctor`",
            ) from late
        raise Overloaded(
            f"the write could not read what it depends on within {seconds:g} s, and was not written",
            field="deadline",
            fix="try again later; if the error persists, run `mnemolog doctor`",
        ) from late


async def read_within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """The result of a read; ReadTimeout after so many seconds, and those that it adds, whatever it waits for."""
    limit = _Limit((began := asyncio.get_running_loop().time()) + seconds)
    try:
        return await _within(limit, 0, _limited(_read_limit, limit, work))
    except _Late as late:
        raise ReadTimeout(
            f"the read was not answered within {limit.until - began:.3g} s",
            field="deadline",
            fix="read again later; if the error persists, run `mnemolog doctor`",
        ) from late


def extend_read(seconds: float) -> None:
    """Add so many seconds to the deadline of the read that runs now."""
    if limit := _read_limit.get():
        limit.until += seconds


class _Late(Exception):
    pass


async def _limited(by: ContextVar[_Limit | None], limit: _Limit, work: Coroutine[Any, Any, T]) -> T:
    by.set(limit)
    return await work


async def _within(limit: _Limit, grace: float, work: Coroutine[Any, Any, T]) -> T:
    """What misses the time is cancelled and left alone: the driver waits for a server that hangs even then."""
    task, loop = asyncio.create_task(work), asyncio.get_running_loop()
    try:
        while not task.done() and (left := limit.until + grace - loop.time()) > 0:
            await asyncio.wait([task], timeout=left)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        raise
    if task.done():
        return task.result()
    task.cancel()
    _abandoned.add(task)
    task.add_done_callback(_forget)
    raise _Late


def _forget(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()
