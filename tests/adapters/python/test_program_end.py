"""A program that ends without closing its memory: everything stops cleanly, and nothing it wrote is lost."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from mnemolog.adapters.engine.engine import open_engine
from mnemolog.events.envelope import StreamId
from tests.testkit.settings import settings_in

PROGRAM = """
import sys
from mnemolog import Memory
memory = Memory(sys.argv[1], embedder="lexical")
if len(sys.argv) == 3:
    memory.add(sys.argv[2], user_id="ana")
print([hit.text for hit in memory.search("where does Ana live?", user_id="ana")])
"""
ATTACHED = """
import asyncio, sys
from mnemolog import AsyncMemory
async def main():
    await AsyncMemory(sys.argv[1], engine="background").add(sys.argv[2], user_id="ana")
asyncio.run(main())
"""


async def test_a_program_may_end_without_closing(tmp_path: Path) -> None:
    first = await run(PROGRAM, tmp_path, "I moved to Lisbon")
    second = await run(PROGRAM, tmp_path)

    assert first == second
    assert "Lisbon" in first


async def test_a_program_with_an_event_loop_of_its_own_waits_for_no_anchor(tmp_path: Path) -> None:
    async with open_engine(settings_in(tmp_path / "memory")) as engine:
        assert await run(ATTACHED, tmp_path, "I moved to Lisbon") == ""
        assert await engine.log.head(StreamId.of_user("ana"))


async def run(program: str, directory: Path, *said: str) -> str:
    """What the program prints; it complains of nothing."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(directory / "memory"), *said, stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    return out.decode()
