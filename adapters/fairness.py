"""Long loops over events let other tasks run."""

import asyncio

# To encode or decode one takes a tenth of a millisecond, and a dozen loops may run beside each other.
EVENTS_AT_ONCE = 100


async def let_others_run(done: int) -> None:
    """Call it before each event of a loop, with the number of those before it."""
    if done and done % EVENTS_AT_ONCE == 0:
        await asyncio.sleep(0)
