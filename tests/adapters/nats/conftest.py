"""A NATS and a database of their own beside the engine's, for relays that no engine leads."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

import psycopg
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from sqlalchemy import make_url

from mnemolog.adapters.embedded import EmbeddedServers
from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.nats.connection import connect
from mnemolog.adapters.nats.relay import Relay
from mnemolog.adapters.nats.streams import StreamLimits, Streams
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.migrate import migrate
from mnemolog.adapters.postgres.outbox import Outbox
from mnemolog.adapters.postgres.pool import open_pool
from mnemolog.adapters.postgres.roots import open_roots
from mnemolog.events.codec import Codec
from tests.testkit.events import KEY


@dataclass(frozen=True)
class Apart:
    """A log and a JetStream that nothing runs on yet."""

    log: PostgresLog
    outbox: Outbox
    nats: Client
    jetstream: JetStreamContext
    postgres_dsn: str
    nats_url: str
    chain_key: bytes

    @property
    def streams(self) -> Streams:
        return Streams(self.jetstream, StreamLimits())

    def relay(self) -> Relay:
        return Relay(self.outbox, self.nats, KEY, self.streams)

    async def deliver(self) -> None:
        """What a leader would do until the outbox is empty."""
        async with self.outbox.session() as session:
            while await self.relay().deliver(session):
                pass


@pytest.fixture(scope="session")
async def apart(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Apart]:
    """Its NATS is new; its database is one more on the engine's Postgres."""
    dsn = engine.endpoints.postgres_dsn
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute("CREATE DATABASE apart")
    own = make_url(dsn).set(database="apart").render_as_string(hide_password=False)
    migrate(own)
    directory, redis_url = tmp_path_factory.mktemp("apart"), engine.endpoints.redis_url
    with EmbeddedServers(directory, durable=False, postgres_url=dsn, redis_url=redis_url) as servers:
        nats = await connect(servers.endpoints.nats_url, "tests")
        await Streams(nats.jetstream(), StreamLimits()).ensure()
        async with await open_pool(own) as pool:
            roots = await open_roots(pool, KEY, os.urandom)
            chain_key = roots.derived("chain")
            log, outbox = PostgresLog(pool, Codec(), roots, now), Outbox(pool, own, chain_key)
            yield Apart(log, outbox, nats, nats.jetstream(), own, servers.endpoints.nats_url, chain_key)
        await nats.close()
