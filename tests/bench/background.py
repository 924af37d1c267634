"""A temporary data directory, whose background engine has ended before it is removed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemolog.adapters.background import attaching
from mnemolog.adapters.background.clients import entering


@contextmanager
def data_directory(parent: Path | None = None) -> Iterator[Path]:
    """A data directory in a folder of its own, below `parent` or the system's one for temporary files."""
    with TemporaryDirectory(prefix="mnemolog-bench-", dir=parent) as folder:
        data_dir = Path(folder).resolve() / "mnemolog"
        data_dir.mkdir()
        try:
            yield data_dir
        finally:
            with entering(data_dir):
                attaching.stop(data_dir)
