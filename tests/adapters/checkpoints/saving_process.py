"""Saves checkpoints until it is killed: `python -m tests.adapters.checkpoints.saving_process DIRECTORY USER`.

Says the number of each once it is saved.
"""

import asyncio
import random
import sys

from mnemolog import AsyncMemory
from mnemolog.langgraph import MnemologSaver
from tests.testkit.checkpoints import config, saved


async def main() -> None:
    directory, user = sys.argv[1:]
    async with AsyncMemory(directory, user_id=user, durable=False, embedder="lexical") as memory:
        saver, at, number = MnemologSaver(memory, keep=8), config(), 0
        while True:
            number += 1
            at = await saved(saver, at, version=number, state=[state(number)])
            await saver.aput_writes(at, [("state", number)], "task")
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


def state(number: int) -> bytes:
    return random.Random(number).randbytes(40_000)


if __name__ == "__main__":
    asyncio.run(main())
