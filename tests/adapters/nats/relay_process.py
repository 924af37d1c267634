"""A relay in a process of its own: `python -m tests.adapters.nats.relay_process POSTGRES_DSN NATS_URL`."""

import asyncio
import os
import sys

from mnemolog.adapters.nats.connection import connect
from mnemolog.adapters.nats.relay import Relay
from mnemolog.adapters.nats.streams import StreamLimits, Streams
from mnemolog.adapters.postgres.outbox import Outbox
from mnemolog.adapters.postgres.pool import open_pool
from mnemolog.adapters.postgres.roots import open_roots
from tests.testkit.events import KEY


async def main(postgres_dsn: str, nats_url: str) -> None:
    async with await open_pool(postgres_dsn) as pool:
        client = await connect(nats_url, "relay process")
        streams = Streams(client.jetstream(), StreamLimits())
        chain_key = (await open_roots(pool, KEY, os.urandom)).derived("chain")
        await Relay(Outbox(pool, postgres_dsn, chain_key), client, KEY, streams).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
