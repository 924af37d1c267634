"""The connections of an engine and its embedding process, closed together with it."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

import psycopg
from sqlalchemy import Connection as SyncConnection
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import Endpoints
from mnemolog.adapters.engine.reaching import reaching
from mnemolog.adapters.minilm import EmbeddingProcess, InThread, embedder_named, model_in
from mnemolog.adapters.minilm.caching import CachingEmbedder
from mnemolog.adapters.minilm.prefetching import PrefetchingEmbedder
from mnemolog.adapters.minilm.sharing import SharedModel, share
from mnemolog.adapters.nats.connection import Connection
from mnemolog.adapters.nats.connection import connect as connect_to_nats
from mnemolog.adapters.openai.client import ModelClient
from mnemolog.adapters.openai.embedder import OpenAIEmbedder
from mnemolog.adapters.openai.endpoint import endpoint_of
from mnemolog.adapters.postgres.as_of import NoSeal
from mnemolog.adapters.postgres.blocking import BlockingPool
from mnemolog.adapters.postgres.confinement import READER, may_read_as_reader
from mnemolog.adapters.postgres.migrate import migrate
from mnemolog.adapters.postgres.own_log import require_no_other, require_own
from mnemolog.adapters.postgres.pool import CONNECT_SECONDS, Pool, open_pool
from mnemolog.adapters.postgres.roots import Roots, open_roots, require_master_key
from mnemolog.adapters.postgres.sqlalchemy import PROJECTING, READING, checked, create_engine
from mnemolog.adapters.redis.client import RedisClient
from mnemolog.adapters.redis.client import connect as connect_to_redis
from mnemolog.projections.seal import RowSeal
from mnemolog.projections.vectors.embedder import Embedder

# Connections that a pool keeps once they were needed: to connect again takes Postgres longer than a search.
POOL = 10

Admit = Callable[[SyncConnection], None]


@dataclass(frozen=True, slots=True)
class Connections:
    """`pool` tests a connection before its use; the log uses `untried` ones, and notices dead ones itself.

    These two, `blocking` and `beside_log` connect to the log's database, the others to that of the projections, which
    may be another. `rows` is for operators' access to the tables of projections, `writing` for projectors, `reading`
    for readers, `verifying` for verification, whose connection keeps temporary tables. `replaying` keeps no
    connections: each replay has its own.
    """

    pool: Pool
    untried: Pool
    blocking: BlockingPool
    nats: Connection
    redis: RedisClient
    roots: Roots
    beside_log: AsyncEngine
    rows: AsyncEngine
    writing: AsyncEngine
    reading: AsyncEngine
    verifying: AsyncEngine
    replaying: AsyncEngine


async def connect(stack: AsyncExitStack, endpoints: Endpoints, master_key: bytes, *, migrating: bool) -> Connections:
    """Connect to all three servers, or raise an error that names the one that is down."""
    with_key = partial(require_master_key, master_key=master_key) if migrating else None
    pool, untried = await _postgres_pools(stack, endpoints.postgres_dsn, with_key)
    blocking = BlockingPool(endpoints.postgres_dsn)
    stack.callback(blocking.close)
    roots = await open_roots(pool, master_key, os.urandom)
    if endpoints.split:
        async with reaching("projections", endpoints.projections_dsn):
            await _ready(endpoints.projections_dsn)
            if migrating:
                admit = partial(require_no_other, log_id=roots.log_id)
                await asyncio.to_thread(migrate, endpoints.projections_dsn, of="projections", admit=admit)
    async with reaching("nats", endpoints.nats_url):
        nats = await connect_to_nats(endpoints.nats_url, "mnemolog")
        stack.push_async_callback(nats.close)  # At once: a cancellation that was lost meanwhile is raised at the end.
    seal = RowSeal(roots.derived("rows"))
    dsn = endpoints.projections_dsn
    rows = _sqlalchemy_engine(stack, dsn, seal, POOL)
    beside_log = rows
    if endpoints.split:
        beside_log = _sqlalchemy_engine(stack, endpoints.postgres_dsn, seal, POOL)
        async with reaching("projections", dsn):
            await require_own(rows, roots.log_id)
    role = READER if await may_read_as_reader(rows) else None
    writing = _sqlalchemy_engine(stack, dsn, seal, POOL, projecting=True)
    reading = _sqlalchemy_engine(stack, dsn, seal, POOL, options=READING, role=role, isolation_level="AUTOCOMMIT")
    verifying = _sqlalchemy_engine(stack, dsn, seal, kept=1)
    replaying = create_engine(dsn, NoSeal(), poolclass=NullPool)
    redis = await _redis_client(stack, endpoints.redis_url)
    engines = beside_log, rows, writing, reading, verifying, replaying
    return Connections(pool, untried, blocking, nats, redis, roots, *engines)


async def _postgres_pools(stack: AsyncExitStack, postgres_dsn: str, admit: Admit | None) -> tuple[Pool, Pool]:
    """One pool that tests connections before each use, and one for the log, which notices dead ones itself.

    With `admit`, the log is migrated first.
    """
    async with reaching("postgres", postgres_dsn):
        await _ready(postgres_dsn)
        if admit:
            await asyncio.to_thread(migrate, postgres_dsn, admit=admit)
        tried = await open_pool(postgres_dsn, size=POOL)
        stack.push_async_callback(tried.close)
    untried = await open_pool(postgres_dsn, size=POOL, check=False)
    stack.push_async_callback(untried.close)
    return tried, untried


async def _ready(postgres_dsn: str) -> None:
    """Check that a database answers. A pool retries any error; this one raises the server's answer at once."""
    await (await psycopg.AsyncConnection.connect(postgres_dsn, connect_timeout=CONNECT_SECONDS)).close()


async def _redis_client(stack: AsyncExitStack, redis_url: str) -> RedisClient:
    async with reaching("redis", redis_url):
        redis = await connect_to_redis(redis_url)
        stack.push_async_callback(redis.aclose)
    return redis


async def embedder_of(
    stack: AsyncExitStack,
    settings: Settings,
    indexed: Callable[[], Awaitable[int | None]],
    *,
    projecting: bool,
    sharing: bool,
    attached: bool,
) -> Embedder:
    """Whoever runs projections embeds over the API, or by a model in a process of its own.

    With `sharing`, for attached clients, too: those of the engine of a data directory, which a role has not.
    `indexed` returns the dimensions of the vectors that there are.
    """
    endpoint, folder = endpoint_of(settings, "embedding"), settings.embedder_folder
    if endpoint is None and folder is None and settings.embedder == "lexical":
        return embedder_named("lexical")
    if endpoint is None and not (projecting or attached):
        return InThread(model_in(folder, settings.calibrations))
    if endpoint:
        client = ModelClient(endpoint)
        stack.push_async_callback(client.aclose)
        own: Embedder = OpenAIEmbedder(client, indexed, settings.calibrations)
    elif attached:
        own = InThread(model_in(folder, settings.calibrations))
    else:
        process = EmbeddingProcess(model_in(folder, settings.calibrations))
        stack.push_async_callback(process.aclose)
        own = process
    if attached:
        return SharedModel(own, settings.directory)
    embedder = PrefetchingEmbedder(CachingEmbedder(own))
    if sharing:
        await share(stack, embedder, settings.directory)
    return embedder


def _sqlalchemy_engine(
    stack: AsyncExitStack,
    postgres_dsn: str,
    seal: RowSeal,
    kept: int,
    *,
    projecting: bool = False,
    options: str = "",
    role: str | None = None,
    **pool: str,
) -> AsyncEngine:
    options = PROJECTING if projecting else options
    engine = create_engine(
        postgres_dsn,
        seal,
        f"{options} -c role={role}" if role else options,
        pool_size=kept,
        max_overflow=2 * POOL - kept,
        **pool,
    )
    stack.push_async_callback(engine.dispose)
    return engine if projecting else checked(engine)  # A worker retries anyway.
