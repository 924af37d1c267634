"""Restore a backup into an empty directory or database, rebuild and verify it; on failure, leave no trace."""

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from mnemolog.adapters import keys
from mnemolog.adapters.background.attaching import data_directory
from mnemolog.adapters.backup.archive import ANCHORS, ARTIFACTS, MASTER_KEY, ArchiveReader, Manifest, Member, Progressed
from mnemolog.adapters.blobs.opening import blob_store
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded.data_directory import write_privately
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.engine.starting import RESTORING, attached_or_started, require_restored
from mnemolog.adapters.postgres.migrate import is_known, migrate
from mnemolog.adapters.postgres.roots import require_opened
from mnemolog.adapters.verify.anchor_file import FORMER, AnchorFile
from mnemolog.adapters.verify.damage import Report
from mnemolog.domain.errors import Conflict, InvalidInput

ROOTS = ("mnemolog_keys", "roots")
_OURS = "SELECT nspname FROM pg_namespace WHERE nspname = 'mnemolog' OR starts_with(nspname, 'mnemolog_')"
_ROOTS = "SELECT key_id, purpose, wrapped FROM mnemolog_keys.roots"
_GO_ON = """
SELECT setval(pg_get_serial_sequence('mnemolog.outbox', 'id'), coalesce(max(id), 0) + 1, false) FROM mnemolog.outbox
"""

# A progress bar for a step: its name and its size.
Bar = Callable[[str, int], AbstractContextManager[Progressed]]


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored, and the result of verifying it."""

    manifest: Manifest
    report: Report

    def as_dict(self) -> dict[str, Any]:
        return {
            "taken_at": self.manifest.taken_at.isoformat(),
            "events": self.manifest.count("events"),
            "streams": self.manifest.count("heads"),
            "left_out": self.manifest.left_out,
            "clean": self.report.clean,
            "verified": self.report.as_dict(),
        }


async def restore(settings: Settings, path: Path, bar: Bar) -> Restored:
    """Check the file, load it, rebuild every projection, and verify. A failure before that leaves nothing behind.

    Anchors that are newer than the backup are overridden by an anchor that records the restore.
    """
    with ArchiveReader.opened(path) as archive:
        require_restored(settings)
        _require_empty(settings)
        master_key = _master_key(settings, archive)
        with bar("checking", archive.manifest.size) as progressed:
            await asyncio.to_thread(archive.check, progressed)
        if not is_known(archive.manifest.revision):
            raise InvalidInput(
                f"was made by Mnemolog {archive.manifest.mnemolog}, which is newer",
                field="file",
                fix="restore it with that version, or a newer one",
            )
        before = set(_entries(settings.directory))
        loading = data_directory(settings) / RESTORING
        async with AsyncExitStack() as stack:
            try:
                loading.touch()
                await _load(settings, archive, master_key, bar)
                blobs = blob_store(settings)
                for member in archive.manifest.artifacts:
                    await blobs.put(member.name.removeprefix(ARTIFACTS), b"".join(archive.chunks(member)))
                _place(settings, archive)
                engine = await stack.enter_async_context(open_engine(settings, passive=True, restoring=True))
                await engine.anchoring.begin(accept=True)
                await engine.anchoring.flush()
                loading.unlink()  # From here on an engine starts; if this one is killed, it rebuilds what is left.
            except BaseException:
                await stack.aclose()
                for name in set(_entries(settings.directory)) - before:
                    entry = settings.directory / name
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
                raise
            await _rebuild(engine, bar)
            with bar("verifying", await engine.verifier.size()) as progressed:
                report = await engine.verifier.verify(progressed=progressed)
        return Restored(archive.manifest, report)


def _require_empty(settings: Settings) -> None:
    found = [name for name in _entries(settings.directory) if name != MASTER_KEY]
    if found and settings.postgres_url is None:
        raise Conflict(
            f"{settings.directory} is not empty: it contains {', '.join(sorted(found)[:5])}",
            field="data_dir",
            fix="restore into a new directory; only master.key may be in it",
        )


def _entries(directory: Path) -> Sequence[str]:
    return os.listdir(directory) if directory.exists() else []


def _master_key(settings: Settings, archive: ArchiveReader) -> bytes:
    """The key configured here, else the archive's own. A newly created one would decrypt nothing."""
    file = settings.directory / MASTER_KEY
    if settings.master_key:
        return keys.decoded(settings.master_key, field="master_key")
    if file.exists():
        return keys.from_file(file)
    inside = archive.content(MASTER_KEY)
    if inside is None:
        raise InvalidInput(
            "the master key is not in this backup",
            field="master_key",
            fix=f"copy your master.key to {settings.directory}, or set MNEMOLOG_MASTER_KEY",
        )
    return keys.decoded(inside.decode("ascii"), field="master_key")


async def _load(settings: Settings, archive: ArchiveReader, master_key: bytes, bar: Bar) -> None:
    async with AsyncExitStack() as stack:
        _, endpoints = await attached_or_started(stack, settings)
        if endpoints.split:
            async with await AsyncConnection.connect(endpoints.projections_dsn) as connection:
                await _require_new(connection, "projections_url")
        async with await AsyncConnection.connect(endpoints.postgres_dsn, autocommit=True) as connection:
            await _require_new(connection, "postgres_url")
            try:
                await asyncio.to_thread(migrate, endpoints.postgres_dsn, archive.manifest.revision)
                async with connection.transaction():
                    # The roots come first, so that a wrong master key fails early.
                    tables = sorted(archive.manifest.tables, key=lambda one: (one.schema, one.table) != ROOTS)
                    with bar("loading", sum(one.bytes for one in tables)) as progressed:
                        for member in tables:
                            await _load_table(connection, archive, member, progressed)
                            if (member.schema, member.table) == ROOTS:
                                async with connection.cursor(row_factory=dict_row) as cursor:
                                    require_opened(await (await cursor.execute(_ROOTS)).fetchall(), master_key)
                    await connection.execute(_GO_ON)
                await asyncio.to_thread(migrate, endpoints.postgres_dsn)
            except BaseException:
                for [name] in await (await connection.execute(_OURS)).fetchall():
                    await connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(name)))
                raise


async def _require_new(connection: AsyncConnection[Any], setting: str) -> None:
    there = [row[0] for row in await (await connection.execute(_OURS)).fetchall()]
    if there:
        raise Conflict(
            f"the database is not empty: it has the schema {there[0]}",
            field=setting,
            fix="restore into a new database",
        )


async def _load_table(
    connection: AsyncConnection[Any], archive: ArchiveReader, member: Member, progressed: Progressed
) -> None:
    place = Identifier(member.schema, member.table)
    emptied, columns = SQL("DELETE FROM {}").format(place), SQL(", ").join(map(Identifier, member.columns))
    if member.table != "events":
        await connection.execute(emptied)  # Rows that a migration inserted.
    async with connection.cursor() as cursor:
        async with cursor.copy(SQL("COPY {} ({}) FROM STDIN").format(place, columns)) as copy:
            for chunk in archive.chunks(member):
                await copy.write(chunk)
                progressed(len(chunk))
        if cursor.rowcount != member.rows:
            raise InvalidInput(
                f"is damaged: {member.table} has {cursor.rowcount:,} rows instead of {member.rows:,}",
                field="file",
                fix="restore another backup; nothing was changed",
            )


def _place(settings: Settings, archive: ArchiveReader) -> None:
    """Put the master key where the engine looks for it, and the anchors if there are none yet."""
    key = archive.content(MASTER_KEY)
    file = settings.directory / MASTER_KEY
    if key and not settings.master_key and not file.exists():
        settings.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_privately(file, key.decode("ascii"))
    lines = (archive.content(ANCHORS) or b"").splitlines()
    anchors = settings.anchor_file or settings.directory / FORMER
    if lines and not anchors.exists():
        AnchorFile(anchors).append(lines)


async def _rebuild(engine: Engine, bar: Bar) -> None:
    projections = engine.projections
    stores = list(projections.stores.values())
    with bar("rebuilding", await projections.size() * len(stores)) as progressed:
        await projections.fill(stores, progressed=progressed)
    if engine.settings.redis_url:  # It may hold sessions from another time.
        await projections.rebuild(projections.working.name)
