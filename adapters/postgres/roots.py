"""The root keys, from which all other keys are derived or wrapped; wrapped by the master key (design §7)."""

import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection as SyncConnection
from sqlalchemy import text

from mnemolog.adapters.encryption import ID_BYTES, KEY_BYTES, RandomBytes, place, unwrapped, wrapped
from mnemolog.adapters.postgres.lease import RELAY
from mnemolog.adapters.postgres.pool import Connection, Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import DataDirectoryInUse, EngineError, MalformedEvent
from mnemolog.events.chain import derived_key
from mnemolog.events.envelope import StreamId

INTEGRITY, WRAPPING = "integrity", "wrapping"
REWRAPPED_AT_ONCE = 1000


@dataclass(frozen=True)
class Roots:
    """The secrets of a running deployment: `integrity` derives the keys of chain, wire, rows and anchors.

    `wrapping` has the keys that wrap stream keys, by id; new ones are wrapped with `current`. `readable`: the log is
    older than its roots, and may contain unencrypted personal text.
    """

    integrity: bytes = field(repr=False)
    wrapping: Mapping[bytes, bytes] = field(repr=False)
    current: bytes
    random_bytes: RandomBytes = field(repr=False)
    readable: bool = False

    def derived(self, purpose: str) -> bytes:
        """The integrity key for one purpose, such as `chain`; 32 bytes."""
        return derived_key(self.integrity, purpose)

    @property
    def log_id(self) -> str:
        """Identifies this log, and reveals nothing about its keys."""
        return self.derived("log id").hex()[:16]

    def wrapping_key(self, root_id: bytes) -> bytes:
        if root_id not in self.wrapping:
            raise EngineError(
                "a key is wrapped by a root key that this engine does not know",
                field="master_key",
                fix="the master key was rotated: restart the engine with the new one",
            )
        return self.wrapping[root_id]


async def open_roots(pool: Pool, master_key: bytes, random_bytes: RandomBytes) -> Roots:
    """The roots of this log, created if it has none; EngineError if they are wrapped with another master key."""
    async with pool.connection() as connection:
        if not await _roots(connection):
            await _begin(connection, master_key, random_bytes)
        rows = await _roots(connection)
        readable = bool(await (await connection.execute(query("read_master_key"))).fetchall())
    opened = {bytes(row["key_id"]): _opened(row, master_key) for row in rows}
    wrapping = {bytes(row["key_id"]): opened[bytes(row["key_id"])] for row in rows if row["purpose"] == WRAPPING}
    [integrity] = [opened[bytes(row["key_id"])] for row in rows if row["purpose"] == INTEGRITY]
    return Roots(integrity, wrapping, list(wrapping)[-1], random_bytes, readable)


def require_master_key(connection: SyncConnection, master_key: bytes) -> None:
    """EngineError if this database has a log that was written with another master key; it may have none yet."""
    if connection.execute(text("SELECT to_regclass('mnemolog_keys.roots')")).scalar():
        rows = connection.execute(text(query("read_roots").decode())).mappings()
        require_opened(map(dict, rows), master_key)


def require_opened(rows: Iterable[Mapping[str, Any]], master_key: bytes) -> None:
    """EngineError if these roots are wrapped with another master key."""
    for row in rows:
        _opened(row, master_key)


async def rotate(
    pool: Pool,
    master_key: bytes,
    new_master_key: bytes,
    random_bytes: RandomBytes,
    progressed: Callable[[int, int], None] = lambda done, left: None,
) -> int:
    """Rewrap the roots with the new master key, and every stream key with a new root; returns their number.

    No engine may run on this database: DataDirectoryInUse if one leads its relay. The first step is one transaction,
    after which the old master key is useless for this database. After an interruption, call it again with the new key
    as both. A writer that was overlooked cannot use the deleted root: its append is refused.
    """
    async with pool.connection() as holding:
        [row] = await (await holding.execute(query("lead"), {"name": RELAY})).fetchall()
        if not row["leads"]:
            raise DataDirectoryInUse(
                "an engine runs on this database", field="postgres_url", fix="stop it first; it may run on another host"
            )
        try:
            if master_key != new_master_key:
                await _rewrap_roots(pool, await open_roots(pool, master_key, random_bytes), new_master_key)
            return await _rewrap(pool, await open_roots(pool, new_master_key, random_bytes), progressed)
        finally:
            await holding.execute(query("unlead"), {"name": RELAY})


async def _rewrap_roots(pool: Pool, roots: Roots, new_master_key: bytes) -> None:
    async with pool.connection() as connection, connection.transaction():
        for row in await _roots(connection):
            key_id = bytes(row["key_id"])
            key = roots.wrapping.get(key_id, roots.integrity)
            box = _wrapped(row["purpose"], key_id, key, new_master_key, roots.random_bytes)
            await connection.execute(query("rewrap_root"), {"key_id": key_id, "wrapped": box})
        await _write_root(connection, WRAPPING, roots.random_bytes(KEY_BYTES), new_master_key, roots.random_bytes)


async def _rewrap(pool: Pool, roots: Roots, progressed: Callable[[int, int], None]) -> int:
    done = 0
    while True:
        async with pool.connection() as connection, connection.transaction():
            cursor = await connection.execute(
                query("stale_stream_keys"), {"root_id": roots.current, "batch": REWRAPPED_AT_ONCE}
            )
            rows = await cursor.fetchall()
            if not rows:
                await connection.execute(query("forget_stale_roots"), {"root_id": roots.current})
                return done
            async with connection.cursor() as writer:
                await writer.executemany(query("rewrap_stream_key"), [_rewrapped(roots, row) for row in rows])
        done += len(rows)
        progressed(len(rows), rows[0]["left_over"])


def _rewrapped(roots: Roots, row: Mapping[str, Any]) -> dict[str, Any]:
    stream, root_id = StreamId(row["tenant"], row["stream"]), bytes(row["root_id"])
    key = unwrapped(roots.wrapping_key(root_id), bytes(row["wrapped"]), place(stream, "", root_id))
    context = place(stream, "", roots.current)
    box = wrapped(roots.wrapping_key(roots.current), key, context, roots.random_bytes)
    return {"tenant": stream.tenant, "stream": stream.name, "root_id": roots.current, "wrapped": box}


async def _roots(connection: Connection) -> list[dict[str, Any]]:
    return await (await connection.execute(query("read_roots"))).fetchall()


async def _begin(connection: Connection, master_key: bytes, random_bytes: RandomBytes) -> None:
    """Create the roots, once: a log from before there were any keeps the keys that it was chained with."""
    async with connection.transaction():
        await connection.execute(query("lock_roots"))
        if await _roots(connection):
            return
        checks = await (await connection.execute(query("read_master_key"))).fetchall()
        for row in checks:
            if not hmac.compare_digest(bytes(row["mac"]), _check(master_key)):
                raise _other_key()
        if not checks and (await (await connection.execute(query("count_events"))).fetchall()):
            raise EngineError(
                "this log has events but no keys: mnemolog_keys.roots is empty",
                field="mnemolog_keys",
                fix="restore the schema mnemolog_keys from a backup; new keys cannot decrypt existing data",
            )
        integrity = master_key if checks else random_bytes(KEY_BYTES)
        await _write_root(connection, INTEGRITY, integrity, master_key, random_bytes)
        await _write_root(connection, WRAPPING, random_bytes(KEY_BYTES), master_key, random_bytes)


async def _write_root(
    connection: Connection, purpose: str, key: bytes, master_key: bytes, random_bytes: RandomBytes
) -> None:
    key_id = random_bytes(ID_BYTES)
    box = _wrapped(purpose, key_id, key, master_key, random_bytes)
    await connection.execute(query("insert_root"), {"key_id": key_id, "purpose": purpose, "wrapped": box})


def _wrapped(purpose: str, key_id: bytes, key: bytes, master_key: bytes, random_bytes: RandomBytes) -> bytes:
    return wrapped(derived_key(master_key, "roots"), key, _context(purpose, key_id), random_bytes)


def _opened(row: Mapping[str, Any], master_key: bytes) -> bytes:
    context = _context(row["purpose"], bytes(row["key_id"]))
    try:
        return unwrapped(derived_key(master_key, "roots"), bytes(row["wrapped"]), context)
    except MalformedEvent as error:
        raise _other_key() from error


def _context(purpose: str, key_id: bytes) -> bytes:
    return f"{purpose} {key_id.hex()}".encode()


def _check(master_key: bytes) -> bytes:
    """What logs from before there were roots stored to identify their master key."""
    return hmac.digest(derived_key(master_key, "check"), b"mnemolog", sha256)


def _other_key() -> EngineError:
    return EngineError(
        "this log was written with another master key",
        field="master_key",
        fix="use its original key: master.key in its data directory, or MNEMOLOG_MASTER_KEY",
    )
