"""A client loads no package of the engine: not when it is imported, and not for a call (docs/decisions/0080)."""

import asyncio
import json
import sys

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.server import serve
from mnemolog.projections.requests import KINDS
from mnemolog.projections.sources.every import SOURCES

OF_THE_ENGINE = frozenset(
    {
        "cryptography",
        "fastapi",
        "faststream",
        "nats",
        "numpy",
        "onnxruntime",
        "openai",
        "opentelemetry",
        "pgvector",
        "psutil",
        "psycopg",
        "psycopg_pool",
        "redis",
        "sqlalchemy",
        "starlette",
        "tokenizers",
        "uvicorn",
        "yaml",
    }
)
LOADED = "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
SYNC = f"""
import json, sys
from mnemolog import Client
{LOADED}
memory = Client(sys.argv[1], user_id=sys.argv[2])
memory.add("I moved to Lisbon")
memory.create("Drinks tea")
assert memory.search("tea").hits
assert memory.get_profile() is not None
memory.add_fact("Ana", "lives_in", "Lisbon")
assert memory.list_facts()
memory.add_artifact(b"the rent is 900", name="rent.txt")
assert [one for one in memory.watch(since=0, wait=0)]
memory.close()
{LOADED}
"""
ASYNC = f"""
import asyncio, json, sys
from mnemolog.client import AsyncClient
{LOADED}
async def used():
    async with AsyncClient(sys.argv[1], user_id=sys.argv[2]) as memory:
        await memory.create("Drinks tea")
        assert (await memory.search("tea")).hits
asyncio.run(used())
{LOADED}
"""
REGISTRY = f"import json, sys, mnemolog.adapters.operations.registry; {LOADED}"


async def loaded(program: str, *arguments: str) -> list[frozenset[str]]:
    """The packages of the engine that were loaded at each print."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, error = await process.communicate()
    assert process.returncode == 0, error.decode()
    return [OF_THE_ENGINE & set(json.loads(line)) for line in out.decode().splitlines()]


@pytest.mark.parametrize("program", [SYNC, ASYNC], ids=["sync", "async"])
async def test_a_client_calls_a_server_without_a_package_of_the_engine(engine: Engine, user: str, program: str) -> None:
    async with serve(engine) as url:
        assert await loaded(program, url, user) == [set(), set()]


async def test_no_operation_loads_the_engine_before_it_runs() -> None:
    assert await loaded(REGISTRY) == [set()]


async def test_the_engine_itself_is_seen_if_it_is_loaded() -> None:
    [found] = await loaded(f"import json, sys, mnemolog.adapters.engine.engine; {LOADED}")
    assert {"psycopg", "sqlalchemy", "nats", "redis", "numpy"} <= found


def test_the_kinds_that_a_search_can_ask_for_are_those_of_its_sources() -> None:
    assert frozenset[str]().union(*(one.kinds for one in SOURCES)) == KINDS
