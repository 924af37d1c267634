"""Each role of an engine in processes of its own, several of each, on servers that none of them started."""

import asyncio
import json
import os
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine, open_role
from mnemolog.adapters.engine.roles import EngineRole
from mnemolog.adapters.http.local_token import token_file
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.keys import from_file
from mnemolog.domain.errors import InvalidInput
from tests.testkit import warm
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

START_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class RoleProcess:
    process: warm.Process
    said: dict[str, Any]

    @property
    def url(self) -> str:
        return str(self.said["http_url"])

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def role(engine: Engine, name: str) -> AsyncIterator[RoleProcess]:
    """`mnemolog ROLE` from when it says that it runs."""
    port = ["--port", "0"] if name == "serve" else []
    process = await warm.spawn(
        *("mnemolog", name, "--json", *port),
        env={**os.environ, **_environment(engine)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout
        said = b""
        async with asyncio.timeout(START_SECONDS):
            while not said.endswith(b"}\n"):
                said += await process.stdout.readline()
        yield RoleProcess(process, json.loads(said))
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _environment(engine: Engine) -> dict[str, str]:
    endpoints, directory = engine.endpoints, engine.settings.directory
    return {
        "MNEMOLOG_DATA_DIR": str(directory),
        "MNEMOLOG_POSTGRES_URL": endpoints.postgres_dsn,
        "MNEMOLOG_NATS_URL": endpoints.nats_url,
        "MNEMOLOG_REDIS_URL": endpoints.redis_url,
        "MNEMOLOG_MASTER_KEY": b64encode(from_file(directory / "master.key")).decode(),
        "MNEMOLOG_EMBEDDER": engine.settings.embedder,
        "MNEMOLOG_READ_DEADLINE": "60",
    }


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Engine]:
    """Servers alone: nothing of an engine runs on them."""
    async with open_engine(settings_in(tmp_path), passive=True) as engine:
        yield engine


@pytest.mark.faults
@pytest.mark.spec_part("X11")
async def test_two_of_each_role_do_what_one_engine_does_and_go_on_when_one_of_each_is_killed(servers: Engine) -> None:
    async with AsyncExitStack() as stack:
        names = [name for name in EngineRole for _ in range(2)]
        started = await asyncio.gather(*(stack.enter_async_context(role(servers, name)) for name in names))
        by_role = {name: [one for one in started if one.said["role"] == name] for name in EngineRole}
        token = token_file(servers.settings).read_text(encoding="ascii").strip()
        bearer = {"Authorization": f"Bearer {token}"}
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=120, headers=bearer))
        first, second = by_role[EngineRole.SERVE]

        assert await written_and_read(client, first.url, second.url, range(10))
        await eventually(lambda: _done(servers))

        for one in by_role.values():
            await one[0].kill()

        assert await written_and_read(client, second.url, second.url, range(10, 20))
        async with asyncio.timeout(60):
            while await servers.outbox.size():  # noqa: ASYNC110  The relay is another process.
                await asyncio.sleep(0.1)
        job = await servers.jobs.enqueue("retention", {}, unique_key="once more")
        await eventually(lambda: _is(servers, JobStatus.SUCCEEDED, job.job_id))
        await servers.settled(60)


async def written_and_read(client: httpx.AsyncClient, to: str, of: str, numbers: range) -> bool:
    """Write by one server and read by another what was written; whether all of it is found."""
    token = ""
    for number in numbers:
        told = {"user_id": "ana", "text": f"I keep {number} goats"}
        written = (await client.post(f"{to}/v1/memories", json=told)).raise_for_status().json()
        token = written["token"]
    asked = {"user_id": "ana", "query": "goats", "top_k": 100, "return": "full", "after": token}
    found = (await client.post(f"{of}/v1/search", json=asked)).raise_for_status().json()
    return {f"I keep {number} goats" for number in numbers} <= {one["text"] for one in found["hits"]}


async def _done(engine: Engine) -> bool:
    return {"retention", "patrol"} <= {job.kind for job in await engine.jobs.list(JobStatus.SUCCEEDED)}


async def _is(engine: Engine, status: JobStatus, job_id: Any) -> bool:
    return (await engine.jobs.get(job_id)).status is status


async def test_a_role_alone_does_its_own_and_leaves_the_rest(servers: Engine, tmp_path: Path) -> None:
    settings = servers.settings.model_copy(
        update={
            "data_dir": tmp_path / "none",  # There is no such directory on a machine that runs only a role.
            "master_key": b64encode(from_file(servers.settings.directory / "master.key")).decode(),
            "embedder": "minilm",
            "postgres_url": servers.endpoints.postgres_dsn,
            "nats_url": servers.endpoints.nats_url,
            "redis_url": servers.endpoints.redis_url,
        }
    )
    async with open_role(settings, EngineRole.SERVE) as serving:
        await serving.writes.create({"user_id": "ana", "text": "I keep goats"})
        assert await serving.outbox.size() == 1
        async with open_role(settings, EngineRole.RELAY):
            await eventually(lambda: _relayed(serving))
        assert await serving.projections.running["memories"].lag() == 1
        async with open_role(settings, EngineRole.PROJECT):
            await eventually(serving.projections.settled)
        assert await serving.jobs.list() == []
        async with open_role(settings, EngineRole.WORK):
            await eventually(lambda: _done(serving))
    assert not settings.directory.exists()


async def _relayed(engine: Engine) -> bool:
    return not await engine.outbox.size()


async def test_a_role_needs_servers_of_ones_own(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        async with open_role(load(data_dir=tmp_path, postgres_url="postgresql://localhost/nowhere"), EngineRole.WORK):
            pass
    assert refused.value.field == "nats_url"
