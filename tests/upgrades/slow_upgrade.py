"""An engine that upgrades slowly: `python -m tests.upgrades.slow_upgrade DIRECTORY`, until it is killed."""

import asyncio
import sys
from typing import Any

from mnemolog import AsyncMemory
from mnemolog.adapters import clock
from mnemolog.projections import filling
from tests.upgrades.former import Then

PAUSE = 0.1


async def main(directory: str) -> None:
    apply = filling._apply

    async def slowly(*args: Any) -> Any:
        applied = await apply(*args)
        sys.stdout.write("a portion\n")
        sys.stdout.flush()
        await asyncio.sleep(PAUSE)
        return applied

    clock.__dict__["datetime"] = Then
    filling.PORTION = 3
    filling.__dict__["_apply"] = slowly
    async with AsyncMemory(directory, durable=False, embedder="lexical") as memory:
        await memory.changes(user_id="ana")
        await asyncio.Event().wait()


asyncio.run(main(sys.argv[1]))
