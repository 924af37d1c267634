"""The verbs of the Python face that take a user out and in (X17)."""

from asyncio import to_thread
from pathlib import Path
from typing import IO

from mnemolog.adapters.export.exporting import head_of, lines
from mnemolog.adapters.export.importing import checked, imported
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier
from mnemolog.events.envelope import Receipt
from mnemolog.opening import Opening


class TransferVerbs(Opening):
    """A part of `AsyncMemory`."""

    async def export_user(self, to: str | Path, *, user_id: str) -> int:
        """Write all that is known of a user and how it came about to a new file of JSON Lines; how many events.

        Example:
            memory.export_user(f"{folder}/ana.jsonl", user_id="ana")
        """
        engine, stream = await self._engine(), self._stream(user_id)
        head = await head_of(engine, stream)
        with await to_thread(_new, Path(to)) as out:
            async for _, piece in lines(engine, stream, head):
                await to_thread(out.write, piece)
        return head.events

    async def import_user(self, path: str | Path, *, user_id: str | None = None) -> Receipt:
        """Take in an exported user of whom nothing is known yet, whole; as whom the file says unless said.

        Every line is checked before anything is written. The same file again changes nothing.

        Example:
            memory.export_user(f"{folder}/bob.jsonl", user_id="ana")
            memory.import_user(f"{folder}/bob.jsonl", user_id="bob")
        """
        engine = await self._engine()
        file = await to_thread(checked, Path(path), engine.writes.now())
        name = file.head.user_id if user_id is None else identifier(user_id, "user_id")
        receipt = await imported(engine, file, name)
        await engine.settled()
        return self._noted(receipt)


def _new(path: Path) -> IO[bytes]:
    try:
        return path.open("xb")
    except FileExistsError as error:
        raise InvalidInput(f"{path} is there already", field="to", fix="name a new file") from error
