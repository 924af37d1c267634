"""Leads and says so, again and again: `python -m tests.adapters.postgres.lease_process POSTGRES_DSN NAME SECONDS`.

With SECONDS for the silence that ends a lease, and the rest in proportion, so that a test need not wait long.
"""

import asyncio
import os
import sys

from mnemolog.adapters.postgres import lease
from mnemolog.adapters.postgres.lease import Lease, lead


async def work(held: Lease) -> None:
    while True:
        held.require()
        sys.stdout.write(f"{os.getpid()}\n")
        sys.stdout.flush()
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    silence = int(sys.argv[3])
    lease.SILENCE_SECONDS, lease.VALID_SECONDS, lease.HEARTBEAT_SECONDS = silence, 0.8 * silence, 0.2 * silence
    asyncio.run(lead(sys.argv[1], sys.argv[2], work))
