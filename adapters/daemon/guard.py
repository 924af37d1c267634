"""Cleanup by the parent of a background engine after the engine was killed."""

import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from mnemolog.adapters.embedded.data_directory import DataDirectory
from mnemolog.adapters.embedded.servers import end_servers
from mnemolog.domain.errors import DataDirectoryInUse


def clean_up(data_dir: str, code: int) -> None:
    """Stop the servers that it left running. If another engine has the directory by now, it has done so itself."""
    sys.stderr.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} the engine was ended by signal {-code}\n")
    sys.stderr.flush()
    directory = DataDirectory(Path(data_dir))
    with suppress(DataDirectoryInUse):
        directory.acquire("cleanup")
        try:
            end_servers(directory.path)
        finally:
            directory.release()
