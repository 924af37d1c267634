"""One engine a data directory, and a note that others find it by."""

import json
import os
import signal
from pathlib import Path

import pytest

from mnemolog.adapters.background import attaching
from mnemolog.adapters.embedded import Endpoints, running_engine
from mnemolog.adapters.embedded.data_directory import DataDirectory
from mnemolog.domain.errors import DataDirectoryInUse, EngineError

ENDPOINTS = Endpoints(os.getpid(), "postgresql:///a", "nats://b", "unix:///c")


def test_a_second_engine_is_refused_by_name_of_the_first(data_dir: Path) -> None:
    first = DataDirectory(data_dir)
    first.acquire()

    with pytest.raises(DataDirectoryInUse) as refusal:
        DataDirectory(data_dir).acquire()

    assert str(os.getpid()) in refusal.value.message
    assert str(data_dir) in refusal.value.message
    assert "choose another data directory" in refusal.value.fix
    first.release()


def test_a_released_directory_can_be_taken_again(data_dir: Path) -> None:
    first = DataDirectory(data_dir)
    first.acquire()
    first.release()
    second = DataDirectory(data_dir)
    second.acquire()
    with pytest.raises(DataDirectoryInUse):
        first.acquire()
    second.release()


def test_looking_for_an_engine_does_not_disturb_it(data_dir: Path) -> None:
    directory = DataDirectory(data_dir)
    assert running_engine(data_dir) is None
    directory.acquire()
    assert running_engine(data_dir) is None
    directory.publish(ENDPOINTS)
    assert running_engine(data_dir) == ENDPOINTS
    assert running_engine(data_dir) == ENDPOINTS
    directory.release()
    assert running_engine(data_dir) is None


def test_the_note_of_a_dead_engine_is_not_taken_for_the_new_ones(data_dir: Path) -> None:
    directory = DataDirectory(data_dir)
    directory.acquire()
    directory.publish(Endpoints(1, "postgresql:///a", "nats://b", "unix:///c"))
    assert running_engine(data_dir) is None
    directory.release()


@pytest.mark.parametrize("note", ["", '{"pid": 1', "[]", '{"pid": 1}'])
@pytest.mark.parametrize("name", ["engine.json", "engine.lock"])
def test_a_damaged_note_says_nothing(data_dir: Path, name: str, note: str) -> None:
    directory = DataDirectory(data_dir)
    directory.acquire()
    directory.publish(ENDPOINTS)
    (data_dir / name).write_text(note)

    assert running_engine(data_dir) is None

    directory.release()


def test_the_token_stays_the_same(data_dir: Path) -> None:
    directory = DataDirectory(data_dir)
    directory.acquire()
    assert directory.nats_token() == DataDirectory(data_dir).nats_token()
    assert len(directory.nats_token()) > 30
    directory.release()


def test_a_data_directory_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(EngineError, match="cannot be used"):
        DataDirectory(tmp_path / "data").acquire()


def test_an_engine_in_another_container_is_not_stopped_by_a_number_that_is_someone_elses_here(data_dir: Path) -> None:
    directory = DataDirectory(data_dir)
    directory.acquire("background")
    lock = data_dir / "engine.lock"
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "place": "another pid:[1]"}))
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.fail("it was signalled"))

    with pytest.raises(DataDirectoryInUse, match="another container"):
        attaching.stop(data_dir)
    with pytest.raises(DataDirectoryInUse) as refusal:
        DataDirectory(data_dir).acquire()

    signal.signal(signal.SIGTERM, before)
    assert "kill" not in refusal.value.fix
    directory.release()
