"""The event log in Postgres: the EventLog protocol over queries.sql."""

import hmac
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from mnemolog.adapters.postgres.append import GroupAppend, receipt_of
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import EngineError
from mnemolog.events.chain import derived_key
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Header, Receipt, Recorded, StoredEvent, StreamId
from mnemolog.events.log import Append, Head, Outcome

END = 2**62


class PostgresLog:
    """Implements `mnemolog.events.log.EventLog`. `appended` is called after each commit, to wake the relay."""

    def __init__(
        self,
        pool: Pool,
        codec: Codec,
        master_key: bytes,
        now: Callable[[], datetime],
        appended: Callable[[], None] = lambda: None,
    ) -> None:
        self._pool, self._codec, self._now, self._appended = pool, codec, now, appended
        self._chain_key = derived_key(master_key, "chain")
        self._fingerprint_key = derived_key(master_key, "fingerprint")
        self._key_check = hmac.digest(derived_key(master_key, "check"), b"mnemolog", sha256)

    async def require_own_key(self) -> None:
        """Refuse a master key other than the one that this log was begun with: it would chain on with the wrong one."""
        async with self._pool.connection() as connection:
            await connection.execute(query("keep_master_key"), {"mac": self._key_check})
        [row] = await self._rows("read_master_key")
        if not hmac.compare_digest(bytes(row["mac"]), self._key_check):
            raise EngineError(
                "this log was written with another master key",
                field="master_key",
                fix="give the key it was begun with: master.key of its data directory, or MNEMOLOG_MASTER_KEY",
            )

    async def append(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        """One transaction; durable when it returns (synchronous_commit is on)."""
        group = GroupAppend(self._codec, self._chain_key, self._fingerprint_key, appends, self._now)
        async with self._pool.connection() as connection, connection.transaction():
            await group.run(connection)
        self._appended()
        return group.outcomes()

    async def receipt(self, stream: StreamId, idempotency_key: str, fingerprint: bytes) -> Receipt | None:
        rows = await self._rows("find_receipts", tenants=[stream.tenant], streams=[stream.name], keys=[idempotency_key])
        keyed = hmac.digest(self._fingerprint_key, fingerprint, sha256)
        return receipt_of(rows[0], keyed) if rows else None

    async def read(
        self, stream: StreamId, *, after: int = 0, until: int | None = None, tags: Collection[str] = ()
    ) -> Sequence[Recorded]:
        if tags:
            wanted: dict[str, Any] = {"tags": sorted(tags)}
            rows = await self._rows("read_tagged", **_place(stream, after, until), **wanted)
        else:
            rows = await self._rows("read_stream", **_place(stream, after, until), batch=None)
        return [self._codec.decode(stored(row)) for row in rows]

    async def find(self, stream: StreamId, event_id: UUID) -> Recorded | None:
        rows = await self._rows("find_event", tenant=stream.tenant, stream=stream.name, event_id=event_id)
        return self._codec.decode(stored(rows[0])) if rows else None

    async def head(self, stream: StreamId) -> int:
        rows = await self._rows("read_head", tenant=stream.tenant, stream=stream.name)
        return int(rows[0]["seq"]) if rows else 0

    async def seq_at(self, stream: StreamId, at: datetime) -> int:
        """The last seq of a stream that was recorded at or before `at`."""
        [row] = await self._rows("seq_at", tenant=stream.tenant, stream=stream.name, at=at)
        return int(row["seq"])

    async def scan(
        self, stream: StreamId, *, after: int = 0, until: int | None = None, batch: int = 1000
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        while rows := await self._rows("read_stream", **_place(stream, after, until), batch=batch):
            yield [stored(row) for row in rows]
            after = rows[-1]["seq"]

    async def decode(self, stored: Sequence[StoredEvent]) -> Sequence[Recorded]:
        return [self._codec.decode(event) for event in stored]

    async def heads(self, batch: int = 1000) -> AsyncIterator[Sequence[Head]]:
        last = StreamId("", "")
        while rows := await self._rows("scan_heads", tenant=last.tenant, stream=last.name, batch=batch):
            yield [Head(StreamId(row["tenant"], row["stream"]), row["seq"]) for row in rows]
            last = StreamId(rows[-1]["tenant"], rows[-1]["stream"])

    async def counts(self) -> Mapping[str, int]:
        """How many events of each type the log holds."""
        return {row["type"]: row["count"] for row in await self._rows("count_events")}

    async def _rows(self, name: str, **values: Any) -> list[dict[str, Any]]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query(name), values)
            return await cursor.fetchall()


def stored(row: Mapping[str, Any]) -> StoredEvent:
    """A row of mnemolog.events as it stands."""
    header = Header(
        StreamId(row["tenant"], row["stream"]),
        row["seq"],
        row["event_id"],
        row["type"],
        row["version"],
        tuple(row["tags"]),
        row["meta"],
        row["occurred_at"],
        row["recorded_at"],
    )
    return StoredEvent(header, bytes(row["data"]), bytes(row["link"]))


def _place(stream: StreamId, after: int, until: int | None) -> dict[str, Any]:
    return {"tenant": stream.tenant, "stream": stream.name, "after": after, "until": END if until is None else until}
