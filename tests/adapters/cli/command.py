"""The real `mnemolog` in a process of its own, beside the engine that the tests share."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: exit code, and both outputs as text."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        return json.loads(self.out)


async def mnemolog(data_dir: Path, *arguments: str, embedder: str = "lexical", columns: int = 200) -> Ran:
    """Run one command to its end."""
    environment = {
        **os.environ,
        "MNEMOLOG_DATA_DIR": str(data_dir),
        "MNEMOLOG_EMBEDDER": embedder,
        "MNEMOLOG_DURABLE": "false",
        "COLUMNS": str(columns),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from mnemolog.adapters.cli import main; main()", *arguments),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), timeout=90)
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())
