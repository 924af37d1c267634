"""Many writers on one memory at once: each change is written, none is lost and none is refused."""

import asyncio

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.memories import UpdateMemory
from mnemolog.events.memory import MemoryUpdated

WRITERS = 200


@pytest.mark.spec("D04", "X01")
async def test_two_hundred_writers_of_one_memory_all_get_their_turn(engine: Engine, user: str) -> None:
    memory_id, _ = await engine.writes.create({"user_id": user, "text": "Ana counts to 0"})
    updates = [
        UpdateMemory(user_id=user, memory_id=memory_id, text=f"Ana counts to {number}")
        for number in range(1, WRITERS + 1)
    ]

    receipts = await asyncio.gather(*map(engine.writes.execute, updates))

    assert sorted(one.last_seq for one in receipts) == list(range(2, WRITERS + 2))
    events = await engine.log.read(receipts[0].stream)
    written = {event.payload.text for event in events if isinstance(event.payload, MemoryUpdated)}
    assert written == {update.text for update in updates}
