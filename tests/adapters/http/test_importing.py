"""Over HTTP: a user is taken in from a stream of lines, all or nothing, and an erasure is proved (X16, X17)."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export import importing
from mnemolog.adapters.http import importing as route
from mnemolog.adapters.http.body_limit import MAX_BODY_BYTES
from mnemolog.domain.errors import ServerFailed
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import StreamId
from tests.adapters.http.conftest import Api
from tests.adapters.principals.keys import calling, principal
from tests.engine.equality import assert_live_equals_rebuilt


async def exported(api: Api, memories: int = 3, text: str = "Ana drinks tea") -> bytes:
    for number in range(memories):
        await api.remember(f"{text} {number}")
    answer = await api.http.get("/v1/user/export", params={"user_id": api.user})
    assert answer.status_code == 200
    return answer.content


def events_of(body: bytes) -> int:
    """Memories that are alike are linked, which are events, too."""
    return int(json.loads(body.splitlines()[0])["events"])


async def taken_in(api: Api, user: str, body: Any, **headers: str) -> list[dict[str, Any]]:
    answer = await api.http.post("/v1/user/import", params={"user_id": user}, content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.content.splitlines()]


@pytest.mark.spec("X17")
@pytest.mark.parametrize("content_type", ["application/x-ndjson", "application/json", "text/plain"])
async def test_what_was_exported_is_taken_in_as_another_user_once(api: Api, content_type: str) -> None:
    body, other = await exported(api), f"{api.user}-2"
    [*_, last] = await taken_in(api, other, body, **{"Content-Type": content_type})
    receipt = last["receipt"]
    assert (receipt["last_seq"], receipt["already"]) == (events_of(body), False)
    listed = await api.of(other).get("/v1/memories", after=receipt["token"])
    assert len(listed["items"]) == 3

    again = await taken_in(api, other, body)
    assert [(line["receipt"]["already"], line["receipt"]["erased"]) for line in again] == [(True, False)]
    await api.of(other).post("/v1/user/erase")
    [gone] = await taken_in(api, other, body)
    assert (gone["receipt"]["already"], gone["receipt"]["erased"]) == (True, True)
    assert (await api.of(other).get("/v1/memories"))["items"] == []
    error = (
        await api.call(
            "POST", "/v1/user/import", 409, params={"user_id": other}, content=await exported(api.of(f"{other}-b"))
        )
    )["error"]
    assert error["code"] == "conflict"


@pytest.mark.spec("X05", "X17")
async def test_who_was_exported_and_who_was_imported_are_rebuilt_each_from_their_own_events(
    api: Api, engine: Engine
) -> None:
    """The events of both have the same ids, and come together into a rebuild."""
    body, other = await exported(api), f"{api.user}-2"
    await taken_in(api, other, body)

    await assert_live_equals_rebuilt(engine, "memories", "history")

    shown = [(await api.of(one).get("/v1/memories"))["items"] for one in (api.user, other)]
    assert [[row["user_id"] for row in rows] for rows in shown] == [[api.user] * 3, [other] * 3]
    assert {row["observations"] for rows in shown for row in rows} == {1}


async def test_the_answer_tells_the_progress_of_a_body_larger_than_others_may_be(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 2)
    monkeypatch.setattr(route, "CHUNK", 100_000)
    body = await exported(api, 12, "tea " * 50_000)
    assert len(body) > MAX_BODY_BYTES

    async def pieces() -> AsyncIterator[bytes]:
        for first in range(0, len(body), 65_536):
            yield body[first : first + 65_536]

    *told, last = await taken_in(api, f"{api.user}-2", pieces())
    written = [line["written"] for line in told]
    assert written
    assert written == sorted(set(written))
    assert {line["events"] for line in told} == {events_of(body)}
    assert last["receipt"]["last_seq"] == events_of(body)


def damaged(body: bytes) -> Iterator[tuple[bytes, str]]:
    first, second, *rest = body.splitlines(keepends=True)
    yield b"", "line 1"
    yield first, "path"
    yield first + second + b"".join(rest[:-1]), "path"
    yield first + second.replace(b'"seq":1', b'"seq":2') + b"".join(rest), "line 2 seq"
    yield first + second.replace(b"MemoryCreated", b"ApiKeyCreated") + b"".join(rest), "line 2 version"
    revoked = re.sub(rb'"version":\d+', b'"version":1', second.replace(b"MemoryCreated", b"ApiKeyRevoked"), count=1)
    yield first + revoked + b"".join(rest), "line 2 type"
    yield first + b"x" * 200 + b"\n", "line 2"


async def test_a_body_that_is_wrong_is_refused_before_anything_is_written(api: Api, engine: Engine) -> None:
    body, other = await exported(api), f"{api.user}-2"
    for wrong, field in damaged(body):
        error = (await api.call("POST", "/v1/user/import", 422, params={"user_id": other}, content=wrong))["error"]
        assert error["field"].startswith(field), error
    assert await engine.log.head(StreamId.of_user(other)) == 0


NUL = [
    ("data", "text", "a\0b"),
    ("data", "topics", ["a\0b"]),
    ("data", "metadata", {"a\0b": 1}),
    ("data", "run_id", "a\0b"),
]


@pytest.mark.parametrize(("part", "name", "value"), [*NUL, ("meta", "actor", "a\0b"), ("meta", "actor", "\ud800")])
async def test_what_no_store_could_keep_is_refused_and_nothing_is_written(
    api: Api, engine: Engine, part: str, name: str, value: Any
) -> None:
    first, second, *rest = (await exported(api)).splitlines()
    line = json.loads(second)
    line[part][name] = value
    body = b"\n".join([first, json.dumps(line).encode(), *rest])

    error = (await api.call("POST", "/v1/user/import", 422, params={"user_id": f"{api.user}-2"}, content=body))["error"]

    assert error["code"] == "invalid_input"
    assert error["field"].startswith(f"line 2 {part}.{name}")
    assert await engine.log.head(StreamId.of_user(f"{api.user}-2")) == 0


async def test_a_backslash_before_a_u_is_text(api: Api) -> None:
    body = await exported(api, 1, text=r"Ana writes \u0000 and \\u0000")
    [*_, last] = await taken_in(api, f"{api.user}-2", body)

    listed = await api.of(f"{api.user}-2").get("/v1/memories", after=last["receipt"]["token"])
    assert [one["text"] for one in listed["items"]] == [r"Ana writes \u0000 and \\u0000 0"]


async def test_a_duplicate_event_is_refused(api: Api, engine: Engine) -> None:
    first, second, third, *rest = (await exported(api)).splitlines()
    doubled = {**json.loads(third), "event_id": json.loads(second)["event_id"]}
    body = b"\n".join([first, second, json.dumps(doubled).encode(), *rest])

    error = (await api.call("POST", "/v1/user/import", 409, params={"user_id": f"{api.user}-2"}, content=body))["error"]

    assert error["field"] == "event_id"
    assert await engine.log.head(StreamId.of_user(f"{api.user}-2")) == 0


async def test_an_endless_line_is_refused_and_not_buffered(
    api: Api, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "LONGEST_LINE", 100_000)
    body = (await exported(api, 1)).splitlines()[0] + b"\n" + b"x" * 200_000
    error = (await api.call("POST", "/v1/user/import", 422, params={"user_id": f"{api.user}-2"}, content=body))["error"]
    assert (error["field"], error["message"]) == ("line 2", "has more than 100,000 bytes")


async def test_an_import_that_fails_in_the_middle_says_so_in_its_last_line_and_leaves_nothing(
    api: Api, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 1)
    body, other = await exported(api), f"{api.user}-2"
    counted = importing._counted

    def failing(batches: Any, progressed: Any) -> Iterator[Any]:
        for number, batch in enumerate(counted(batches, progressed)):
            if number == 2:
                raise ServerFailed
            yield batch

    monkeypatch.setattr(importing, "_counted", failing)
    [*_, last] = await taken_in(api, other, body)
    assert last["error"]["code"] == "server_failed"
    assert await engine.log.head(StreamId.of_user(other)) == 0
    monkeypatch.setattr(importing, "_counted", counted)
    [*_, last] = await taken_in(api, other, body)
    assert not last["receipt"]["already"]


async def test_who_goes_away_in_the_middle_leaves_nothing(
    api: Api, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 1)
    body, other = await exported(api), f"{api.user}-2"
    begun, never = asyncio.Event(), asyncio.Event()
    appended = engine.log.append_whole

    async def slow(*arguments: Any) -> Any:
        begun.set()
        await never.wait()
        return await appended(*arguments)

    monkeypatch.setattr(engine.log, "append_whole", slow)
    asking = asyncio.create_task(taken_in(api, other, body))
    async with asyncio.timeout(60):
        await begun.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    monkeypatch.undo()
    assert await engine.log.head(StreamId.of_user(other)) == 0


async def test_only_an_admin_of_every_agent_takes_a_user_in(guarded: Engine, user: str) -> None:
    for who, status in (
        (principal(), 403),
        (principal(roles=[Role.ADMIN], agents=["planner"]), 403),
        (principal(roles=[Role.ADMIN], users=["somebody"]), 404),
        (principal(roles=[Role.ADMIN]), 422),
    ):
        async with calling(guarded, who) as client:
            answer = await client.post("/v1/user/import", params={"user_id": user}, content=b"{}\n")
        assert answer.status_code == status, answer.text


@pytest.mark.spec("X16")
async def test_an_erasure_is_proved_over_http(api: Api) -> None:
    made = await api.remember("Ana hides in Zanzibarquux")
    await api.get("/v1/memories", after=made["token"])
    for subject in ({"memory_id": made["memory_id"]}, {}):
        found = await api.post("/v1/prove-erased", **subject)
        assert not found["erased"]
        assert {place["name"] for place in found["places"] if place["readable"]} >= {"log"}
    await api.post(f"/v1/memories/{made['memory_id']}/erase")
    proof = await api.post("/v1/prove-erased", memory_id=made["memory_id"], text="Zanzibarquux")
    assert proof["erased"], proof
    assert any("backups" in line for line in proof["unseen"])
    await api.call("POST", "/v1/prove-erased", 404, json={"user_id": "nobody-of-this-name"})


async def test_a_proof_over_http_takes_the_role_and_leaves_the_files_of_all_tenants_out(
    guarded: Engine, user: str
) -> None:
    await guarded.writes.create({"user_id": user, "text": "Ana hides in Zanzibarquux"})
    body = {"user_id": user, "text": "Zanzibarquux"}
    async with calling(guarded, principal(roles=[Role.ERASE])) as eraser:
        assert (await eraser.post("/v1/prove-erased", json=body)).status_code == 403
        assert (await eraser.post("/v1/prove-erased", json={"user_id": user})).status_code == 200
    async with calling(guarded, principal(roles=[Role.ADMIN])) as admin:
        proof = (await admin.post("/v1/prove-erased", json=body)).json()
    assert not [line for line in proof["unseen"] if "hold the bytes" in line]
    assert "files of the engine" not in {place["name"] for place in proof["places"]}
