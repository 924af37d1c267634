"""Create a backup during writes: one snapshot of the log, related tables and wrapped keys, in one file."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from mnemolog.adapters import keys
from mnemolog.adapters.backup.archive import ANCHORS, ARTIFACTS, MASTER_KEY, ArchiveWriter, Manifest, Member, Progressed
from mnemolog.adapters.blobs.opening import blob_store
from mnemolog.adapters.config import Settings
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.verify.anchor_file import AnchorFile
from mnemolog.domain.errors import InvalidInput

SCHEMAS = ("mnemolog", "mnemolog_keys")
LEFT_OUT = {
    "projections": "what is read is rebuilt from the log when the backup is restored",
    "mnemolog.embeddings": "a cache: it is computed again from the texts",
    "jetstream": "its copies of events, turns that no engine had taken yet, and dead letters",
    "redis": "working memory is rebuilt from the log",
}
NO_KEY = {"master key": "without it nothing in the backup can be read: keep a copy in another place"}
_NOT_COPIED = {"mnemolog.migrations", "mnemolog.embeddings"}

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# The text format of a value depends on these.
_PLAIN = (
    "SELECT set_config('DateStyle', 'ISO, YMD', true), set_config('TimeZone', 'UTC', true),"
    " set_config('bytea_output', 'hex', true), set_config('extra_float_digits', '1', true)"
)
_TABLES = """
SELECT place.nspname AS schema, held.relname AS name, held.reltuples::bigint AS rows,
       array_agg(part.attname ORDER BY part.attnum) AS columns
FROM pg_class AS held JOIN pg_namespace AS place ON place.oid = held.relnamespace
JOIN pg_attribute AS part ON part.attrelid = held.oid AND part.attnum > 0
     AND NOT part.attisdropped AND part.attgenerated = ''
WHERE place.nspname = ANY(%s) AND held.relkind IN ('r', 'p') AND NOT held.relispartition
GROUP BY place.nspname, held.relname, held.reltuples ORDER BY place.nspname DESC, held.relname
"""
_EVENTS = "SELECT count(*) FROM mnemolog.events"
_REVISION = "SELECT version_num FROM mnemolog.migrations"


async def size(postgres_dsn: str) -> int:
    """The number of events to be written, for a progress bar."""
    async with await AsyncConnection.connect(postgres_dsn) as connection:
        [count] = await (await connection.execute(_EVENTS)).fetchone() or [0]
        return int(count)


async def back_up(
    postgres_dsn: str,
    settings: Settings,
    anchors: AnchorFile,
    path: Path,
    now: datetime,
    version: str,
    progressed: Progressed,
    *,
    with_master_key: bool = False,
) -> Manifest:
    """Write the archive; returns its manifest. It contains every write acknowledged before the call.

    `progressed` is called with numbers of events. The transaction only reads, so it blocks nobody.
    """
    with ArchiveWriter.opened(path) as archive:
        members: list[Member] = []
        # Before the snapshot, so that the snapshot contains everything that is anchored here.
        members.append(_whole(archive, ANCHORS, b"".join(line + b"\n" for line in anchors.lines())))
        if with_master_key:
            members.append(_whole(archive, MASTER_KEY, _master_key(settings)))
        async with await AsyncConnection.connect(postgres_dsn, autocommit=True) as connection:
            server = connection.info.parameter_status("server_version") or ""
            await connection.execute(_BEGIN)
            await connection.execute(query("keep_tables"))
            await connection.execute(_PLAIN)
            [revision] = await _one(connection, _REVISION)
            for schema, name, columns in await _tables(connection):
                counted = progressed if name == "events" else _uncounted
                members.append(await _copied(connection, archive, schema, name, columns, counted))
            await connection.execute("COMMIT")
        # After the snapshot, so that every artifact in it is here; those that were erased meanwhile are not.
        blobs = blob_store(settings)
        async for name in blobs.names():
            if (content := await blobs.get(name)) is not None:
                members.append(_whole(archive, f"{ARTIFACTS}{name}", content))
        left_out = LEFT_OUT if with_master_key else {**LEFT_OUT, **NO_KEY}
        manifest = Manifest(now, version, server, revision, members, left_out)
        archive.finish(manifest)
        return manifest


async def _tables(connection: AsyncConnection[Any]) -> Sequence[tuple[str, str, Sequence[str]]]:
    """All tables except those left out; keys first."""
    rows = await (await connection.execute(_TABLES, [list(SCHEMAS)])).fetchall()
    return [(schema, name, columns) for schema, name, _, columns in rows if f"{schema}.{name}" not in _NOT_COPIED]


async def _copied(
    connection: AsyncConnection[Any],
    archive: ArchiveWriter,
    schema: str,
    name: str,
    columns: Sequence[str],
    progressed: Progressed,
) -> Member:
    """Postgres sends one row at a time."""
    # Postgres copies a partitioned table only as the result of a query.
    selected = SQL("SELECT {} FROM {}").format(SQL(", ").join(map(Identifier, columns)), Identifier(schema, name))
    statement = SQL("COPY ({}) TO STDOUT").format(selected)
    with archive.member(f"{schema}.{name}.copy") as writing:
        async with connection.cursor() as cursor, cursor.copy(statement) as copy:
            async for row in copy:
                writing.write(row)
                progressed(1)
    return writing.member(f"{schema}.{name}.copy", schema, name, columns)


def _whole(archive: ArchiveWriter, name: str, content: bytes) -> Member:
    with archive.member(name) as writing:
        writing.write(content)
    return writing.member(name)


def _master_key(settings: Settings) -> bytes:
    if settings.master_key:
        keys.decoded(settings.master_key, field="master_key")
        return settings.master_key.strip().encode() + b"\n"
    try:
        return (settings.directory / MASTER_KEY).read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"the master key cannot be read: {error.strerror}",
            field="master_key",
            fix="make the key readable, or back up without it",
        ) from error


async def _one(connection: AsyncConnection[Any], statement: str) -> tuple[Any, ...]:
    found: tuple[Any, ...] | None = await (await connection.execute(statement.encode())).fetchone()
    if found is None:
        raise psycopg.DataError("no row")
    return found


def _uncounted(count: int) -> None:
    """Only events are counted."""
