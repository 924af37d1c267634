"""Checks the log: chain, heads, tag index, keys; page by page in bounded memory."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from psycopg import IsolationLevel

from mnemolog.adapters.postgres.cancellable import server_cursor
from mnemolog.adapters.postgres.chained import stored
from mnemolog.adapters.postgres.pool import WHOLE_TABLES, Connection, Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part, Report
from mnemolog.adapters.verify.key_check import KeyCheck
from mnemolog.adapters.verify.stream_walk import StreamWalk, Unfit
from mnemolog.domain.errors import KeyMissing
from mnemolog.events.chain import START
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StreamId

HERE = "mnemolog.adapters.verify"
STREAMS = 500
EVENTS = 2000
TAGS = 1000

Row = Mapping[str, Any]


class LogCheck:
    """`run` walks every event, or those of one stream; events that do not match their link are left in `unfit`."""

    def __init__(
        self, pool: Pool, roots: Roots, codec: Codec, report: Report, progressed: Callable[[int], None]
    ) -> None:
        self._pool, self._report, self._progressed = pool, report, progressed
        self._chain_key, self._keys = roots.derived("chain"), KeyCheck(roots, codec, report)
        self.unfit: list[Unfit] = []

    async def run(self, only: StreamId | None = None) -> None:
        last: Row | None = {"tenant": "", "stream": ""}
        while last is not None:
            async with snapshot(self._pool) as connection:
                last = await self._page(connection, last, only)
        async with snapshot(self._pool) as connection:
            await self._without_head(connection, only)
            for row in await fetch(connection, "stray_receipts", limit=TAGS, **named(only)):
                detail = f"the receipt of {row['idempotency_key']!r} names events that are not there"
                stream = StreamId(row["tenant"], row["stream"])
                self._report.add(Damage(Part.RECEIPT, DamageKind.CHANGED, stream, detail, row["last_seq"]))

    async def streams(self, streams: Sequence[StreamId]) -> None:
        """Check the chain, the index and the keys of some streams."""
        columns = {"tenants": [one.tenant for one in streams], "streams": [one.name for one in streams]}
        async with snapshot(self._pool) as connection:
            heads = await fetch(connection, "heads_of", **columns)
            await self._walk(connection, {StreamId(row["tenant"], row["stream"]): row for row in heads})

    async def _page(self, connection: Connection, after: Row, only: StreamId | None) -> Row | None:
        place = {"tenant": after["tenant"], "stream": after["stream"], "batch": STREAMS, **named(only)}
        heads = await fetch(connection, "page_of_heads", **place)
        if not heads:
            return None
        await self._walk(connection, {StreamId(row["tenant"], row["stream"]): row for row in heads})
        return heads[-1]

    async def _without_head(self, connection: Connection, only: StreamId | None) -> None:
        """A stream that lost its head still has a chain; index entries without a stream are orphans."""
        rows = await fetch(connection, "headless", **named(only))
        streams = [StreamId(row["tenant"], row["stream"]) for row in rows]
        for stream in streams:
            self._report.add(Damage(Part.HEAD, DamageKind.REMOVED, stream, "the stream has events and no head"))
        for row in await fetch(connection, "stray_tags", limit=TAGS, **named(only)):
            if (stream := StreamId(row["tenant"], row["stream"])) not in streams:
                detail = f"the index holds {row['tag']!r} for a stream that has no head"
                self._report.add(Damage(Part.TAG, DamageKind.FORGED, stream, detail, row["seq"]))
        if streams:
            await self._walk(connection, dict.fromkeys(streams))

    async def _walk(self, connection: Connection, heads: Mapping[StreamId, Row | None]) -> None:
        columns = {"tenants": [one.tenant for one in heads], "streams": [one.name for one in heads]}
        walks: dict[StreamId, StreamWalk] = {}
        walk: StreamWalk | None = None
        # Also closed when the walk is cancelled: the connection is returned to its pool.
        async with aclosing(_batches(connection, columns)) as batches:
            async for rows in batches:
                for event in map(stored, rows):
                    if walk is None or walk.stream != event.header.stream:
                        walk = walks[event.header.stream] = StreamWalk(
                            event.header.stream, self._chain_key, self._report
                        )
                    walk.take(event)
                await self._keys.take(connection, [stored(row) for row in rows])
                self._report.events += len(rows)
                self._progressed(len(rows))
        await self._keys.finish(connection)
        for stream, head in heads.items():
            self._end(stream, head, walks.get(stream))
        for row in await fetch(connection, "differing_tags", **columns, limit=TAGS):
            what = "lacks" if row["missing"] else "holds, and the event does not,"
            stream, detail = StreamId(row["tenant"], row["stream"]), f"the index {what} {row['tag']!r}"
            if not self._report.log_damaged(stream):
                kind = DamageKind.REMOVED if row["missing"] else DamageKind.FORGED
                self._report.add(Damage(Part.TAG, kind, stream, detail, row["seq"]))

    def _end(self, stream: StreamId, head: Row | None, walk: StreamWalk | None) -> None:
        if walk:
            self.unfit += walk.unfit
        if head is None:
            return
        seq, link = (walk.seq, walk.link) if walk else (0, START)
        if head["seq"] > seq:
            detail = f"the head says {head['seq']}, the last event is {seq}"
            self._report.add(Damage(Part.EVENT, DamageKind.TAIL_CUT, stream, detail, seq + 1))
        elif head["seq"] < seq:
            detail = f"events up to {seq} stand after the head, which says {head['seq']}"
            self._report.add(Damage(Part.HEAD, DamageKind.CHANGED, stream, detail, seq))
        elif bytes(head["link"]) != link or (walk and head["recorded_at"] != walk.recorded_at):
            self._report.add(Damage(Part.HEAD, DamageKind.CHANGED, stream, "the head is not its last event's", seq))


async def require_keys(pool: Pool, roots: Roots, streams: Sequence[StreamId]) -> None:
    """KeyMissing if a text of these streams cannot be decrypted and no event erased it."""
    report = Report()
    await LogCheck(pool, roots, Codec(), report, lambda count: None).streams(streams)
    for one in report.damages:
        if one.part is Part.KEY:
            raise KeyMissing(str(one.stream), one.seq, one.detail, one.event_id)


def named(only: StreamId | None) -> dict[str, str | None]:
    return {"only_tenant": only.tenant if only else None, "only_stream": only.name if only else None}


@asynccontextmanager
async def snapshot(pool: Pool) -> AsyncIterator[Connection]:
    """A connection with one snapshot, without concurrent appends. It may join whole tables."""
    async with pool.connection() as connection:
        await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        try:
            async with connection.transaction():
                await connection.execute(query("keep_tables"))
                await connection.execute(WHOLE_TABLES)
                yield connection
        finally:
            await connection.set_isolation_level(None)


async def fetch(connection: Connection, name: str, **values: Any) -> list[dict[str, Any]]:
    return await (await connection.execute(query(name, HERE), values)).fetchall()


async def _batches(connection: Connection, columns: dict[str, list[str]]) -> AsyncGenerator[Sequence[Row]]:
    async with server_cursor(connection, "mnemolog_verify") as cursor:
        await cursor.execute(query("page_of_events", HERE), columns)
        while rows := await cursor.fetchmany(EVENTS):
            yield rows
