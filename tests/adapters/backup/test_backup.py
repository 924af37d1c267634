"""Backups: taken while writing goes on, restored into an empty place, whole or not at all (X23)."""

import asyncio
import errno
import json
import os
import shutil
import stat
import sys
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import AsyncMock

import psycopg
import pytest

import mnemolog
from mnemolog.adapters.backup import restoring
from mnemolog.adapters.backup.archive import MASTER_KEY, ArchiveReader, ArchiveWriter, Manifest, Progressed
from mnemolog.adapters.backup.backing_up import back_up
from mnemolog.adapters.backup.restoring import Restored, restore
from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.engine.starting import RESTORING
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.commands.erasure import EraseMemory
from mnemolog.domain.errors import Conflict, EngineError, InvalidInput
from mnemolog.events.envelope import Receipt
from tests.engine.person import Person
from tests.engine.story import tell

WRITERS = 4


@contextmanager
def silent(label: str, total: int) -> Iterator[Progressed]:
    yield lambda count: None


@dataclass
class Taken:
    """A backup of an engine whose writers went on, and what they knew when it began."""

    file: Path
    manifest: Manifest
    ana: Person
    told: dict[str, object]
    secret: str
    before: list[Receipt] = field(default_factory=list)
    after: list[Receipt] = field(default_factory=list)


@pytest.fixture(scope="module")
async def source(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    async with open_engine(settings_in(tmp_path_factory.mktemp("source"))) as opened:
        yield opened


@pytest.fixture(scope="module")
async def taken(source: Engine, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    ana = Person(source, "ana")
    await tell(ana)
    gone = await ana.creates("Ana hid the key under the pear tree")
    await erase(source, EraseMemory(user_id="ana", memory_id=gone))
    told = await ana.everything(await ana.caught_up())
    file = tmp_path_factory.mktemp("backup") / "today.mnemolog"
    found = Taken(file, None, ana, told, "pear tree")  # type: ignore[arg-type]
    began, ended = asyncio.Event(), asyncio.Event()

    async def writes(number: int) -> None:
        writer = Person(source, f"writer-{number}")
        while not ended.is_set():
            receipt = await writer.says(f"word {len(found.before)} of {number}")
            (found.after if began.is_set() else found.before).append(receipt)

    writers = [asyncio.create_task(writes(number)) for number in range(WRITERS)]
    while len(found.before) < 5 * WRITERS:  # noqa: ASYNC110  Four tasks count, and each knows of its own.
        await asyncio.sleep(0.01)
    began.set()
    found.manifest = await taken_by(source, file)
    ended.set()
    await asyncio.gather(*writers)
    return found


@pytest.fixture(scope="module")
async def restored(source: Engine, taken: Taken, tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Restored]:
    directory = tmp_path_factory.mktemp("restored") / "data"
    directory.mkdir()
    shutil.copy(source.settings.directory / MASTER_KEY, directory)
    settings = settings_in(directory)
    return settings, await restore(settings, taken.file, silent)


@pytest.mark.spec("X23")
async def test_a_restored_engine_holds_every_write_that_was_acknowledged_before_the_backup(
    taken: Taken, restored: tuple[Settings, Restored]
) -> None:
    settings, found = restored
    assert found.report.clean, found.report.as_dict()
    assert found.manifest.count("events") == taken.manifest.count("events")

    async with open_engine(settings) as engine:
        await engine.settled()
        for receipt in taken.before:
            events = await engine.log.read(receipt.stream, after=receipt.first_seq - 1, until=receipt.last_seq)
            assert tuple(event.event_id for event in events) == receipt.event_ids
        ana = Person(engine, "ana")
        assert await ana.everything() == taken.told
        # It goes on, and a retry of what was written before is known as one.
        await ana.creates("Ana was restored")
        await engine.settled()
        assert (await engine.verifier.verify()).clean


async def test_a_backup_tells_what_it_holds_and_leaves_out_and_is_its_owners_alone(taken: Taken) -> None:
    assert stat.S_IMODE(taken.file.stat().st_mode) == 0o600
    assert not taken.manifest.has_master_key
    assert {"projections", "mnemolog.embeddings", "jetstream", "redis", "master key"} <= taken.manifest.left_out.keys()
    tables = {f"{one.schema}.{one.table}" for one in taken.manifest.tables}
    assert {"mnemolog.events", "mnemolog.receipts", "mnemolog.heads", "mnemolog_keys.roots"} <= tables
    assert "mnemolog.embeddings" not in tables
    with zipfile.ZipFile(taken.file) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    assert b"pear tree" not in everything
    assert b"Lisbon" not in everything, "what is personal is sealed"


async def test_every_table_of_the_log_is_in_a_backup_or_is_named_as_left_out(source: Engine, taken: Taken) -> None:
    tables = {(one.schema, one.table) for one in taken.manifest.tables}
    async with await psycopg.AsyncConnection.connect(source.endpoints.postgres_dsn) as connection:
        found = await connection.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('mnemolog', 'mnemolog_keys')"
        )
        there = set(await found.fetchall())
    assert there - tables == {("mnemolog", "embeddings"), ("mnemolog", "migrations")}


async def test_a_damaged_archive_is_refused_and_leaves_nothing(taken: Taken, tmp_path: Path) -> None:
    key = taken.ana.engine.settings.directory / MASTER_KEY
    content = taken.file.read_bytes()
    damaged = {
        "cut": content[: len(content) // 2],
        "flipped": _flipped(content, len(content) // 3),
        "no zip": b"no zip at all",
        "empty": b"",
    }
    for name, bytes_ in damaged.items():
        directory, file = tmp_path / name, tmp_path / f"{name}.mnemolog"
        directory.mkdir()
        shutil.copy(key, directory)
        file.write_bytes(bytes_)
        with pytest.raises(InvalidInput, match="is damaged: ") as refused:
            await restore(settings_in(directory), file, silent)
        assert refused.value.field == "file"
        assert [one.name for one in directory.iterdir()] == [MASTER_KEY]


async def test_a_member_that_was_exchanged_is_refused(taken: Taken, tmp_path: Path) -> None:
    key = taken.ana.engine.settings.directory / MASTER_KEY
    shutil.copy(key, tmp_path / MASTER_KEY)
    changed = tmp_path.parent / f"{tmp_path.name}.mnemolog"
    with zipfile.ZipFile(taken.file) as archive, zipfile.ZipFile(changed, "w") as out:
        for name in archive.namelist():
            content = archive.read(name)
            out.writestr(name, content.replace(b"default", b"defauld", 1) if "heads" in name else content)

    with pytest.raises(InvalidInput, match=r"mnemolog\.heads\.copy was changed after it was written"):
        await restore(settings_in(tmp_path), changed, silent)


async def test_a_backup_of_a_newer_version_is_refused(taken: Taken, tmp_path: Path) -> None:
    shutil.copy(taken.ana.engine.settings.directory / MASTER_KEY, tmp_path / MASTER_KEY)
    newer = tmp_path.parent / f"{tmp_path.name}.mnemolog"
    with zipfile.ZipFile(taken.file) as archive, zipfile.ZipFile(newer, "w") as out:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "manifest.json":
                content = json.dumps({**json.loads(content), "revision": "9999"}).encode()
            out.writestr(name, content)

    with pytest.raises(InvalidInput, match="which is newer"):
        await restore(settings_in(tmp_path), newer, silent)


@pytest.mark.parametrize("held", ["postgres", "notes.txt"])
async def test_a_directory_that_holds_anything_is_refused(taken: Taken, tmp_path: Path, held: str) -> None:
    (tmp_path / held).touch()

    with pytest.raises(Conflict, match="is not empty"):
        await restore(settings_in(tmp_path), taken.file, silent)


async def test_without_the_master_key_nothing_is_begun(taken: Taken, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not in this backup") as refused:
        await restore(settings_in(tmp_path / "data"), taken.file, silent)

    assert refused.value.field == "master_key"
    assert not (tmp_path / "data").exists()


async def test_another_master_key_is_reported_and_the_directory_unchanged(taken: Taken, tmp_path: Path) -> None:
    other = settings_in(tmp_path, master_key="MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")

    with pytest.raises(EngineError, match="another master key"):
        await restore(other, taken.file, silent)

    assert os.listdir(tmp_path) == []


async def test_a_file_that_is_there_is_not_written_over(source: Engine, taken: Taken) -> None:
    before = taken.file.read_bytes()

    with pytest.raises(InvalidInput, match="already exists"):
        await taken_by(source, taken.file)

    assert taken.file.read_bytes() == before


async def test_a_file_system_without_links_takes_a_backup(
    source: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    await taken_by(source, tmp_path / "backup.zip")

    assert os.listdir(tmp_path) == ["backup.zip"]
    with ArchiveReader.opened(tmp_path / "backup.zip") as archive:
        archive.check(lambda _: None)


async def test_what_a_killed_backup_left_is_removed_by_the_next_one_and_not_what_is_being_written(
    source: Engine, tmp_path: Path
) -> None:
    script = (
        "import os, pathlib, sys; from mnemolog.adapters.backup.archive import ArchiveWriter\n"
        "with ArchiveWriter.opened(pathlib.Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    file, others = tmp_path / "backup[1].zip", "backup[1].zip.12345678.part.txt"
    (tmp_path / others).write_text("of somebody else")
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script, file)
    await killed.wait()
    [left] = set(os.listdir(tmp_path)) - {others}
    assert left.endswith(".part")

    with ArchiveWriter.opened(file):
        [draft] = set(os.listdir(tmp_path)) - {others}
        assert draft != left
        await taken_by(source, file)
        assert set(os.listdir(tmp_path)) == {draft, file.name, others}
        file.unlink()

    assert set(os.listdir(tmp_path)) == {file.name, others}


async def test_a_restore_that_was_killed_leaves_no_empty_log(
    taken: Taken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, killed, whole = tmp_path / "own.mnemolog", settings_in(tmp_path / "killed"), settings_in(tmp_path / "whole")
    await taken_by(taken.ana.engine, file, with_master_key=True)
    place = restoring._place

    def placed(settings: Settings, archive: ArchiveReader) -> None:
        shutil.copytree(settings.directory, killed.directory)
        place(settings, archive)

    monkeypatch.setattr(restoring, "_place", placed)
    await restore(whole, file, silent)

    for opening in (open_engine(killed), open_engine(killed, attach=True)):
        with pytest.raises(EngineError, match="has not ended, or was killed"):
            async with opening:
                pass
    with pytest.raises(EngineError, match="has not ended, or was killed"):
        await restore(killed, file, silent)
    assert not (whole.directory / RESTORING).exists()


@pytest.mark.spec("X23", "X08")
async def test_an_older_backup_beside_newer_anchors_is_gone_on_from_and_that_is_recorded(
    source: Engine, taken: Taken, tmp_path: Path
) -> None:
    """With its key in it, and the anchors of the engine that went on, as when only the database was lost."""
    file, anchors = tmp_path / "older.mnemolog", tmp_path / "anchors.jsonl"
    await taken_by(source, file, with_master_key=True)
    await taken.ana.creates("Ana goes on")
    await source.settled()
    await source.anchoring.flush()
    shutil.copy(source.verifier.anchors.path, anchors)
    settings = settings_in(tmp_path / "data", anchor_file=anchors)

    found = await restore(settings, file, silent)

    assert found.report.clean, found.report.as_dict()
    assert b'"accepted":true' in anchors.read_bytes()
    assert stat.S_IMODE((tmp_path / "data" / MASTER_KEY).stat().st_mode) == 0o600
    async with open_engine(settings) as engine:  # And starts, unlike on a database that was rolled back.
        assert "Ana goes on" not in await Person(engine, "ana").finds("Ana goes on")


async def test_a_restore_that_ends_in_the_rebuild_leaves_an_engine_that_starts_beside_newer_anchors(
    source: Engine, taken: Taken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, anchors = tmp_path / "older.mnemolog", tmp_path / "anchors.jsonl"
    told = await taken.ana.everything(await taken.ana.caught_up())
    await taken_by(source, file, with_master_key=True)
    await taken.ana.creates("Ana goes on after all")
    await source.settled()
    await source.anchoring.flush()
    shutil.copy(source.verifier.anchors.path, anchors)
    settings = settings_in(tmp_path / "data", anchor_file=anchors)
    monkeypatch.setattr(restoring, "_rebuild", AsyncMock(side_effect=KeyboardInterrupt))

    with pytest.raises(KeyboardInterrupt):
        await restore(settings, file, silent)

    async with open_engine(settings) as engine:
        await engine.settled()
        assert await Person(engine, "ana").everything() == told


def settings_in(directory: Path, **given: object) -> Settings:
    return load(data_dir=directory, durable=False, embedder="lexical", http_port=0, recall_seconds=0, **given)


async def taken_by(engine: Engine, file: Path, *, with_master_key: bool = False) -> Manifest:
    return await back_up(
        engine.endpoints.postgres_dsn,
        engine.settings,
        engine.verifier.anchors,
        file,
        now(),
        mnemolog.__version__,
        lambda count: None,
        with_master_key=with_master_key,
    )


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1 :]
