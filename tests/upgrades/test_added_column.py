"""The worked example of the docs: a column is added to a projection, and read all the while (X05)."""

import asyncio
from pathlib import Path

import pytest

from mnemolog import AsyncMemory
from tests.testkit import warm


@pytest.mark.spec("X05")
async def test_a_column_that_is_added_reads_as_its_constant_until_the_version_is_built(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path, durable=False, embedder="lexical") as memory:
        await memory.create("Ana moved to Lisbon", user_id="ana")
        await (await memory._engine()).settled()

    process = await warm.spawn("-m", "tests.upgrades.added_column", tmp_path, stderr=asyncio.subprocess.PIPE)
    assert process.stderr
    said = await process.stderr.read()

    assert await process.wait() == 0, said.decode()
