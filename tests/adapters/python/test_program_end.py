"""A program that ends without closing its memory: everything stops cleanly, and nothing it wrote is lost."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

PROGRAM = """
import sys
from mnemolog import Memory
memory = Memory(sys.argv[1], embedder="lexical")
if len(sys.argv) == 3:
    memory.add(sys.argv[2], user_id="ana")
print([hit.text for hit in memory.search("where does Ana live?", user_id="ana")])
"""


async def test_a_program_may_end_without_closing(tmp_path: Path) -> None:
    first = await run(tmp_path, "I moved to Lisbon")
    second = await run(tmp_path)

    assert first == second
    assert "Lisbon" in first


async def run(directory: Path, *said: str) -> str:
    """What the program prints; it complains of nothing."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(directory / "memory"), *said, stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    return out.decode()
