"""`mnemolog` in a process of its own, beside the engine that the tests share."""

import asyncio
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.testkit import warm
from tests.testkit.settings import PATIENCE


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: exit code, and both outputs as text."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        return json.loads(self.out)


async def mnemolog(
    data_dir: Path, *arguments: str, embedder: str = "lexical", columns: int = 200, stdin: str = ""
) -> Ran:
    """Run one command to its end, in a process that begins with its imports done (tests/testkit/warm.py)."""
    environment = {
        **os.environ,
        "MNEMOLOG_DATA_DIR": str(data_dir),
        "MNEMOLOG_EMBEDDER": embedder,
        "MNEMOLOG_DURABLE": "false",
        "MNEMOLOG_READ_DEADLINE": str(PATIENCE),
        "COLUMNS": str(columns),
    }
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = await asyncio.to_thread(
            warm.run, arguments, environment, out, err, stdin.encode(errors="surrogateescape")
        )
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())
