"""Copies of one new Postgres cluster, for engines of tests, with a database that an engine has made its tables in.

Only clusters that need not be durable are copied. An engine that finds its database empty is given the one with tables.
Tests of the embedded servers, of upgrades and of what an engine makes where do without: they use `new_clusters`.
"""

import asyncio
import fcntl
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, cast

import psycopg
from psycopg.errors import InvalidCatalogName, ObjectInUse
from redis.asyncio import Redis
from sqlalchemy import make_url

from mnemolog.adapters.embedded import EmbeddedServers, postgres_cluster
from mnemolog.adapters.embedded.account import Account
from mnemolog.adapters.embedded.postgres_server import DATABASE
from mnemolog.adapters.engine import connections
from mnemolog.adapters.minilm import embedder_named
from mnemolog.adapters.postgres.as_of import NoSeal
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.migrate import migrate
from mnemolog.adapters.postgres.sqlalchemy import create_engine
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.projections.vectors.projector import NAME as VECTORS
from tests import FOLDER

# Where the cluster is that is copied: one for all processes of a test run.
PLACE = FOLDER / "cluster"
# In each copy, a database with every table but those of vectors, whose names have that of the model.
WITH_TABLES = f"{DATABASE}_with_tables"
# Maps of free space and of pages that every transaction sees: Postgres makes them when it needs them.
MAPS = ("*_fsm", "*_vm")
# Most of a cluster is zeros, and a test run has hundreds of them.
COPY = ("cp", "-R", "--preserve=mode,ownership", "--sparse=always") if sys.platform == "linux" else ("cp", "-a")
NOWHERE = "redis://127.0.0.1:1"
by_initdb = postgres_cluster._create


def copy_clusters() -> None:
    """From now on, in this process."""
    vars(postgres_cluster)["_create"] = _copied
    vars(connections)["migrate"] = _exchanged


@contextmanager
def new_clusters() -> Iterator[None]:
    """Engines opened meanwhile have a cluster by initdb, and make all their tables themselves."""
    vars(postgres_cluster)["_create"] = by_initdb
    try:
        yield
    finally:
        vars(postgres_cluster)["_create"] = _copied


def _copied(directory: Path, binary: Path, account: Account | None, *, durable: bool) -> None:
    if durable:
        by_initdb(directory, binary, account, durable=durable)
        return
    draft = postgres_cluster._draft(directory)
    subprocess.run(["rm", "-rf", draft], check=True)
    subprocess.run([*COPY, _template(binary, account), draft], check=True)
    draft.rename(directory)


def _template(binary: Path, account: Account | None) -> Path:
    """Made by the first who asks."""
    PLACE.mkdir(exist_ok=True)
    with (PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cluster := PLACE / "postgres").exists():
            by_initdb(PLACE / "draft", binary, account, durable=False)
            (PLACE / "draft").rename(cluster)
            with ThreadPoolExecutor(1) as apart:
                apart.submit(asyncio.run, _fill()).result()
            # A copy takes the longer, the more files there are.
            for kind in MAPS:
                for file in cluster.glob(f"base/*/{kind}"):
                    file.unlink()
    return cluster


async def _fill() -> None:
    with EmbeddedServers(PLACE, nats_url=NOWHERE, redis_url=NOWHERE, durable=False) as servers:
        dsn = servers.endpoints.postgres_dsn
        with psycopg.connect(_beside(dsn), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {WITH_TABLES}".encode())
            # 300 files for each copy, and nobody makes a database of it.
            connection.execute("ALTER DATABASE template0 IS_TEMPLATE false")
            connection.execute("DROP DATABASE template0")
        filled = make_url(dsn).set(database=WITH_TABLES).render_as_string(hide_password=False)
        await asyncio.to_thread(migrate, filled)
        engine, no_log = create_engine(filled, NoSeal()), cast(PostgresLog, None)
        projections = Projections(engine, Redis.from_url(NOWHERE), no_log, embedder_named("lexical"))
        del projections._postgres[VECTORS]
        await projections.create()
        await engine.dispose()


def _exchanged(
    postgres_dsn: str,
    *,
    of: Literal["log", "projections"] = "log",
    admit: connections.Admit = lambda connection: None,
) -> None:
    """As an engine migrates; an empty database is first exchanged for the one with tables."""
    if of == "log" and make_url(postgres_dsn).database == DATABASE:
        with psycopg.connect(postgres_dsn) as connection:
            used = connection.execute("SELECT FROM pg_namespace WHERE starts_with(nspname, 'mnemolog')").fetchone()
        if used is None:
            # None is there, or it has been exchanged just now, or somebody else looks, too.
            with suppress(InvalidCatalogName, ObjectInUse), psycopg.connect(_beside(postgres_dsn)) as connection:
                connection.execute(f"ALTER DATABASE {DATABASE} RENAME TO {DATABASE}_empty".encode())
                connection.execute(f"ALTER DATABASE {WITH_TABLES} RENAME TO {DATABASE}".encode())
    migrate(postgres_dsn, of=of, admit=admit)


def _beside(postgres_dsn: str) -> str:
    return make_url(postgres_dsn).set(database="postgres").render_as_string(hide_password=False)
