"""Another engine, in a process of its own, on the servers of the one that the tests share."""

import asyncio
import os
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.keys import from_file
from tests.testkit import warm

START_SECONDS = 300.0


@asynccontextmanager
async def another(engine: Engine, data_dir: Path, **environment: str) -> AsyncIterator[warm.Process]:
    """Runs `mnemolog up` until the end, and has its first line when it begins."""
    process = await warm.spawn(
        *("mnemolog", "up", "--json", "--port", "0"),
        env={**os.environ, **_environment(engine, data_dir), **environment},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout
        async with asyncio.timeout(START_SECONDS):
            assert await process.stdout.readline()
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _environment(engine: Engine, data_dir: Path) -> dict[str, str]:
    endpoints = engine.endpoints
    return {
        "MNEMOLOG_DATA_DIR": str(data_dir),
        "MNEMOLOG_POSTGRES_URL": endpoints.postgres_dsn,
        "MNEMOLOG_NATS_URL": endpoints.nats_url,
        "MNEMOLOG_REDIS_URL": endpoints.redis_url,
        "MNEMOLOG_MASTER_KEY": b64encode(from_file(engine.settings.directory / "master.key")).decode(),
        "MNEMOLOG_EMBEDDER": engine.settings.embedder,
    }
