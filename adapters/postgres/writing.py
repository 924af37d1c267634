"""Writes groups of appends: known streams in one statement, others under locks in two round trips."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
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

# What else belongs to the transaction that writes a whole stream.
Also = Callable[[Connection], Awaitable[None]]
REMEMBERED = 4096
# How long a batch waits for the heads of its streams: for a neighbour's transaction, not for one that hangs. An append
# to a locked stream then waits separately, without limit.
IMPATIENCE, PATIENCE = "50ms", "0"
SCOPES = 512
# As the codec writes it; inside a string its quotes would be escaped.
SEALED = f'"sealed":{{"alg":"{ALGORITHM}"'.encode()


@dataclass(slots=True)
class Doubt:
    """Whether an error left it open if part of a batch is written: that is then checked first, under the locks.

    Once doubtful, it stays so until each append has its outcome: a committed write that is taken for a failed one
    conflicts with itself, and is then decided and written a second time.
    """

    open: bool = False


async def nothing(connection: Connection) -> None:
    """A stream may be all that there is."""


def leaves_doubt(error: Exception) -> bool:
    """Only an answer from a server that is still alive proves that nothing was written."""
    return unreachable(error) or not isinstance(error, psycopg.Error)


class GroupWriter:
    """Caches the tails of the streams that it wrote to, including keys, and writes to these without a query before.

    If another writer moved a tail, the statement itself notices, and writes nothing to that stream.
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
        """The outcome of each append, durable. If the server fails, it is awaited, and asked what was committed.

        With `wait`, locked streams are awaited. `doubtful`: some appends were sent before, and may be written.
        """
        # On cached tails, which are removed until the batch is written.
        streams = {append.stream for append in appends}
        shredding = any(event.payload.shreds() for append in appends for event in append.events)
        known = {stream: tail for stream in streams if (tail := self._tails.pop(stream, None))}
        complete = len(known) == len(streams) and not shredding
        group = Group(self._codec, self._secrets, appends, known) if complete else None
        if group is None or doubtful:
            return await self._long_road(appends, wait, Doubt(doubtful))
        try:
            async with self._pool.connection() as connection:
                # Nothing is queried: a tail that is out of date costs one statement, and nothing is written there.
                await group.decide({}, self._clock)
                written = await _write(connection, group)
        except Exception as error:  # noqa: BLE001  Nothing is written, or it is unknown: the slow path finds out.
            return await self._long_road(appends, wait, Doubt(leaves_doubt(error)))
        self._remember(group, written)
        rest = [append for append in appends if append.stream not in written]
        late = iter(await self._long_road(rest, wait, Doubt()) if rest else ())
        pairs = zip(appends, group.outcomes, strict=True)
        return [outcome if append.stream in written else next(late) for append, outcome in pairs]

    async def write_whole(self, stream: StreamId, batches: Iterable[Sequence[NewEvent]], also: Also) -> Receipt:
        """A stream without events yet, from first to last, in one transaction: all of it or nothing.

        Conflict if it has events. If the server fails, nothing is written, and the error is raised.
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
            await also(connection)
        added = tuple(group.tails[stream].added)
        self._appended(added)
        return Receipt(stream, (added[-1].header.event_id,), 1, last)

    async def _long_road(self, appends: Sequence[Append], wait: bool, doubt: Doubt) -> Sequence[Settled]:
        """Under locks, as a batch; one by one if that fails, so that no append fails because of others."""
        try:
            return await self._ask_and_write(appends, wait, doubt)
        except LockNotAvailable:
            parts = _by_stream(appends)
            held = [Held(doubt.open)] * len(appends)
            return await self._parted(appends, parts, wait, doubt) if len(parts) > 1 else held
        except Exception as error:  # noqa: BLE001  The error concerns one caller only.
            if len(appends) == 1 or unreachable(error):
                return [Fault(error)] * len(appends)
            doubt.open = doubt.open or leaves_doubt(error)
            return await self._parted(appends, [[position] for position in range(len(appends))], wait, doubt)

    async def _parted(
        self, appends: Sequence[Append], parts: Sequence[Sequence[int]], wait: bool, doubt: Doubt
    ) -> Sequence[Settled]:
        """Part by part, each with the positions of its appends; the outcomes are in the original order."""
        outcomes: dict[int, Settled] = {}
        for part in parts:
            settled = await self._long_road([appends[position] for position in part], wait, doubt)
            outcomes.update(zip(part, settled, strict=True))
        return [outcomes[position] for position in range(len(appends))]

    async def _ask_and_write(self, appends: Sequence[Append], wait: bool, doubt: Doubt) -> Sequence[Outcome]:
        await self._heads.learn({append.stream for append in appends})
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

    def _remember(self, group: Group, written: frozenset[StreamId]) -> None:
        """After the commit: report the events, and cache the tails."""
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
    """Judge the batch and write what may be written; returns the streams written to. Sets its `outcomes`.

    LockNotAvailable if another transaction holds a stream for longer than `patience`.
    """
    async with connection.pipeline(), connection.transaction():
        await connection.execute(query("lock_timeout"), {"patience": patience})
        conflicts = await _ask(connection, group)
        await group.decide(conflicts, clock)
        shredded = group.shred_columns()
        if shredded:
            await connection.execute(query("shred"), shredded)
            await connection.execute(query("shred_streams"), shredded)
        written = await _write(connection, group)
        assert written.issuperset(stream for stream, tail in group.tails.items() if tail.added), "the heads are locked"
    return written


async def _write(connection: Connection, group: Group) -> frozenset[StreamId]:
    rows = group.rows()
    if rows is None:
        return frozenset()
    cursor = await connection.execute(query("write"), rows)
    return frozenset(StreamId(row["tenant"], row["stream"]) for row in await cursor.fetchall())


async def _ask(connection: Connection, group: Group) -> Mapping[int, int]:
    """Lock the batch's heads and read what its guards and keys depend on. Each statement sees what the locks saw."""
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
    # In a partition, Postgres names the index after its columns.
    if len(appends) > 1 or "event_id" not in (error.diag.constraint_name or ""):
        raise error
    return IdempotencyConflict(
        "the log already contains an event with this id", field="event_id", fix="generate a new id"
    )
