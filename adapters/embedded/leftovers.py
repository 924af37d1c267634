"""Servers left behind by a killed engine: find them, check that they are ours, and stop them.

A process is ours when it has the server's name and its working directory *is* (same device and inode) that server's
directory in our data directory, which we hold the lock of. Every server is started in its directory, Postgres'
children included, so nothing needs to be written down beforehand, a reused pid cannot mislead, and a server of
another container whose directory merely has the same name is left alone.
"""

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

CLEAN_END = 10.0  # seconds for a server to stop after the signal
OWN_END = 0.5  # seconds for processes that end by themselves, as idle children of Postgres do without their postmaster


def end_leftovers(
    directory: Path, names: Collection[str], stop: signal.Signals, may_ask: Callable[[int], bool] = lambda pid: True
) -> None:
    """Signal the processes that `may_ask` allows, wait, and kill the rest."""
    if not (found := working_in(directory, names)):
        return
    signalled = [process for process in found if may_ask(process.pid)]
    for process in signalled:
        _signal(process, stop)
    for process in _still_there(directory, names, CLEAN_END if signalled else OWN_END):
        _signal(process, signal.SIGKILL)
    _still_there(directory, names, CLEAN_END)


def working_in(directory: Path, names: Collection[str]) -> list[psutil.Process]:
    """Our live processes; zombies have no working directory and do not count."""
    return [process for pid in psutil.pids() if _works_in(pid, directory) and (process := _named(pid, names))]


def exists(pid: int) -> bool:
    """Whether the pid exists, even as a zombie or another user's."""
    return bool(psutil.pid_exists(pid))


def _still_there(directory: Path, names: Collection[str], patience: float) -> list[psutil.Process]:
    deadline = time.monotonic() + patience
    while (found := working_in(directory, names)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _works_in(pid: int, directory: Path) -> bool:
    try:
        # On Linux, follow the link itself, since its text may be a path of another mount namespace.
        return os.path.samefile(f"/proc/{pid}/cwd" if psutil.LINUX else psutil.Process(pid).cwd(), directory)
    except (OSError, psutil.Error):
        return False


def _named(pid: int, names: Collection[str]) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return process if process.name() in names else None
    except psutil.Error:
        return None


def _signal(process: psutil.Process, what: signal.Signals) -> None:
    with suppress(psutil.Error):
        process.send_signal(what)
