"""The writing of groups: of known streams in one statement, of others under locks in two round trips."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from psycopg import AsyncCursor
from psycopg.errors import UniqueViolation
from psycopg.rows import DictRow

from mnemolog.adapters.postgres.group import Columns, Group, LogSecrets, Tail
from mnemolog.adapters.postgres.pool import ATTEMPTS, UNREACHABLE, Connection, Pool, unreachable
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import IdempotencyConflict
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Append, Outcome

REMEMBERED = 4096
SCOPES = 512


class GroupWriter:
    """Remembers the tails of the streams that it wrote to, keys included, and writes to these without asking.

    A tail that another writer moved on is noticed by the statement itself, which then writes nothing of that stream.
    """

    def __init__(self, pool: Pool, codec: Codec, secrets: LogSecrets, clock: Callable[[], datetime]) -> None:
        self._pool, self._codec, self._secrets, self._clock = pool, codec, secrets, clock
        self._tails: OrderedDict[StreamId, Tail] = OrderedDict()

    async def write(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        """The outcome of each, durable. A server that goes away meanwhile is waited for, and asked what it has."""
        group = self._recalled(appends)
        if group is None:
            return await self._ask_and_write(appends)
        try:
            async with self._pool.connection() as connection:
                written = await write_known(connection, group, self._clock)
        except UNREACHABLE as error:
            await self._pool.check()
            return await self._ask_and_write(appends, after=error)
        self._remember(group, written)
        rest = [append for append in appends if append.stream not in written]
        late = iter(await self._ask_and_write(rest) if rest else ())
        pairs = zip(appends, group.outcomes, strict=True)
        return [outcome if append.stream in written else next(late) for append, outcome in pairs]

    async def _ask_and_write(self, appends: Sequence[Append], after: Exception | None = None) -> Sequence[Outcome]:
        """`after` an error that leaves open whether they were written, this is found out first, under the locks."""
        for attempt in range(1, ATTEMPTS + 1):
            group = Group(self._codec, self._secrets, appends, doubtful=after is not None)
            try:
                async with self._pool.connection() as connection:
                    written = await write(connection, group, self._clock)
            except UniqueViolation as error:
                return [_refused(appends, error)]
            except UNREACHABLE as error:
                if attempt == ATTEMPTS or not unreachable(error):
                    raise
                after = error
                await self._pool.check()
            else:
                self._remember(group, written)
                return group.outcomes
        raise AssertionError("unreachable")

    def _recalled(self, appends: Sequence[Append]) -> Group | None:
        """A group on known tails, which are forgotten until it is written; None when a tail is not known."""
        streams = {append.stream for append in appends}
        shredding = any(event.payload.shreds() for append in appends for event in append.events)
        known = {stream: tail for stream in streams if (tail := self._tails.pop(stream, None))}
        complete = len(known) == len(streams) and not shredding
        return Group(self._codec, self._secrets, appends, known) if complete else None

    def _remember(self, group: Group, written: frozenset[StreamId]) -> None:
        for stream in written:
            tail = group.tails[stream]
            tail.settle()
            if len(tail.keys.data_keys) <= SCOPES:
                self._tails[stream] = tail
        while len(self._tails) > REMEMBERED:
            self._tails.popitem(last=False)


async def write(connection: Connection, group: Group, clock: Callable[[], datetime]) -> frozenset[StreamId]:
    """Judge the group and write what may be written: the streams of which it wrote. Its `outcomes` hold afterwards."""
    async with connection.pipeline(), connection.transaction():
        conflicts = await _ask(connection, group)
        group.decide(conflicts, clock)
        shredded = group.shred_columns()
        if shredded:
            await connection.execute(query("shred"), shredded)
            await connection.execute(query("shred_streams"), shredded)
        written = await _write(connection, group)
        assert written.issuperset(stream for stream, tail in group.tails.items() if tail.added), "the heads are locked"
    return written


async def write_known(connection: Connection, group: Group, clock: Callable[[], datetime]) -> frozenset[StreamId]:
    """Write a group whose tails are known, in one statement; the streams for which they were right and it is written.

    Nothing of the others is written, and nothing is asked: a tail that is out of date costs this one statement.
    """
    group.decide({}, clock)
    return await _write(connection, group)


async def _write(connection: Connection, group: Group) -> frozenset[StreamId]:
    rows = group.rows()
    if rows is None:
        return frozenset()
    cursor = await connection.execute(query("write"), rows)
    return frozenset(StreamId(row["tenant"], row["stream"]) for row in await cursor.fetchall())


async def _ask(connection: Connection, group: Group) -> Mapping[int, int]:
    """Lock the group's heads and read what its guards and keys depend on. Each statement sees what the locks saw."""
    heads = await connection.execute(query("lock_heads"), group.stream_columns())
    receipts = await _if_asked(connection, "find_receipts", group.receipt_columns())
    keys = await connection.execute(query("find_keys"), group.key_columns())
    written = await _if_asked(connection, "find_written", group.doubtful_columns())
    conflicts = None if group.blind else await _if_asked(connection, "find_conflicts", group.guard_columns())
    if group.take_heads(await heads.fetchall()):
        await connection.execute(query("begin_streams"), group.stream_columns())
        return await _ask(connection, group)
    group.take_keys(await keys.fetchall())
    group.take_receipts(await receipts.fetchall() if receipts else [])
    group.take_written(await written.fetchall() if written else [])
    if group.blind:  # The keys had to come first.
        conflicts = await _if_asked(connection, "find_conflicts", group.guard_columns())
    return {row["position"]: row["seq"] for row in await conflicts.fetchall()} if conflicts else {}


async def _if_asked(connection: Connection, name: str, columns: Columns | None) -> AsyncCursor[DictRow] | None:
    return await connection.execute(query(name), columns) if columns else None


def _refused(appends: Sequence[Append], error: UniqueViolation) -> IdempotencyConflict:
    if len(appends) > 1 or error.diag.constraint_name != "events_event_id":
        raise error
    return IdempotencyConflict("an event of this id is in the log", field="event_id", fix="draw a new id")
