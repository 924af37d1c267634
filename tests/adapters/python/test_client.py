"""The clients over HTTP: answers lost on the way, refusals with their classes, keys, files and exports."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from mnemolog import AsyncMemory
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.server import serve
from mnemolog.client import AsyncClient, Client
from mnemolog.domain import errors
from mnemolog.domain.errors import (
    AmbiguousEntity,
    Conflict,
    InvalidInput,
    MnemologError,
    NotFound,
    NotPermitted,
    Overloaded,
    ReadTimeout,
    ServerFailed,
    Unauthenticated,
    error_of,
)
from mnemolog.domain.principal import Role
from tests.adapters.principals.keys import principal

URL = "http://localhost"


class Flaky(httpx2.AsyncBaseTransport):
    """The application; the first answers are `lost` after it has made them, or `told` instead of asking it."""

    def __init__(self, engine: Engine, *told: httpx2.Response, lost: int = 0) -> None:
        self._app = httpx2.ASGITransport(create_app(engine))
        self._told, self._lost = [*told], lost
        self.keys: list[str | None] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.keys.append(request.headers.get("idempotency-key"))
        if self._told:
            return self._told.pop(0)
        answer = await self._app.handle_async_request(request)
        if self._lost:
            self._lost -= 1
            raise httpx2.ReadError("connection reset by peer")
        return answer


def problem(status: int, code: str, **headers: str) -> httpx2.Response:
    return httpx2.Response(
        status, json={"error": {"code": code, "message": "m", "field": "", "fix": "f"}}, headers=headers
    )


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemolog.client.FIRST_PAUSE_SECONDS", 0.0)


async def test_a_write_whose_answers_are_lost_is_made_once(engine: Engine, user: str) -> None:
    flaky = Flaky(engine, lost=2)
    async with AsyncClient(URL, user_id=user, transport=flaky) as client:
        created = await client.create("Prefers tea")
        assert created.already
        assert [one.memory_id for one in await client.list()] == [created.memory_id]
    [key] = set(flaky.keys[:3])
    assert key


async def test_two_calls_have_two_keys_and_a_key_given_is_kept(engine: Engine, user: str) -> None:
    flaky = Flaky(engine)
    async with AsyncClient(URL, user_id=user, transport=flaky) as client:
        for _ in range(2):
            await client.create("Prefers tea")
        assert not (await client.create("Prefers tea", idempotency_key="mine")).already
        assert (await client.create("Prefers tea", idempotency_key="mine")).already
        assert len(await client.list()) == 3
    first, second, *given, _ = flaky.keys
    assert first != second
    assert given == ["mine", "mine"]


async def test_a_write_that_never_has_an_answer_says_how_to_go_on(engine: Engine, user: str) -> None:
    flaky = Flaky(engine, lost=3)
    async with AsyncClient(URL, user_id=user, transport=flaky) as client:
        with pytest.raises(ServerFailed) as raised:
            await client.create("Prefers tea")
        assert f"idempotency_key={flaky.keys[0]!r}" in raised.value.fix
        assert (await client.create("Prefers tea", idempotency_key=flaky.keys[0])).already
    assert len(flaky.keys) == 4


@pytest.mark.parametrize(
    ("told", "sent"),
    [
        (problem(503, "overloaded", **{"Retry-After": "0"}), 2),
        (problem(429, "too_many_requests"), 2),
        (httpx2.Response(502, text="bad gateway"), 2),
        (httpx2.Response(504, text="gateway timeout"), 2),
    ],
)
async def test_what_passes_is_tried_again(engine: Engine, user: str, told: httpx2.Response, sent: int) -> None:
    flaky = Flaky(engine, told)
    async with AsyncClient(URL, user_id=user, transport=flaky) as client:
        await client.list()
    assert len(flaky.keys) == sent


@pytest.mark.parametrize(
    ("told", "kind", "retries"),
    [
        (problem(504, "read_timeout"), ReadTimeout, 2),  # It has waited as long as was asked for.
        (problem(503, "overloaded", **{"Retry-After": "3600"}), Overloaded, 2),
        (problem(503, "overloaded"), Overloaded, 0),
        (problem(409, "conflict"), Conflict, 2),
        (problem(500, "of_a_newer_server"), MnemologError, 2),
        (httpx2.Response(200, text="<html>"), ServerFailed, 2),
        (httpx2.Response(307, headers={"Location": "http://elsewhere"}), ServerFailed, 2),
    ],
)
async def test_what_does_not_pass_is_raised_at_once(
    engine: Engine, user: str, told: httpx2.Response, kind: type[MnemologError], retries: int
) -> None:
    flaky = Flaky(engine, told)
    async with AsyncClient(URL, user_id=user, transport=flaky, retries=retries) as client:
        with pytest.raises(MnemologError) as raised:
            await client.list()
    assert type(raised.value) is kind
    assert len(flaky.keys) == 1


async def test_a_server_that_is_not_there_is_named(unused_tcp_port: int) -> None:
    async with AsyncClient(f"http://127.0.0.1:{unused_tcp_port}", user_id="nobody") as client:
        with pytest.raises(ServerFailed, match="ConnectError"):
            await client.list()


@pytest.mark.parametrize(
    "kind", [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, MnemologError)]
)
def test_an_error_is_told_and_raised_in_its_class(kind: type[MnemologError]) -> None:
    told = {"code": kind.code, "message": "is wrong", "field": "text", "fix": "correct it"}
    error = error_of(told)
    assert type(error) is kind
    assert str(error) == "text: is wrong (correct it)"
    assert error.plain() == told


async def test_an_error_keeps_what_its_class_adds(engine: Engine, user: str) -> None:
    error = AmbiguousEntity("subject", "Which Marta?", [{"name": "Marta Silva"}, {"name": "Marta Costa"}])
    answer = httpx2.Response(409, json={"error": error.as_dict()})
    async with AsyncClient(URL, user_id=user, transport=Flaky(engine, answer)) as client:
        with pytest.raises(AmbiguousEntity) as raised:
            await client.add_fact("Marta", "likes", "tea", literal=True)
    assert vars(raised.value) == vars(error)


async def test_a_key_reaches_as_far_over_the_client_as_it_does(guarded: Engine) -> None:
    _, text = await guarded.api_keys.create(principal("of-zoe", users=["client-zoe"], roles=[Role.READ]))
    async with serve(guarded) as url:
        async with AsyncClient(url, api_key=text) as client:
            assert list(await client.list(user_id="client-zoe")) == []
            with pytest.raises(NotFound):
                await client.list(user_id="client-yan")
            with pytest.raises(NotPermitted):
                await client.create("Prefers tea", user_id="client-zoe")
        async with AsyncClient(url) as stranger:
            with pytest.raises(Unauthenticated):
                await stranger.list(user_id="client-zoe")


async def test_files_travel_as_they_are(engine: Engine, user: str) -> None:
    async with AsyncClient(URL, user_id=user, agent_id=user, transport=Flaky(engine, lost=1)) as client:
        content = bytes(range(256)) * 5000
        added = await client.add_artifact(
            content, name="all.bin", mime="application/octet-stream", caption="every byte"
        )
        assert await client.download_artifact(added.artifact_id) == content
        link = await client.add_artifact(url="https://example.org", caption="the recipe")
        assert "the recipe" in (await client.get_artifact(link.artifact_id)).surrogate
        document = await client.add_document(b"# Naps\n\nTwenty minutes.", source="naps.md")
        assert (await client.get_document(document.document_id)).source == "naps.md"


async def test_a_user_moves_from_one_server_to_another(
    engine: Engine, guarded: Engine, user: str, tmp_path: Path
) -> None:
    file = tmp_path / "user.jsonl"
    async with AsyncClient(URL, user_id=user, transport=httpx2.ASGITransport(create_app(engine))) as client:
        await client.add_artifact(b"Buy milk", name="list.txt", caption="a list")
        await client.add("I moved to Lisbon")
        events = await client.export_user(file)
        with pytest.raises(InvalidInput, match="already exists"):
            await client.export_user(file)
        with pytest.raises(NotFound):
            await client.export_user(tmp_path / "nobody.jsonl", user_id=f"{user}-nobody")
        assert not (tmp_path / "nobody.jsonl").exists()
    assert sum(line.startswith('{"seq":') for line in file.read_text().splitlines()) == events
    _, key = await guarded.api_keys.create(principal("mover", roles=[Role.ADMIN]))
    transport = httpx2.ASGITransport(create_app(guarded))
    async with AsyncClient(URL, api_key=key, transport=transport) as other:
        receipt = await other.import_user(file)
        assert receipt.last_seq == events
        assert (await other.import_user(file)).already
        assert [one.text for one in await other.list_messages(user_id=user)] == ["I moved to Lisbon"]
        file.write_text(file.read_text().replace("Lisbon", "Li\x00sbon"))
        with pytest.raises(MnemologError):
            await other.import_user(file, user_id=f"{user}-copy")


async def test_an_export_that_ends_early_is_no_export(engine: Engine, user: str, tmp_path: Path) -> None:
    head = b'{"format":"mnemolog-user","version":1,"user_id":"ana","events":2,"head":2}\n'
    cut = httpx2.Response(200, content=head + b'{"seq":1,"type":"TurnRecorded"}\n')
    async with AsyncClient(URL, user_id=user, transport=Flaky(engine, cut)) as client:
        with pytest.raises(ServerFailed, match="1 of 2 events"):
            await client.export_user(tmp_path / "cut.jsonl")


async def test_the_client_without_await_works_beside_a_running_loop(engine: Engine, user: str) -> None:
    async with serve(engine) as url:

        def story() -> list[str]:
            with Client(url, user_id=user) as client:
                client.add("I moved to Lisbon")
                return [one.text for one in client.list_messages()]

        assert await asyncio.to_thread(story) == ["I moved to Lisbon"]


@pytest.mark.parametrize("address", ["localhost:8765", "ftp://localhost", ""])
def test_an_address_that_is_no_url_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="base_url"):
        AsyncClient(address)


@pytest.mark.parametrize("key", ["", " ", "mnk_schlüssel", "mnk_a\nb"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_told(key: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        AsyncClient(URL, api_key=key)
    assert raised.value.field == "api_key"
    assert "schlüssel" not in str(raised.value)


async def test_a_memory_and_a_client_see_the_same(engine: Engine, user: str) -> None:
    memory = AsyncMemory(engine.settings.directory, durable=False, embedder="lexical", user_id=user)
    async with AsyncClient(URL, user_id=user, transport=httpx2.ASGITransport(create_app(engine))) as client:
        created = await client.create("Prefers tea", metadata={"from": "the client"})
        read = await memory.get(created.memory_id, after=created)
        assert read == await client.get(created.memory_id, after=created)
        assert await client.search("tea") == await memory.search("tea")
