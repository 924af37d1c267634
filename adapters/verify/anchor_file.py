"""The anchor file: one line per anchor, append-only and synced; outside the database."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

# Its earlier location in a data directory, which is read as well.
FORMER = "anchors.jsonl"


class AnchorFile:
    """Ignores a last line torn by a crash, and cuts it off before appending.

    `former` is its earlier location, which is read first and never written to.
    """

    def __init__(self, path: Path, former: Path | None = None) -> None:
        self.path, self.former = path, former

    def lines(self) -> Iterator[bytes]:
        """Every complete line, oldest first."""
        for path in (self.former, self.path):
            if path is None or not path.exists():
                continue
            with path.open("rb") as file:
                for line in file:
                    if line.endswith(b"\n"):
                        yield line.rstrip(b"\n")

    def append(self, lines: Sequence[bytes]) -> None:
        """On disk when it returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.seek(_whole_size(file.fileno()))
            file.truncate()
            file.write(b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())

    def replace(self, lines: Sequence[bytes]) -> None:
        """Atomically replace all lines with these."""
        draft = AnchorFile(self.path.with_name(f"{self.path.name}.new"))
        draft.path.unlink(missing_ok=True)
        draft.append(lines)
        draft.path.replace(self.path)
        if self.former:
            self.former.unlink(missing_ok=True)


def _whole_size(descriptor: int) -> int:
    """The end of the last complete line."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - 65536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
