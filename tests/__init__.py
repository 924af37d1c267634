"""Tests. What they keep outside of their directories goes to one folder, which ends with the first process of a run.

Each process has a folder in it for what its engines keep outside of their data directories.

All temporary files are kept in memory where there is enough of it: a run makes hundreds of data directories, and each
has more than a thousand files.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_VARIABLE = "TESTS_FOLDER"
_IN_MEMORY = Path("/dev/shm")
# A run keeps up to 4 GB there, and its processes take 8 GB.
_ENOUGH = 12 * 2**30


def _use_memory() -> None:
    """For the temporary files of this process and of those that it starts, unless TMPDIR says where they belong."""
    if "TMPDIR" not in os.environ and os.access(_IN_MEMORY, os.W_OK) and _memory_left() >= _ENOUGH:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_IN_MEMORY)


def _memory_left() -> int:
    """The bytes that may be kept in memory; none if programs cannot be run from there."""
    disk = os.statvfs(_IN_MEMORY)
    if disk.f_flag & os.ST_NOEXEC:
        return 0
    free = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:"))
    left = min(disk.f_bavail * disk.f_frsize, int(free.split()[1]) * 1024)
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists() and (allowed := limit.read_text().strip()) != "max":
        left = min(left, int(allowed))
    return left


def _shared_folder() -> Path:
    if _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = made = tempfile.mkdtemp(prefix="mnemolog-tests-")
        atexit.register(_delete, made, os.getpid())
    return Path(os.environ[_VARIABLE])


def _delete(folder: str, maker: int) -> None:
    if os.getpid() == maker:  # Not in a fork of it.
        shutil.rmtree(folder, ignore_errors=True)


_use_memory()
FOLDER = _shared_folder()
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="state-", dir=FOLDER)
os.environ["MNEMOLOG_AUDIT_SHARE"] = "0"  # It would take its share of every engine's time; its own tests turn it on.
