"""Methods of the Python API that export and import a user (X17)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mnemolog.asking import Asking, no_user
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier

if TYPE_CHECKING:
    from mnemolog.adapters.operations.results import Written


class TransferVerbs(Asking):
    """A part of `Verbs`."""

    async def export_user(self, to: str | Path, *, user_id: str | None = None) -> int:
        """Export everything of a user to a new file of JSON Lines, and return the number of events.

        Example:
            memory.export_user(f"{folder}/ana.jsonl", user_id="ana")
        """
        name = self._user_id if user_id is None else user_id
        if name is None:
            raise no_user()
        return await self._export(identifier(name, "user_id"), Path(to))

    async def import_user(self, path: str | Path, *, user_id: str | None = None) -> Written:
        """Import an exported user of whom nothing is known yet.

        All of the file, or nothing: every line is checked before anything is written. The same file again changes
        nothing. Without a `user_id`, here or of this object, the user is the one that the file names.

        Example:
            memory.export_user(f"{folder}/bob.jsonl", user_id="ana")
            memory.import_user(f"{folder}/bob.jsonl", user_id="bob")
        """
        name = self._user_id if user_id is None else user_id
        return await self._import(Path(path), None if name is None else identifier(name, "user_id"))


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Readable by its owner only, and removed unless it is whole: it contains what is known about a user."""
    try:
        out = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except FileExistsError as error:
        raise InvalidInput(f"{path} already exists", field="to", fix="choose a new file") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}", field="to", fix="correct the path") from error
    try:
        with out:
            yield out
    except BaseException:
        path.unlink()
        raise
