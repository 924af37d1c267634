"""Stops the servers of an engine that was killed.

The parent of a background engine calls it. An engine inside a program has a guard of its own, a process that waits for
the end of the program: `python -m mnemolog.adapters.daemon.guard DATA_DIR PID`. It polls, because the signal that Linux
offers comes when the thread ends that started the process. Little is imported until then, so that it stays small.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

POLL_SECONDS = 0.5


def main(data_dir: str, engine: int) -> None:
    """An engine that stops its servers kills its guard."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.getppid() == engine:
        time.sleep(POLL_SECONDS)
    if os.path.isdir(data_dir):
        clean_up(data_dir, f"the program with the engine (pid {engine}) was killed")


def clean_up(data_dir: str, cause: str) -> None:
    """Stop the servers that it left running. If another engine has the directory by now, it has done so itself."""
    from mnemolog.adapters.embedded.data_directory import DataDirectory
    from mnemolog.adapters.embedded.servers import end_servers
    from mnemolog.domain.errors import DataDirectoryInUse

    sys.stderr.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {cause}\n")
    sys.stderr.flush()
    directory = DataDirectory(Path(data_dir))
    with suppress(DataDirectoryInUse):
        directory.acquire("cleanup")
        try:
            end_servers(directory.path)
        finally:
            directory.release()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
