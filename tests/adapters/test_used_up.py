"""A disk that is full and files that cannot be opened are told as such, with what to do, and leave nothing behind."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy.exc
from redis.exceptions import ResponseError

from mnemolog import AsyncMemory
from mnemolog.adapters.background import clients
from mnemolog.adapters.embedded.data_directory import DataDirectory
from mnemolog.adapters.embedded.file_lock import FileLock
from mnemolog.adapters.unreachable import failed, used_up
from mnemolog.domain.errors import EngineError, ServerFailed
from mnemolog.opening import Opening, guarded

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
STARTING = "connection failed: FATAL:  could not write init file: No space left on device"


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file can be written."""

    def write(*_: object) -> int:
        raise FULL

    with monkeypatch.context() as during:
        during.setattr(os, "pwrite", write)
        yield


@pytest.mark.parametrize(
    "error",
    [
        FULL,
        psycopg.errors.DiskFull("could not extend file"),
        sqlalchemy.exc.OperationalError("INSERT", {}, psycopg.errors.DiskFull("could not extend file")),
        psycopg.OperationalError(STARTING),
        ResponseError("MISCONF Errors writing to the AOF file: No space left on device"),
    ],
)
def test_a_full_disk_is_told_whoever_meets_it(error: Exception) -> None:
    told = failed(error)
    assert "no space left" in told.message
    assert "free some space" in told.fix


def test_too_many_open_files_are_told_with_the_limit_to_raise() -> None:
    told = used_up(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    assert told is not None
    assert "ulimit" in told.fix


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), psycopg.OperationalError("lost")])
def test_what_does_not_answer_is_told_without_its_text(error: Exception) -> None:
    assert used_up(error) is None
    assert failed(error).message == "A server does not answer."


@pytest.mark.usefixtures("full")
async def test_a_program_that_starts_on_a_full_disk_learns_of_it(tmp_path: Path) -> None:
    memory = AsyncMemory(data_dir=tmp_path, engine="background")
    with pytest.raises(ServerFailed, match="no space left"):
        await memory.add("I moved to Lisbon", user_id="ana")
    await memory.close()


class Calls(Opening):
    """A call that cannot open a file of the data directory."""

    @guarded
    async def look(self) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "engine.lock")


async def test_a_call_that_can_open_no_file_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="too many files are open"):
        await Calls(tmp_path).look()


@pytest.mark.usefixtures("full")
def test_a_client_that_cannot_be_counted_leaves_nothing_open(tmp_path: Path) -> None:
    opened = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with pytest.raises(OSError, match="No space left"):
            clients.hold(tmp_path)
    assert len(os.listdir("/dev/fd")) == opened
    assert not list((tmp_path / clients.FOLDER).iterdir())


def test_a_directory_that_could_not_be_taken_can_be_taken_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise FULL

    with monkeypatch.context() as during:
        during.setattr(FileLock, "write", fails)
        with pytest.raises(EngineError, match="cannot be used: No space left"):
            DataDirectory(tmp_path).acquire()

    again = DataDirectory(tmp_path)
    again.acquire()
    again.release()
