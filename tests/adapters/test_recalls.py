"""Recalls are collected, and written in batches (B §7)."""

import asyncio
from uuid import uuid4

from mnemolog.adapters.reads.recalls import Recalls
from mnemolog.commands.recalls import RecordRecalls
from mnemolog.domain.viewer import Viewer


async def test_flushes_at_once_write_each_recall_once_and_end_when_all_are_written() -> None:
    begun, written = list[str](), list[str]()

    async def write(command: RecordRecalls) -> None:
        begun.append(command.user_id)
        await asyncio.sleep(0)
        written.append(command.user_id)

    async def flush() -> None:
        await recalls.flush()
        assert sorted(written) == ["ana", "ben", "eva"]

    recalls = Recalls(write, seconds=60)
    for user in ("ana", "ben", "eva"):
        recalls.note(Viewer("default", user, "coach"), {uuid4(): 1})

    await asyncio.gather(flush(), flush(), flush())

    assert sorted(begun) == ["ana", "ben", "eva"]
