"""A read that is cancelled gives its connection back, at whatever moment."""

import asyncio
import gc
import random
import warnings

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT

AT_ONCE = 15


async def test_cancelled_reads_leave_no_connection_to_the_garbage_collector(engine: Engine, user: str) -> None:
    viewer = Viewer(DEFAULT_TENANT, user, DEFAULT_AGENT)

    async def read_for(seconds: float) -> None:
        reading = asyncio.create_task(engine.reads.newest(viewer, 5))
        await asyncio.sleep(seconds)
        reading.cancel()
        await asyncio.wait([reading])

    await engine.writes.create({"user_id": user, "text": "tea"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        await asyncio.gather(*(engine.reads.newest(viewer, 5) for _ in range(AT_ONCE)))
        for _ in range(20):
            await asyncio.gather(*(read_for(random.uniform(0, 0.01)) for _ in range(AT_ONCE)))
        gc.collect()

    assert [str(one.message) for one in caught] == []
    await engine.reads.newest(viewer, 5)
