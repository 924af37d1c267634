"""A file lock with `flock`: the kernel releases it when the holder ends, so it is never stale.

A forked child shares its parent's open files and would go on holding the parent's locks after the parent's death. So
each lock that is held is known here, and a child lets go of all of them.
"""

import fcntl
import os
import time
from pathlib import Path
from weakref import WeakSet

POLL_SECONDS = 0.02


class FileLock:
    """An exclusive lock, held by at most one `FileLock` in all processes; releasing it keeps the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    def acquire(self, patience: float = 0.0) -> bool:
        """Whether the lock was acquired, trying for `patience` seconds. OSError if the file cannot be opened."""
        file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _locked(file, patience):
            os.close(file)
            return False
        self._file = file
        _held.add(self)
        return True

    def write(self, content: str) -> None:
        """Replace the file's content, which says who holds it."""
        assert self._file is not None
        os.truncate(self._file, 0)
        os.pwrite(self._file, content.encode(), 0)

    def release(self) -> None:
        """Release it, if held, by an explicit unlock, because a child may have the file open as well."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
            _held.discard(self)


def is_locked(path: Path) -> bool:
    """Whether anybody holds the lock. The check takes a shared lock for an instant."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _locked(file, 0, fcntl.LOCK_SH)
    finally:
        os.close(file)


def _locked(file: int, patience: float, mode: int = fcntl.LOCK_EX) -> bool:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        else:
            return True


_held: WeakSet[FileLock] = WeakSet()


def _forget_in_child() -> None:
    """Close them without unlocking: the parent still holds its locks."""
    for lock in list(_held):
        lock._close()


os.register_at_fork(after_in_child=_forget_in_child)
