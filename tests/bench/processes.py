"""Processor time of this process and of everything below it, which is its servers and models."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds_by_name() -> Mapping[str, float]:
    """By the name of the program; this process is the `engine`."""
    found: defaultdict[str, float] = defaultdict(float)
    for pid in _family(os.getpid()):
        if fields := _stat(pid):
            # With its children that have ended, as the backends of Postgres do.
            found["engine" if pid == os.getpid() else fields[0]] += sum(map(int, fields[12:16])) / TICKS
    return found


def _family(pid: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for one in Path("/proc").iterdir():
        if one.name.isdigit() and (fields := _stat(int(one.name))):
            parents.setdefault(int(fields[2]), []).append(int(one.name))
    queue = [pid]
    for one_pid in queue:  # It grows during the loop.
        yield one_pid
        queue += parents.get(one_pid, [])


def _stat(pid: int) -> list[str]:
    """The name and the fields after it, or none where the process has ended."""
    try:
        before, _, after = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [before.partition("(")[2], *after.split()]
