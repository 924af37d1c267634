"""Connections end whose requests do not arrive or whose answers are not read, and the server keeps to half of the files
that it may open.

uvicorn waits for a request, and for the reader of an answer, forever. Whoever opened connections and sent or read a
byte now and then took all files of the engine, also those that it needs to reach Postgres.
"""

import asyncio
import resource
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# For the head of a request, and for what is left of a body that was answered before its end.
HEAD_SECONDS = 10.0
# In each of these periods a part of the body must arrive, or its end.
BODY_SECONDS, BODY_BYTES = 30.0, 64 * 1024
# In each of these periods so much of an answer must be read, if that much waits.
READ_SECONDS, READ_BYTES = 30.0, 16 * 1024
MOST_CONNECTIONS = 10_000


def most_connections() -> int:
    """The other half of the files is for servers, backups and artifacts."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if most == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, most // 2)


class TimedProtocol(H11Protocol):
    """A connection with a deadline for each part of a request."""

    _timer: asyncio.TimerHandle | None = None
    _awaited: object = None
    _received = 0
    _since = 0.0
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._await_request()
        if len(self.connections) > most_connections():
            waiting = [one for one in cast(set[TimedProtocol], self.connections) if one._awaited or one.is_idle]
            longest = min(waiting, key=lambda one: one._since, default=self)
            self.connections.discard(longest)  # At once: of a hundred that arrive together, each closes another.
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._stop_reading()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        self._stop_reading()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        self._await_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._since = self.loop.time()
        self._await_request()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _await_request(self) -> None:
        """Arm the timer for what is awaited now, unless it already runs."""
        awaited = self._next()
        if awaited == self._awaited:
            return
        self._stop()
        self._awaited = awaited
        if awaited == _BODY:
            self._received = 0
            self._timer = self.loop.call_later(BODY_SECONDS, self._check_body)
        elif awaited:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _next(self) -> str:
        if self.conn.their_state is h11.SEND_BODY:
            return _REST if self.is_idle else _BODY
        # Between two requests uvicorn's own timer runs, until something arrives.
        return _HEAD if self.is_idle and self.timeout_keep_alive_task is None else ""

    def _check_body(self) -> None:
        if self._received < BODY_BYTES and not self.flow.read_paused:
            self.transport.abort()
            return
        self._received = 0
        self._timer = self.loop.call_later(BODY_SECONDS, self._check_body)

    def _await_reader(self) -> None:
        self._reading = self.loop.call_later(READ_SECONDS, self._check_reader, self._unread())

    def _check_reader(self, before: int) -> None:
        if before - self._unread() < READ_BYTES:
            self.transport.abort()
        else:
            self._await_reader()

    def _unread(self) -> int:
        return self.transport.get_write_buffer_size()

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading.cancel()
        self._reading = None

    def _stop(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer, self._awaited = None, None


_HEAD, _BODY, _REST = "head", "body", "rest"
