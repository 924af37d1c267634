"""`after` and `deadline` mean the same over HTTP, on the command line and in Python (X10)."""

import asyncio
import time
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from mnemolog import AsyncMemory, MnemologError
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.reads import waiting
from mnemolog.adapters.reads.waiting import Waits
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import Receipt
from tests.adapters.cli.command import Ran, mnemolog
from tests.engine.person import Person

COMMANDS = ("search", "list", "changes", "history", "session", "entity list", "fact list")
ROUTES = (
    "/v1/search",
    "/v1/memories",
    "/v1/memories/{id}",
    "/v1/history/{id}",
    "/v1/changes",
    "/v1/session",
    "/v1/entities",
)
BEYOND = "default/user:{user}@99"
NO_ONES = "ends at seq 1: there was no 99 in time"


async def written(engine: Engine, user: str) -> tuple[str, Receipt]:
    """A memory of a user, and its receipt."""
    memory_id, receipt = await engine.writes.create({"user_id": user, "text": "Ana drinks tea"})
    return str(memory_id), receipt


async def over_http(engine: Engine, route: str, user: str, memory_id: str, **when: Any) -> httpx.Response:
    transport = httpx.ASGITransport(create_app(engine))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        if route == "/v1/search":
            return await http.post(route, json={"user_id": user, "query": "tea", **when})
        return await http.get(route.format(id=memory_id), params={"user_id": user, **when})


def arguments(command: str, user: str, memory_id: str, after: str) -> list[str]:
    subject = {"search": ["tea"], "history": [memory_id]}.get(command, [])
    return [*command.split(), *subject, "--user", user, "--after", after, "--json"]


@pytest.mark.spec("X10")
@pytest.mark.parametrize("route", ROUTES)
async def test_http_waits_until_the_deadline_of_the_request(engine: Engine, user: str, route: str) -> None:
    memory_id, _ = await written(engine, user)
    began = time.monotonic()

    answer = await over_http(engine, route, user, memory_id, after=BEYOND.format(user=user), deadline=0.1)

    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "read_timeout"
    assert NO_ONES in answer.json()["error"]["message"]
    assert time.monotonic() - began < engine.settings.read_deadline


@pytest.mark.spec("X10")
@pytest.mark.parametrize(
    "route", ["/v1/search", "/v1/memories", "/v1/memories/{id}", "/v1/history/{id}", "/v1/changes"]
)
async def test_http_sees_the_write_of_the_token(engine: Engine, user: str, route: str) -> None:
    memory_id, receipt = await written(engine, user)

    answer = await over_http(engine, route, user, memory_id, after=receipt.token, deadline=10)

    assert answer.status_code == 200
    assert "Ana drinks tea" in answer.text or memory_id in answer.text


@pytest.mark.spec("X10")
@pytest.mark.parametrize("route", ["/v1/search", "/v1/memories", "/v1/memories/{id}", "/v1/changes"])
async def test_http_sees_what_any_process_wrote_before_without_a_token(engine: Engine, user: str, route: str) -> None:
    """The writes are another engine's: the one that is asked has not seen their receipts."""
    async with open_engine(engine.settings, attach=True) as other:
        for number in range(5):
            memory_id, _ = await other.writes.create({"user_id": user, "text": f"Ana drinks tea number {number}"})

            answer = await over_http(engine, route, user, str(memory_id))

            assert answer.status_code == 200
            assert f"number {number}" in answer.text


@pytest.mark.spec("X10")
async def test_http_sees_the_turn_just_recorded_in_the_session(engine: Engine, user: str) -> None:
    for number in range(1, 6):
        await Person(engine, user).says(f"tea number {number}")

        answer = await over_http(engine, "/v1/session", user, "", thread_id="main")

        assert answer.json()["msg_count"] == number


@pytest.mark.spec("X10")
@pytest.mark.parametrize(("route", "name"), [("/v1/messages", "conversation"), ("/v1/session", "working")])
async def test_http_refuses_what_it_cannot_show_and_shows_what_it_has_where_that_is_wanted(
    engine: Engine, user: str, route: str, name: str
) -> None:
    ana, store = Person(engine, user), engine.projections.stores[name]
    await ana.says("I drink tea")
    before = await over_http(engine, route, user, "")
    await store.stop(ana.stream, await engine.log.head(ana.stream) + 1, "ValueError: made up")
    await ana.says("I drink coffee")

    strong = await over_http(engine, route, user, "")
    eventual = await over_http(engine, route, user, "", consistency="eventual")

    assert (strong.status_code, strong.json()["error"]["code"]) == (503, "projection_poisoned")
    assert "`eventual`" in strong.json()["error"]["fix"]
    assert (eventual.status_code, eventual.text) == (200, before.text)
    await store.resume()
    await engine.projections.running[name].catch_up()
    assert (await over_http(engine, route, user, "")).text != before.text


@pytest.mark.parametrize("deadline", ["0", "-1", "601", "soon", "nan"])
async def test_http_refuses_an_invalid_deadline(engine: Engine, user: str, deadline: str) -> None:
    answer = await over_http(engine, "/v1/memories", user, "", deadline=deadline)

    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "deadline")


@pytest.mark.spec("X10")
async def test_each_command_that_reads_waits_until_the_deadline(engine: Engine, user: str) -> None:
    memory_id, _ = await written(engine, user)

    async def ask(command: str) -> Ran:
        asked = arguments(command, user, memory_id, BEYOND.format(user=user))
        return await mnemolog(engine.settings.directory, *asked, "--deadline", "0.1")

    for ran in await asyncio.gather(*map(ask, COMMANDS)):
        assert ran.code == 1, ran
        assert ran.value["error"]["code"] == "read_timeout"


@pytest.mark.spec("X10")
@pytest.mark.spec_part("A11")
async def test_a_command_refuses_another_users_token_and_an_invalid_deadline(engine: Engine, user: str) -> None:
    memory_id, receipt = await written(engine, user)

    directory = engine.settings.directory
    others, none = await asyncio.gather(
        mnemolog(directory, *arguments("list", "somebody", memory_id, receipt.token)),
        mnemolog(directory, *arguments("list", user, memory_id, receipt.token), "--deadline", "0"),
    )

    assert (others.code, others.value["error"]["field"]) == (2, "after")
    assert (none.code, none.value["error"]["field"]) == (2, "deadline")


@pytest.mark.spec("X10")
async def test_python_waits_for_a_write_that_was_made_elsewhere(engine: Engine, user: str) -> None:
    memory = AsyncMemory(engine.settings.directory, durable=False, embedder="lexical")
    await memory.changes(user_id=user)
    for number in range(5):
        memory_id, receipt = await engine.writes.create({"user_id": user, "text": f"Ana drinks tea {number}"})

        found = await memory.get(memory_id, user_id=user, after=receipt)

        assert found.text == f"Ana drinks tea {number}"
        assert len(await memory.search("tea", user_id=user, top_k=9, after=receipt.token)) == number + 1


@pytest.mark.spec("X10")
@pytest.mark.spec_part("A11")
async def test_python_says_what_it_waited_for_in_vain(engine: Engine, user: str) -> None:
    memory = AsyncMemory(engine.settings.directory, durable=False, embedder="lexical")
    memory_id, receipt = await written(engine, user)
    beyond = {"after": BEYOND.format(user=user), "deadline": 0.1}
    async with asyncio.timeout(engine.settings.read_deadline):
        for read in (
            memory.search("tea", user_id=user, **beyond),  # type: ignore[arg-type]
            memory.get(memory_id, user_id=user, **beyond),  # type: ignore[arg-type]
            memory.history(memory_id, user_id=user, **beyond),  # type: ignore[arg-type]
            memory.changes(user_id=user, **beyond),  # type: ignore[arg-type]
        ):
            with pytest.raises(MnemologError, match=NO_ONES) as late:
                await read
            assert late.value.code == "read_timeout"
    with pytest.raises(InvalidInput, match="another user's write"):
        await memory.changes(user_id="somebody", after=receipt)


async def test_waits_end_with_the_engine_although_their_query_hangs(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LONGEST_QUERY_SECONDS", 0.1)
    store = engine.projections.stores["memories"]
    assert isinstance(store, PostgresStore)
    waits = Waits({store.name: store}, engine.log, store.engine, deadline=60, longest=60)
    _, receipt = await written(engine, user)
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn) as holder:
        await holder.execute(SQL("LOCK TABLE {}").format(Identifier(store.schema, "progress")))
        reading = asyncio.create_task(waits.until(receipt.position, [store.name]))
        await asyncio.sleep(0.2)

        async with asyncio.timeout(60):
            await waits.aclose()

        reading.cancel()
        await asyncio.wait([reading])
