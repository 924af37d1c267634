"""The processes that use an engine: a file per process, which it keeps locked while it is alive.

The kernel unlocks a file however its process ends, so there is no heartbeat and nothing to clean up in time.
"""

import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import mnemolog
from mnemolog.adapters.embedded.file_lock import FileLock, is_locked
from mnemolog.domain.errors import EngineError

FOLDER, GATE = "clients", "attach.lock"
DRAFT_SECONDS = 60.0
# How long others wait while one process starts an engine: recovery of a long log takes time.
ENTER_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Client:
    """A process that uses the engine."""

    pid: int
    program: str
    version: str
    since: str


@dataclass(slots=True)
class _Mark:
    lock: FileLock
    file: Path
    uses: int = 0


_marks: dict[Path, _Mark] = {}
_guard = threading.Lock()


def hold(data_dir: Path) -> None:
    """Count this process as a client until `release` has been called as often. A forked child does not count."""
    with _guard:
        mark = _marks.get(data_dir) or _marks.setdefault(data_dir, _marked(data_dir))
        mark.uses += 1


def release(data_dir: Path) -> None:
    """Undo one `hold`; has no effect in a forked child."""
    with _guard:
        mark = _marks.get(data_dir)
        if mark is None:
            return
        mark.uses -= 1
        if not mark.uses:
            del _marks[data_dir]
            mark.file.unlink(missing_ok=True)
            mark.lock.release()


def clients(data_dir: Path) -> list[Client]:
    """The processes that currently use the engine, oldest first. Removes the files of dead ones."""
    found: list[Client] = []
    for file in (data_dir / FOLDER).glob("*"):
        with suppress(FileNotFoundError):  # Its process has just ended.
            if is_locked(file):
                found += [_read(file)] if file.suffix == ".json" else []
            elif file.suffix == ".json" or file.stat().st_mtime < time.time() - DRAFT_SECONDS:
                file.unlink()
    return sorted(found, key=lambda one: one.since)


def others(data_dir: Path) -> list[Client]:
    """The clients except this process."""
    return [one for one in clients(data_dir) if one.pid != os.getpid()]


def last_change(data_dir: Path) -> float:
    """When a client was last added or removed, in seconds since the epoch."""
    try:
        return (data_dir / FOLDER).stat().st_mtime
    except FileNotFoundError:
        return 0.0


@contextmanager
def entering(data_dir: Path) -> Iterator[None]:
    """Only one process at a time may find, start or stop an engine: one starts it, and the others wait."""
    gate = gate_of(data_dir)
    if not gate.acquire(ENTER_SECONDS):
        raise EngineError(
            f"another process has been starting the engine on {data_dir} for {ENTER_SECONDS:.0f} s",
            field="data_dir",
            fix=f"see {data_dir / 'logs' / 'engine.log'}",
        )
    try:
        yield
    finally:
        gate.release()


def gate_of(data_dir: Path) -> FileLock:
    """The lock of `entering`. An engine that stops holds it to its end, so that nobody can attach any more."""
    return FileLock(data_dir / GATE)


def _marked(data_dir: Path) -> _Mark:
    """A file that is locked before it becomes visible."""
    folder = data_dir / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{os.getpid()}-{secrets.token_hex(4)}.json"
    lock = FileLock(file.with_suffix(".new"))
    lock.acquire()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        lock.write(json.dumps(asdict(Client(os.getpid(), _program(), mnemolog.__version__, started))))
        lock.path.rename(file)
    except OSError:
        lock.path.unlink(missing_ok=True)
        lock.release()
        raise
    return _Mark(lock, file)


def _read(file: Path) -> Client:
    """The client that holds the file. If it cannot be read, for instance from another version, it still counts."""
    try:
        said = json.loads(file.read_text())
        return Client(**{one.name: said[one.name] for one in fields(Client)})
    except (ValueError, TypeError, KeyError):
        return Client(0, "unknown", "", "")


def _program() -> str:
    """Only the name of the program: its arguments may contain what somebody said."""
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name if name not in ("", "-c", "-m") else "python"


def _forget_in_child() -> None:
    global _guard
    _guard = threading.Lock()
    _marks.clear()


os.register_at_fork(after_in_child=_forget_in_child)
