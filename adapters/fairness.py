"""Long loops over events let other tasks run."""

import asyncio

# As many as a projection applies at once. To encode or decode one takes a tenth of a millisecond.
EVENTS_AT_ONCE = 500


async def let_others_run(done: int) -> None:
    """Call it before each event of a loop, with the number of those before it."""
    if done and done % EVENTS_AT_ONCE == 0:
        await asyncio.sleep(0)
