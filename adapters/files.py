"""Reads files that callers name."""

from pathlib import Path
from typing import IO

from mnemolog.domain.errors import InvalidInput

# The largest value of the setting `artifact_max_bytes`.
MAX_FILE_BYTES = 64 * 1024 * 1024


def read_file(path: Path, field: str = "content") -> bytes:
    """The content of a file; InvalidInput if it cannot be read."""
    try:
        with path.open("rb") as file:
            return read_all(file, field)
    except (OSError, ValueError) as error:  # ValueError: the path has a NUL.
        said = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be read: {said}", field=field, fix="correct the path") from error


def read_all(file: IO[bytes], field: str = "content") -> bytes:
    """The rest of a file; InvalidInput if it is longer than any setting accepts, before it fills the memory."""
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput(f"has more than {MAX_FILE_BYTES:,} bytes", field=field, fix="send a smaller file")
    return content
