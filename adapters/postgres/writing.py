"""Writes groups of appends: known streams in one statement, others under locks in two round trips."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg import AsyncCursor
from psycopg.errors import LockNotAvailable, UniqueViolation
from psycopg.rows import DictRow

from mnemolog.adapters.encryption import ALGORITHM
from mnemolog.adapters.postgres.append import Fault, Held, Settled
from mnemolog.adapters.postgres.chained import LatestHeads, NoHeads
from mnemolog.adapters.postgres.group import Columns, Group
from mnemolog.adapters.postgres.pool import ATTEMPTS, UNREACHABLE, Connection, Pool, unreachable
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.postgres.tail import LogSecrets, Tail
from mnemolog.domain.errors import Conflict, IdempotencyConflict, TamperedEvent
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import NewEvent, Receipt, StoredEvent, StreamId
from mnemolog.events.erasure import UserErased
from mnemolog.events.log import Append, Outcome
from mnemolog.events.registry import SHREDDING

REMEMBERED = 4096
# How long a group waits for the heads of its streams: for a neighbour's transaction, not for one that hangs. The
# stream that is held then waits by itself, as long as it takes.
IMPATIENCE, PATIENCE = "50ms", "0"
SCOPES = 512
# As the codec writes it; within a string its quotes would be escaped.
SEALED = f'"sealed":{{"alg":"{ALGORITHM}"'.encode()


@dataclass(slots=True)
class Doubt:
    """Whether an error left open that some of a group is written: then it is found out first, under the locks.

    Once open it stays so until each append has its outcome, whichever way that takes: a write that was committed and
    is taken for one that was not conflicts with itself, and is then decided, and written, a second time.
    """

    open: bool = False


def leaves_doubt(error: Exception) -> bool:
    """Only a server that refuses, and lives on, has certainly written nothing."""
    return unreachable(error) or not isinstance(error, psycopg.Error)


class GroupWriter:
    """Remembers the tails of the streams that it wrote to, keys included, and writes to these without asking.

    A tail that another writer moved on is noticed by the statement itself, which then writes nothing of that stream.
    """

    def __init__(
        self,
        pool: Pool,
        codec: Codec,
        secrets: LogSecrets,
        clock: Callable[[], datetime],
        appended: Callable[[Sequence[StoredEvent]], None],
        heads: LatestHeads | None = None,
    ) -> None:
        self._pool, self._codec, self._secrets, self._clock = pool, codec, secrets, clock
        self._appended, self._heads = appended, heads or NoHeads()
        self._tails: OrderedDict[StreamId, Tail] = OrderedDict()

    async def write(self, appends: Sequence[Append], wait: bool = True, *, doubtful: bool = False) -> Sequence[Settled]:
        """What became of each, durable. A server that goes away meanwhile is waited for, and asked what it has.

        A stream that somebody else holds is waited for only with `wait`. `doubtful`: some were sent before, and it is
        open whether they are written.
        """
        group = self._recalled(appends)
        if group is None or doubtful:
            return await self._long_road(appends, wait, Doubt(doubtful))
        try:
            async with self._pool.connection() as connection:
                written = await write_known(connection, group, self._clock)
        except Exception as error:  # noqa: BLE001  Nothing is written, or nobody knows: either is found out there.
            return await self._long_road(appends, wait, Doubt(leaves_doubt(error)))
        self._remember(group, written)
        rest = [append for append in appends if append.stream not in written]
        late = iter(await self._long_road(rest, wait, Doubt()) if rest else ())
        pairs = zip(appends, group.outcomes, strict=True)
        return [outcome if append.stream in written else next(late) for append, outcome in pairs]

    async def write_whole(self, stream: StreamId, batches: Iterable[Sequence[NewEvent]]) -> Receipt:
        """A stream that has no events yet, from its first to its last, in one transaction: all of it or nothing.

        Conflict when it has events. A server that goes away leaves nothing, and the error.
        """
        self._tails.pop(stream, None)
        last = 0
        async with self._pool.connection() as connection, connection.transaction():
            for batch in batches:
                whole = [Append(stream, tuple(batch))]
                group = Group(self._codec, self._secrets, whole, heads=self._heads)
                try:
                    await write(connection, group, self._clock)
                except UniqueViolation as error:
                    raise _refused(whole, error) from error
                if isinstance(refused := group.outcomes[0], TamperedEvent):
                    raise refused
                if group.tails[stream].base_seq != last:
                    raise has_events(stream)
                last += len(batch)
        added = tuple(group.tails[stream].added)
        self._appended(added)
        return Receipt(stream, (added[-1].header.event_id,), 1, last)

    async def _long_road(self, appends: Sequence[Append], wait: bool, doubt: Doubt) -> Sequence[Settled]:
        """Under locks, as a group; one by one when that fails, so that none fails for its neighbours."""
        try:
            return await self._ask_and_write(appends, wait, doubt)
        except LockNotAvailable:
            parts = _by_stream(appends)
            held = [Held(doubt.open)] * len(appends)
            return await self._parted(appends, parts, wait, doubt) if len(parts) > 1 else held
        except Exception as error:  # noqa: BLE001  Whatever one of them met is told to its caller alone.
            if len(appends) == 1 or unreachable(error):
                return [Fault(error)] * len(appends)
            doubt.open = doubt.open or leaves_doubt(error)
            return await self._parted(appends, [[position] for position in range(len(appends))], wait, doubt)

    async def _parted(
        self, appends: Sequence[Append], parts: Sequence[Sequence[int]], wait: bool, doubt: Doubt
    ) -> Sequence[Settled]:
        """Part by part, each the positions of its appends; the outcomes in the order of all."""
        outcomes: dict[int, Settled] = {}
        for part in parts:
            settled = await self._long_road([appends[position] for position in part], wait, doubt)
            outcomes.update(zip(part, settled, strict=True))
        return [outcomes[position] for position in range(len(appends))]

    async def _ask_and_write(self, appends: Sequence[Append], wait: bool, doubt: Doubt) -> Sequence[Outcome]:
        for attempt in range(1, ATTEMPTS + 1):
            group = Group(self._codec, self._secrets, appends, doubtful=doubt.open, heads=self._heads)
            try:
                async with self._pool.connection() as connection:
                    written = await write(connection, group, self._clock, PATIENCE if wait else IMPATIENCE)
            except LockNotAvailable:
                raise
            except UniqueViolation as error:
                return [_refused(appends, error)]
            except UNREACHABLE as error:
                if attempt == ATTEMPTS or not unreachable(error):
                    raise
                doubt.open = True
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
        """After the commit: tell what was added, and keep the tails."""
        for stream in written:
            tail = group.tails[stream]
            self._appended(tuple(tail.added))
            tail.settle()
            if len(tail.keys.data_keys) <= SCOPES:
                self._tails[stream] = tail
        while len(self._tails) > REMEMBERED:
            self._tails.popitem(last=False)


async def write(
    connection: Connection, group: Group, clock: Callable[[], datetime], patience: str = "0"
) -> frozenset[StreamId]:
    """Judge the group and write what may be written: the streams of which it wrote. Its `outcomes` hold afterwards.

    LockNotAvailable when somebody else holds a stream for longer than `patience`.
    """
    async with connection.pipeline(), connection.transaction():
        await connection.execute(query("lock_timeout"), {"patience": patience})
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
    unfit = await connection.execute(query("unfit_heads"), group.stream_columns())
    receipts = await _if_asked(connection, "find_receipts", group.receipt_columns())
    keys = await connection.execute(query("find_keys"), group.wanted_keys())
    unopened = await connection.execute(query("last_sealed"), group.lost.wanted())
    written = await _if_asked(connection, "find_written", group.doubtful_columns())
    conflicts = None if group.blind else await _if_asked(connection, "find_conflicts", group.guard_columns())
    if group.take_heads(await heads.fetchall()):
        await connection.execute(query("begin_streams"), group.stream_columns())
        return await _ask(connection, group)
    group.take_unfit(await unfit.fetchall())
    group.take_keys(await keys.fetchall())
    group.take_receipts(await receipts.fetchall() if receipts else [])
    group.take_written(await written.fetchall() if written else [])
    if keyless := group.keyless_columns():
        erasures = await connection.execute(query("last_erasures"), {**keyless, "type": UserErased.type_name()})
        after = group.erased_columns(await erasures.fetchall())
        sealed = await connection.execute(query("first_sealed"), {**after, "sealed": SEALED})
        group.take_keyless(await sealed.fetchall())
    if unkeyed := group.lost.take(await unopened.fetchall()):
        types = {"types": sorted(SHREDDING)}
        erasures = await connection.execute(query("events_of_types"), {**unkeyed, **types})
        group.refuse(group.lost.refusals(await erasures.fetchall()))
    if group.blind:  # The keys had to come first.
        conflicts = await _if_asked(connection, "find_conflicts", group.guard_columns())
    return {row["position"]: row["seq"] for row in await conflicts.fetchall()} if conflicts else {}


async def _if_asked(connection: Connection, name: str, columns: Columns | None) -> AsyncCursor[DictRow] | None:
    return await connection.execute(query(name), columns) if columns else None


def has_events(stream: StreamId) -> Conflict:
    return Conflict(f"user {stream.owner!r} already exists", field="user_id", fix="import as a new user")


def _by_stream(appends: Sequence[Append]) -> Sequence[Sequence[int]]:
    """The positions of each stream's appends."""
    streams: dict[StreamId, list[int]] = {}
    for position, append in enumerate(appends):
        streams.setdefault(append.stream, []).append(position)
    return list(streams.values())


def _refused(appends: Sequence[Append], error: UniqueViolation) -> IdempotencyConflict:
    if len(appends) > 1 or error.diag.constraint_name != "events_event_id":
        raise error
    return IdempotencyConflict(
        "the log already contains an event with this id", field="event_id", fix="generate a new id"
    )
