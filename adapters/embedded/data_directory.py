"""The data directory: one engine at a time, and a file with that engine's endpoints.

`engine.lock` is held with `flock`, which the kernel releases however the engine ends, so no lock is ever stale.
The file is never removed: a lock on an unlinked file would lock nobody out.
"""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mnemolog.adapters.embedded.endpoints import Endpoints, EngineKind
from mnemolog.adapters.embedded.file_lock import FileLock, is_locked
from mnemolog.domain.errors import DataDirectoryInUse, EngineError

LOCK_PATIENCE = 0.3  # seconds; `running_engine` holds the lock for an instant
# Maximum time for a guard to stop the servers of a killed engine: they get ten seconds to stop by themselves.
CLEANUP_PATIENCE = 30.0


@dataclass(frozen=True)
class Holder:
    """The process that owns a data directory; `cleanup` is stopping what a killed engine left.

    `place` identifies the machine and container in which `pid` is the process's number; "" if unknown.
    """

    pid: int
    kind: EngineKind | Literal["cleanup"] = "in-process"
    place: str = ""

    @property
    def elsewhere(self) -> bool:
        """Whether `pid` is the number of another process here, or of none."""
        return bool(self.place) and self.place != _here()


class DataDirectory:
    """One engine's files, its lock and its `engine.json`."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self._lock = FileLock(_lock_file(self.path))

    def acquire(self, kind: EngineKind | Literal["cleanup"] = "in-process") -> None:
        """Take the directory for this process, or raise DataDirectoryInUse."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            taken = self._lock.acquire(LOCK_PATIENCE)
            if not taken and (one := holder(self.path)) and one.kind == "cleanup":
                taken = self._lock.acquire(CLEANUP_PATIENCE)
        except OSError as error:
            raise unusable(self.path, error) from error
        if not taken:
            found = holder(self.path)
            how = f" (kill {found.pid})" if found and not found.elsewhere else ""
            raise DataDirectoryInUse(
                f"an engine (pid {found.pid if found else 'unknown'}) already runs on {self.path}",
                fix=f"use that engine, stop it{how}, or choose another data directory",
            )
        try:
            self.withdraw()
            self._lock.write(json.dumps(asdict(Holder(os.getpid(), kind, _here()))))
        except OSError as error:
            self.release()
            raise unusable(self.path, error) from error

    def release(self) -> None:
        """Give the directory back; harmless when it is not held."""
        self._lock.release()

    def publish(self, endpoints: Endpoints) -> None:
        """Tell other processes where this engine answers."""
        write_privately(_engine_file(self.path), endpoints.as_json())

    def withdraw(self) -> None:
        """Remove the file."""
        _engine_file(self.path).unlink(missing_ok=True)

    def part(self, name: str) -> Path:
        """A private folder of the data directory, created if missing."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def nats_token(self) -> str:
        """The directory's own random token, because any user of the machine can reach a loopback port."""
        file = self.path / "nats.token"
        token = file.read_text().strip() if file.exists() else ""
        if not token:
            token = secrets.token_urlsafe(32)
            write_privately(file, token)
        return token


def running_engine(data_dir: Path) -> Endpoints | None:
    """The endpoints of the engine that runs on this directory; None if there is none or it is still starting."""
    path = data_dir.expanduser().resolve()
    return _note_of_holder(path) if engine_runs(path) else None


def engine_runs(data_dir: Path) -> bool:
    """Whether a process owns this directory; it may be starting or stopping."""
    path = data_dir.expanduser().resolve()
    try:
        return is_locked(_lock_file(path))
    except OSError as error:
        raise unusable(path, error) from error


def holder(data_dir: Path) -> Holder | None:
    """The process that owns, or last owned, this directory."""
    try:
        said = json.loads(_lock_file(data_dir.expanduser().resolve()).read_text() or "{}")
        return Holder(said["pid"], said.get("kind", "in-process"), said.get("place", "")) if said else None
    except (FileNotFoundError, ValueError, TypeError, AttributeError):  # ValueError: it is being written.
        return None


def _note_of_holder(path: Path) -> Endpoints | None:
    try:
        endpoints = Endpoints.from_json(_engine_file(path).read_text())
    except (FileNotFoundError, ValueError, TypeError, AttributeError):  # Missing or damaged.
        return None
    found = holder(path)
    return endpoints if found and endpoints.pid == found.pid else None


def unusable(path: Path, error: OSError) -> EngineError:
    """The error for callers if a file of the directory cannot be read or written."""
    inside = (
        f" ({Path(error.filename).name})" if isinstance(error.filename, str) and error.filename != str(path) else ""
    )
    return EngineError(
        f"the data directory {path} cannot be used: {error.strerror or error}{inside}",
        fix="choose one that this user can write to, on a disk with free space",
    )


def _here() -> str:
    """This machine since its start, and this container."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # Not on Linux.
        return ""


def write_privately(file: Path, content: str) -> None:
    """Atomically write a file that only its owner may read."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(content)
    draft.replace(file)


def _lock_file(path: Path) -> Path:
    return path / "engine.lock"


def _engine_file(path: Path) -> Path:
    return path / "engine.json"
