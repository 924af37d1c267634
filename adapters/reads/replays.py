"""Replays for `as_of` reads: a limited number, each on its own connection, shared by further reads."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from secrets import token_hex

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.postgres import as_of
from mnemolog.domain.errors import MnemologError, Overloaded
from mnemolog.domain.session import Session
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import EventLog
from mnemolog.events.registry import REGISTRY, SHREDDING
from mnemolog.projections import words
from mnemolog.projections.projector import Projector
from mnemolog.projections.reads.moment import seq_of
from mnemolog.projections.vectors.index import KEEPS
from mnemolog.projections.working.projector import SessionPlace

IDLE_SECONDS = 60.0

_NAME = text("SELECT set_config('application_name', :name, false)")
_STILL_THERE = text("SELECT 1")
_END = text("""
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE starts_with(application_name, :name) AND usename = current_user AND application_name <> :own
""")


@dataclass(slots=True)
class Replay:
    """A stream as of seq `until`: the projections `names` filled so far, on `connection`.

    `checked`: no event up to this seq destroyed a key after the replay decrypted with it.
    """

    stream: StreamId
    until: int
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    connection: AsyncConnection | None = None
    names: set[str] = field(default_factory=set)
    checked: int = 0
    users: int = 0
    used: float = 0.0

    async def close(self) -> None:
        connection, self.connection = self.connection, None
        self.names.clear()
        if connection:
            await connection.close()


class Replays:
    """At most `at_once` replays run concurrently, and `kept` are cached for a minute after their last read.

    `engine` opens a new connection each time (NullPool) and sees the live tables; a replay maps each table
    to a temporary one. An erasure ends the replays of its user, in every process.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        log: EventLog,
        projectors: Sequence[Projector],
        *,
        at_once: int,
        kept: int,
        deadline: float,
    ) -> None:
        temporary = {projector.name: as_of.TEMPORARY for projector in projectors}
        schemas = {**engine.get_execution_options()["schema_translate_map"], **temporary}
        keeping = {KEEPS: False, words.KEEPS: False}
        self._engine = engine.execution_options(schema_translate_map=schemas, **keeping)
        self._log, self._projectors, self._most, self._deadline = log, projectors, kept, deadline
        self._running = asyncio.Semaphore(at_once)
        self._process = token_hex(6)
        self._replays: OrderedDict[tuple[StreamId, int], Replay] = OrderedDict()
        self._expiry: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def at(
        self, stream: StreamId, point: datetime | int, names: Sequence[str], deadline: float | None = None
    ) -> AsyncIterator[AsyncConnection]:
        """A connection on which the projections `names` are as of `point`: a time, or a seq.

        Overloaded if no place is free within `deadline` seconds.
        """
        key = stream, await seq_of(self._log, stream, point)
        replay = self._replays.setdefault(key, Replay(*key))
        self._replays.move_to_end(key)
        replay.users += 1
        give_up = time.monotonic() + (deadline or self._deadline)
        try:
            async with _in_turn(replay.turn, give_up):
                try:
                    connection = await self._filled(replay, names, give_up)
                    # Else the transaction that the first read begins stays open, and Postgres keeps deleted rows.
                    async with connection.begin():
                        yield connection
                except MnemologError:
                    raise
                except BaseException:  # The state of the connection is unknown.
                    await replay.close()
                    raise
        finally:
            replay.users -= 1
            replay.used = time.monotonic()
            await self._let_go()

    async def session(
        self, place: SessionPlace, point: datetime | int, deadline: float | None = None
    ) -> Session | None:
        """The session of a place as of `point`; None if there was none or it had ended."""
        until = await seq_of(self._log, place.stream, point)
        async with _in_turn(self._running, time.monotonic() + (deadline or self._deadline)):
            return await as_of.session_at(self._log, place, until, point if isinstance(point, datetime) else None)

    async def forget(self, stream: StreamId) -> None:
        """End every replay of a stream, because something in it was erased."""
        for replay in [one for one in self._replays.values() if one.stream == stream]:
            async with replay.turn:
                await replay.close()
        async with self._engine.connect() as connection:  # Of those that begin here meanwhile, none shows what is gone.
            await connection.execute(_END, {"name": _named(stream), "own": self._name_of(stream)})

    async def aclose(self) -> None:
        """End all of them."""
        if self._expiry:
            self._expiry.cancel()
            self._expiry = None
        while self._replays:
            _, replay = self._replays.popitem()
            await replay.close()

    async def _filled(self, replay: Replay, names: Sequence[str], give_up: float) -> AsyncConnection:
        """The replay's connection, with missing projections filled in."""
        if replay.connection and not await self._holds(replay):
            await replay.close()
        lacking = [one for one in self._projectors if one.name in names and one.name not in replay.names]
        if lacking or replay.connection is None:
            async with _in_turn(self._running, give_up):
                connection = replay.connection or await self._connected(replay)
                try:
                    await as_of.fill(connection, self._log, lacking, replay.stream, replay.until)
                except BaseException:
                    await replay.close()
                    raise
            replay.names.update(projector.name for projector in lacking)
        assert replay.connection is not None
        return replay.connection

    async def _connected(self, replay: Replay) -> AsyncConnection:
        replay.checked = await self._log.head(replay.stream)
        replay.connection = await self._engine.connect()
        await replay.connection.execute(_NAME, {"name": self._name_of(replay.stream)})
        await replay.connection.commit()
        return replay.connection

    def _name_of(self, stream: StreamId) -> str:
        return f"{_named(stream)} {self._process}"

    async def _holds(self, replay: Replay) -> bool:
        """Whether its connection is alive, and nothing that it may show was erased since."""
        assert replay.connection is not None
        try:
            async with replay.connection.begin():
                await replay.connection.execute(_STILL_THERE)
        except (DBAPIError, OSError):
            return False
        async for batch in self._log.scan(replay.stream, after=replay.checked):
            types = {event.header.type for event in batch}
            if types & SHREDDING or not types <= REGISTRY.types.keys():
                return False
            replay.checked = batch[-1].header.seq
        return True

    async def _let_go(self) -> None:
        """Close replays beyond the limit, the longest unused first; the others after a while."""
        idle = [key for key, replay in self._replays.items() if not replay.users]
        empty = [key for key in idle if self._replays[key].connection is None]
        surplus = [key for key in idle if key not in empty][: max(0, len(idle) - len(empty) - self._most)]
        for key in (*empty, *surplus):
            await self._replays.pop(key).close()
        if self._replays and (self._expiry is None or self._expiry.done()):
            self._expiry = asyncio.create_task(self._expire())

    async def _expire(self) -> None:
        while self._replays:
            await asyncio.sleep(IDLE_SECONDS / 4)
            until = time.monotonic() - IDLE_SECONDS
            for key in [key for key, one in self._replays.items() if not one.users and one.used < until]:
                await self._replays.pop(key).close()


@asynccontextmanager
async def _in_turn(lock: asyncio.Lock | asyncio.Semaphore, give_up: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(give_up - time.monotonic()):
            await lock.acquire()
    except TimeoutError as error:
        raise Overloaded(
            "no replay slot became free in time for this `as_of` read",
            field="as_of",
            fix="read again later, or with a longer deadline",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _named(stream: StreamId) -> str:
    """What the names of connections for a stream's replays begin with: a hash, which reveals nothing."""
    return f"mnemolog as of {blake2b(str(stream).encode(), digest_size=16).hexdigest()}"
