"""The log file of a server, and its last lines for error messages."""

from pathlib import Path
from typing import BinaryIO

ROTATE_AT = 16 * 1024 * 1024
LINES = 12


class ServerLog:
    """The log file of one server; when it is long, it is kept as `.1` at the next launch."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._start = self._looked = 0
        self._found = False

    def open(self) -> BinaryIO:
        """The file for the next launch to write to."""
        if self.path.exists() and self.path.stat().st_size > ROTATE_AT:
            self.path.replace(self.path.with_suffix(".log.1"))
        out = self.path.open("ab")
        self._start = self._looked = out.tell()
        self._found = False
        return out

    def says(self, words: bytes) -> bool:
        """Whether these words were written since the latest launch. Reads only what is new since the last call."""
        if not self._found and self.path.exists() and self.path.stat().st_size > self._looked:
            with self.path.open("rb") as written:
                written.seek(self._looked)
                self._found = words in written.read()
                self._looked = written.tell()
        return self._found

    def tail(self) -> str:
        """The last lines since the latest launch."""
        if not self.path.exists():
            return ""
        with self.path.open("rb") as written:
            written.seek(self._start)
            lines = written.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-LINES:])
