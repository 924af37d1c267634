"""Methods of the Python API that export and import a user (X17)."""

from __future__ import annotations

from asyncio import to_thread
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mnemolog.asking import Asking, no_user
from mnemolog.deferred import Deferred
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier

if TYPE_CHECKING:
    from mnemolog.adapters.export import exporting, importing
    from mnemolog.adapters.operations import results
    from mnemolog.adapters.operations.results import Written
    from mnemolog.events import envelope
else:
    exporting = Deferred("mnemolog.adapters.export.exporting")
    importing = Deferred("mnemolog.adapters.export.importing")
    results, envelope = Deferred("mnemolog.adapters.operations.results"), Deferred("mnemolog.events.envelope")


class TransferVerbs(Asking):
    """A part of `AsyncMemory`."""

    async def export_user(self, to: str | Path, *, user_id: str | None = None) -> int:
        """Export everything of a user to a new file of JSON Lines, and return the number of events.

        Example:
            memory.export_user(f"{folder}/ana.jsonl", user_id="ana")
        """
        engine, name = await self._engine(), self._user(user_id)
        stream = envelope.StreamId.of_user(name, engine.settings.tenant)
        head = await exporting.head_of(engine, stream)
        with await to_thread(_new, Path(to)) as out:
            async for _, piece in exporting.lines(engine, stream, head):
                await to_thread(out.write, piece)
        return head.events

    async def import_user(self, path: str | Path, *, user_id: str | None = None) -> Written:
        """Import an exported user of whom nothing is known yet.

        All of the file, or nothing: every line is checked before anything is written. The same file again changes
        nothing. Without a `user_id`, here or of this object, the user is the one that the file names.

        Example:
            memory.export_user(f"{folder}/bob.jsonl", user_id="ana")
            memory.import_user(f"{folder}/bob.jsonl", user_id="bob")
        """
        engine = await self._engine()
        file = await to_thread(importing.checked, Path(path), engine.writes.now())
        name = self._user(user_id or self._user_id or file.head.user_id)
        receipt = await importing.imported(engine, file, name)
        await engine.settled()
        return results.Written.of(receipt)

    def _user(self, user_id: str | None) -> str:
        name = self._user_id if user_id is None else user_id
        if name is None:
            raise no_user()
        return identifier(name, "user_id")


def _new(path: Path) -> IO[bytes]:
    try:
        return path.open("xb")
    except FileExistsError as error:
        raise InvalidInput(f"{path} already exists", field="to", fix="choose a new file") from error
