"""Files that callers name are not read further than anything accepts."""

from pathlib import Path

import pytest

from mnemolog.adapters.files import MAX_FILE_BYTES, read_file
from mnemolog.domain.errors import InvalidInput


def test_a_file_without_an_end_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(InvalidInput, match=f"has more than {MAX_FILE_BYTES:,} bytes") as refused:
        read_file(Path("/dev/zero"), "file")
    assert refused.value.field == "file"


@pytest.mark.parametrize("path", ["/nonexistent", "/", "a\0b"])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_file(Path(path))
