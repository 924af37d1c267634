"""The faults themselves: each does to a running deployment what its name says, on the real path."""

import asyncio
import gc
import json
import os
import shutil
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from random import Random

import nats
import psycopg
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError
from redis.asyncio import Redis

from mnemolog.adapters.nats.subjects import ALL_EVENTS, EVENTS
from mnemolog.adapters.nats.wire import MESSAGE_ID
from mnemolog.adapters.postgres.lease import SILENCE_SECONDS
from tests.faults.deployment import Deployment
from tests.testkit.network import slow_commits

ASTRAY = "astray.>"
ACCOUNT = "MNEMOLOG"
GATHER_SECONDS = 0.4
RELOAD_SECONDS = 0.1

RELAY = """
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = hashtextextended('mnemolog relay 0', 0)
"""
PROJECTORS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%progress%'
"""
COMMITTING = """
SELECT pg_terminate_backend(pid)::int FROM pg_stat_activity WHERE wait_event = 'PgSleep'
"""
BACKENDS = """
SELECT pid FROM pg_stat_activity
WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid() ORDER BY pid
"""


async def _engine(deployment: Deployment, random: Random) -> None:
    await deployment.kill()
    await asyncio.sleep(random.uniform(0, 0.5))  # Its servers go on alone, and so do writers in other processes.
    await deployment.restart()


async def _engine_and_servers(deployment: Deployment, random: Random) -> None:
    pids = [deployment.pid(name) for name in ("postgres", "nats", "redis")]
    await deployment.kill()
    for pid in random.sample(pids, len(pids)):
        os.kill(pid, signal.SIGKILL)
    await deployment.restart()


def _server(name: str) -> Callable[[Deployment, Random], Awaitable[None]]:
    async def kill(deployment: Deployment, random: Random) -> None:
        os.kill(deployment.pid(name), signal.SIGKILL)

    return kill


async def _relay_session(deployment: Deployment, random: Random) -> None:
    await _execute(deployment, RELAY)


async def _projector_sessions(deployment: Deployment, random: Random) -> None:
    await _execute(deployment, PROJECTORS)


async def _postgres_backend(deployment: Deployment, random: Random) -> None:
    """One backend dies without a word: Postgres ends all sessions and recovers from its write-ahead log."""
    pids = await _execute(deployment, BACKENDS)
    os.kill(random.choice(pids), signal.SIGKILL)


async def _callers_cancelled(deployment: Deployment, random: Random) -> None:
    """Half of those who wait for an answer here go away, again and again."""
    for _ in range(60):
        for caller in [one for one in deployment.callers if random.random() < 0.5]:
            caller.cancel()
        await asyncio.sleep(random.uniform(0, 0.03))


async def _leader_hung(deployment: Deployment, random: Random) -> None:
    """The engine that leads is stopped, longer than its leases last, beside one that works; then it wakes."""
    async with deployment.standby():
        deployment.stop()
        try:
            await asyncio.sleep(random.uniform(SILENCE_SECONDS + 1, SILENCE_SECONDS + 4))
        finally:
            deployment.wake()
        await asyncio.sleep(random.uniform(0, 1))


async def _commits_cut(deployment: Deployment, random: Random) -> None:
    """Connections are lost while a commit is on its way: it goes on without its client, or ends with its backend."""
    dsn = deployment.engine.endpoints.postgres_dsn
    async with slow_commits(dsn, random.uniform(0.1, 0.5)):
        for _ in range(6):
            await asyncio.sleep(random.uniform(0.05, 0.3))
            if random.random() < 0.7:
                _cut_here()
            else:
                await _execute(deployment, COMMITTING)


def _cut_here() -> None:
    """Every connection that this process has to Postgres, as a network that goes away cuts it."""
    for connection in [one for one in gc.get_objects() if isinstance(one, psycopg.AsyncConnection)]:
        if not connection.closed:
            with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as same:
                same.shutdown(socket.SHUT_RDWR)


async def _redis_emptied(deployment: Deployment, random: Random) -> None:
    async with Redis.from_url(deployment.engine.endpoints.redis_url) as redis:
        await redis.flushall()


async def _jetstream_wiped(deployment: Deployment, random: Random) -> None:
    """The storage goes from under a running server; it starts again with nothing: no streams, no consumers."""
    storage = deployment.data_dir / "nats" / "jetstream"
    gone = storage.with_name("gone")
    storage.rename(gone)
    os.kill(deployment.pid("nats"), signal.SIGKILL)
    await asyncio.to_thread(shutil.rmtree, gone, ignore_errors=True)


async def _deliveries(deployment: Deployment, random: Random) -> None:
    """Between relay and projectors the server sends some events astray. JetStream keeps them, so the relay is content.

    Afterwards some of them come late, in any order and more than once; the others never come.
    """
    client = await nats.connect(deployment.engine.endpoints.nats_url)
    try:
        jetstream = client.jetstream()
        config = (await jetstream.stream_info(EVENTS)).config
        first = (await jetstream.stream_info(EVENTS)).state.last_seq + 1
        await jetstream.update_stream(config.evolve(subjects=[ALL_EVENTS, ASTRAY]))
        async with _mapped(deployment, {ALL_EVENTS: _split(random.randint(30, 90))}):
            await asyncio.sleep(GATHER_SECONDS)
        strayed = await _stored_astray(jetstream, first)
        for message in _late_and_doubled(strayed, random):
            # Without its message id, or JetStream would recognise it.
            headers = {name: str(value) for name, value in (message.headers or {}).items() if name != MESSAGE_ID}
            subject = (message.subject or "").replace("astray.", "mnemolog.events.", 1)
            await jetstream.publish(subject, message.data or b"", headers=headers)
        await jetstream.purge_stream(EVENTS, subject=ASTRAY)
        await jetstream.update_stream(config)
    finally:
        await client.close()


def _split(lost: int) -> list[dict[str, str]]:
    return [
        {"destination": ALL_EVENTS, "weight": f"{100 - lost}%"},
        {"destination": ASTRAY, "weight": f"{lost}%"},
    ]


@asynccontextmanager
async def _mapped(deployment: Deployment, mappings: dict[str, list[dict[str, str]]]) -> AsyncIterator[None]:
    """The running server with these subject mappings."""
    path = deployment.data_dir / "nats" / "server.conf"
    before = path.read_text()
    config = json.loads(before)
    config.get("accounts", {}).get(ACCOUNT, config)["mappings"] = mappings
    path.write_text(json.dumps(config))
    os.kill(deployment.pid("nats"), signal.SIGHUP)
    try:
        yield
    finally:
        path.write_text(before)
        os.kill(deployment.pid("nats"), signal.SIGHUP)
        await asyncio.sleep(RELOAD_SECONDS)


async def _stored_astray(jetstream: JetStreamContext, first: int) -> list[RawStreamMsg]:
    found: list[RawStreamMsg] = []
    with suppress(NotFoundError):
        while True:
            found.append(await jetstream.get_msg(EVENTS, first, ASTRAY, next=True))
            first = (found[-1].seq or 0) + 1
    return found


def _late_and_doubled(strayed: list[RawStreamMsg], random: Random) -> list[RawStreamMsg]:
    """A third of them once, a third twice, in any order; a third never."""
    again = [message for message in strayed for _ in range(random.randint(0, 2))]
    return random.sample(again, len(again))


async def _execute(deployment: Deployment, statement: str) -> list[int]:
    dsn = deployment.engine.endpoints.postgres_dsn
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        return [row[0] for row in await (await connection.execute(statement)).fetchall()]


STRIKES: dict[str, Callable[[Deployment, Random], Awaitable[None]]] = {
    "engine": _engine,
    "engine and servers": _engine_and_servers,
    "relay session": _relay_session,
    "projector sessions": _projector_sessions,
    "nats": _server("nats"),
    "postgres": _server("postgres"),
    "postgres backend": _postgres_backend,
    "callers cancelled": _callers_cancelled,
    "leader hung": _leader_hung,
    "commits cut": _commits_cut,
    "redis": _server("redis"),
    "redis emptied": _redis_emptied,
    "jetstream wiped": _jetstream_wiped,
    "deliveries": _deliveries,
}
