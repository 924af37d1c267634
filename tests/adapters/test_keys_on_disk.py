"""A key is on disk, with its name, before anything is sealed with it."""

import errno
import os
import stat
from pathlib import Path

import pytest

from mnemolog.adapters import keys


def test_the_name_of_a_new_key_is_on_disk_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            synced.append((tmp_path / "master.key").exists())

    monkeypatch.setattr(os, "fsync", fsync)
    keys.from_file(tmp_path / "master.key")

    assert synced == [True]


def test_a_key_that_cannot_be_written_leaves_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        keys.from_file(tmp_path / "master.key")

    assert not list(tmp_path.iterdir())
