"""The data directory: one engine at a time, and a note of where that engine answers.

`engine.lock` is held with `flock`, which the kernel releases however the engine ends, so no lock is ever stale.
The file is never removed: a lock on an unlinked file would lock nobody out.
"""

import fcntl
import json
import os
import secrets
import time
from pathlib import Path

from mnemolog.adapters.embedded.endpoints import Endpoints
from mnemolog.domain.errors import DataDirectoryInUse, EngineError

LOCK_PATIENCE = 0.3  # seconds; `running_engine` holds the lock for an instant to look


class DataDirectory:
    """One engine's files, its lock and its note."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self._lock: int | None = None

    def acquire(self) -> None:
        """Take the directory for this process, or raise DataDirectoryInUse."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(_lock_file(self.path), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unusable(self.path, error) from error
        if not _locked(lock, LOCK_PATIENCE):
            os.close(lock)
            raise _in_use(self.path)
        os.truncate(lock, 0)
        os.pwrite(lock, json.dumps({"pid": os.getpid()}).encode(), 0)
        self._lock = lock
        self.withdraw()

    def release(self) -> None:
        """Give the directory back; harmless when it is not held."""
        if self._lock is not None:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            self._lock = None

    def publish(self, endpoints: Endpoints) -> None:
        """Tell other processes where this engine answers."""
        write_privately(_engine_file(self.path), endpoints.as_json())

    def withdraw(self) -> None:
        """Take the note away."""
        _engine_file(self.path).unlink(missing_ok=True)

    def part(self, name: str) -> Path:
        """A private folder of the data directory, made when missing."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def nats_token(self) -> str:
        """The directory's own random token: any user of the machine can reach a loopback port."""
        file = self.path / "nats.token"
        token = file.read_text().strip() if file.exists() else ""
        if not token:
            token = secrets.token_urlsafe(32)
            write_privately(file, token)
        return token


def running_engine(data_dir: Path) -> Endpoints | None:
    """The endpoints of the engine that is up on this directory; None when there is none, or it is still starting."""
    path = data_dir.expanduser().resolve()
    try:
        lock = os.open(_lock_file(path), os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        return None if _locked(lock, patience=0) else _note_of_holder(path)
    finally:
        os.close(lock)


def _note_of_holder(path: Path) -> Endpoints | None:
    try:
        endpoints = Endpoints.from_json(_engine_file(path).read_text())
    except FileNotFoundError:
        return None
    return endpoints if endpoints.pid == _holder(path) else None


def _locked(lock: int, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
        else:
            return True


def _unusable(path: Path, error: OSError) -> EngineError:
    return EngineError(
        f"the data directory {path} cannot be used: {error.strerror}",
        fix="choose a data directory that this user may write",
    )


def _in_use(path: Path) -> DataDirectoryInUse:
    pid = _holder(path)
    return DataDirectoryInUse(
        f"an engine (pid {pid or 'unknown'}) already runs on {path}",
        fix=f"use that engine, stop it{f' (kill {pid})' if pid else ''}, or choose another data directory",
    )


def _holder(path: Path) -> int | None:
    content = _lock_file(path).read_text()
    return int(json.loads(content)["pid"]) if content else None


def write_privately(file: Path, content: str) -> None:
    """Write a file that only its owner may read, all of it or nothing."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(content)
    draft.replace(file)


def _lock_file(path: Path) -> Path:
    return path / "engine.lock"


def _engine_file(path: Path) -> Path:
    return path / "engine.json"
