"""Put a folder's names on disk: a file that was synced can still lose its name in a power cut."""

import os
from pathlib import Path


def sync_names(folder: Path) -> None:
    """The names of the files in `folder` are on disk when it returns."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
