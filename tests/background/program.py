"""A program that uses a memory: `python -m tests.background.program DATA_DIR [SETTINGS]`, settings as a JSON object.

Each line of its standard input is a JSON list of a word and arguments, and each line that it prints is the JSON answer:
`create TEXT KEY`, `search QUERY`, `pids`, `threads N`, `fork TEXT` (a child writes with the same object), `forked` (a
child that lives on). An error is answered as an object.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mnemolog import AsyncMemory, Memory, MnemologError
from mnemolog.adapters.background.clients import clients
from mnemolog.adapters.embedded import holder

USER = "ana"
SETTINGS: dict[str, Any] = {"engine": "background", "embedder": "lexical", "durable": False, "idle_grace": 0.5}


class Program:
    """One memory, and what is asked of it."""

    def __init__(self, data_dir: str, settings: dict[str, Any]) -> None:
        self._data_dir, self._settings = data_dir, SETTINGS | settings
        self.memory = Memory(data_dir, **self._settings)
        self._kept: list[Memory] = []

    def create(self, text: str, key: str) -> str:
        return str(self.memory.create(text, user_id=USER, idempotency_key=key).memory_id)

    def search(self, query: str) -> list[str]:
        return sorted(hit.text for hit in self.memory.search(query, user_id=USER, top_k=100))

    def pids(self) -> dict[str, Any]:
        found = holder(Path(self._data_dir))
        users = [one.pid for one in clients(Path(self._data_dir))]
        return {"own": os.getpid(), "engine": found and found.pid, "clients": users}

    def threads(self, count: int) -> int:
        """Objects in threads, each with a write of its own, which live on; and in as many event loops."""
        objects = [Memory(self._data_dir, thread_id=str(number), **self._settings) for number in range(count)]
        self._kept += objects
        with ThreadPoolExecutor(2 * count) as pool:
            written = [pool.submit(one.add, f"thread {number}", user_id=USER) for number, one in enumerate(objects)]
            looped = [pool.submit(asyncio.run, self._in_a_loop(number)) for number in range(count)]
        return len({one.result().message_id for one in written} | {one.result() for one in looped})

    def fork(self, text: str) -> list[Any]:
        """What the child sees with the parent's own object and its own pids; and what the parent then sees."""
        hear, tell = os.pipe()
        if not os.fork():
            self.create(text, text)
            os.write(tell, json.dumps([self.search(text), self.pids()]).encode())
            os._exit(0)
        os.close(tell)
        with os.fdopen(hear) as answer:
            said = json.load(answer)
        os.wait()
        return [*said, self.search(text), self.pids()]

    def forked(self) -> int:
        """A child that holds on to all that it was born with; its process id."""
        child = os.fork()
        if not child:
            os.close(0)
            os.close(1)
            while True:
                time.sleep(60)
        return child

    async def _in_a_loop(self, number: int) -> Any:
        async with AsyncMemory(self._data_dir, **self._settings) as memory:
            return (await memory.add(f"loop {number}", user_id=USER)).message_id


def main() -> None:
    program = Program(sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})
    for line in sys.stdin:
        word, *arguments = json.loads(line)
        act: Callable[..., Any] = getattr(program, word)
        try:
            answer = act(*arguments)
        except MnemologError as error:
            answer = {"error": error.as_dict()}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
