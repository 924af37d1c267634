"""The priority of processes that work for others, who wait for their own first."""

import os
from contextlib import suppress
from pathlib import Path

BACKGROUND = 5
"""A niceness: a third of the processor time of a process that has 0, while there is not enough for both."""


def lower_priority(niceness: int = BACKGROUND) -> None:
    """Give this process that niceness, unless its priority is lower already.

    Linux compares sessions before processes (`sched_autogroup` in sched(7)). So if this process leads its session, the
    priority of that is lowered, too.
    """
    os.nice(max(0, niceness - os.nice(0)))
    # Other systems have no such file, a container may forbid it, and another process may have just changed it.
    with suppress(OSError):
        if os.getsid(0) == os.getpid():
            Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")
