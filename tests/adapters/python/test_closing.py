"""An object that is closed while other threads and tasks use it: their calls end well, or say that it was closed."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import pytest

from mnemolog import AsyncMemory, Memory, opening
from mnemolog.domain.errors import MemoryClosed


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(tmp_path / "data", durable=False, embedder="lexical", user_id="ana") as opened:
        yield opened


@pytest.mark.spec("X14")
def test_calls_of_other_threads_end_well_while_one_closes_the_object(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "data", durable=False, embedder="lexical", user_id="ana")
    memory.add("first")

    def use(thread: int) -> list[str]:
        said = []
        for number in range(5):
            said.append(text := f"thread {thread} said {number}")
            memory.add(text)
            memory.search(text)
        return said

    with ThreadPoolExecutor(4) as pool:
        threads = [pool.submit(use, thread) for thread in range(4)]
        while not all(one.done() for one in threads):
            memory.close()
        said = [text for one in threads for text in one.result()]
    found = [message.text for message in memory.list_messages(limit=200)]
    memory.close()

    assert sorted(found) == sorted(["first", *said])


async def test_a_watch_ends_at_once_and_says_that_the_object_was_closed(memory: AsyncMemory) -> None:
    await memory.add("I moved to Lisbon")

    async def watch() -> None:
        async for _ in memory.watch():
            pass

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.3)
    began = monotonic()
    await memory.close()
    with pytest.raises(MemoryClosed, match="was closed"):
        await watching

    assert monotonic() - began < 5
    assert len(await memory.search("Lisbon")) == 1, "the next use opens it again"


async def test_a_call_that_takes_too_long_does_not_hold_up_the_closing(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging(AsyncMemory):
        @opening.guarded
        async def hang(self) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(opening, "CALLS_SECONDS", 0.2)
    hanging = Hanging(memory._settings.data_dir, durable=False, embedder="lexical")
    call = asyncio.create_task(hanging.hang())
    await asyncio.sleep(0)
    await hanging.close()
    with pytest.raises(MemoryClosed):
        await call


async def test_a_cancelled_call_harms_no_other(memory: AsyncMemory) -> None:
    calls = [asyncio.create_task(memory.add(f"message {number}")) for number in range(60)]
    await asyncio.sleep(0.02)
    for call in calls[::3]:
        call.cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    cancelled = {number for number, one in enumerate(outcomes) if isinstance(one, asyncio.CancelledError)}
    assert cancelled <= set(range(0, 60, 3))
    assert not [one for one in outcomes if isinstance(one, Exception)]
    found = [message.text for message in await memory.list_messages(limit=200)]
    assert {f"message {number}" for number in range(60) if number not in cancelled} <= set(found)
    assert len(found) == len(set(found))
