"""What a key reaches: its tenant, its users, its agents and its roles, whatever a request says."""

from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.commands.erasure import EraseUser
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import StreamId
from tests.adapters.principals.keys import calling, principal

NOTHING: dict[str, Any] = {"items": [], "next_cursor": None}


async def written(engine: Engine, user: str, **fields: Any) -> str:
    memory_id, _ = await engine.writes.create({"user_id": user, "text": "Ana likes tea", **fields})
    await engine.settled()
    return str(memory_id)


async def test_a_user_outside_the_key_looks_like_a_missing_one(guarded: Engine, user: str) -> None:
    id_ = await written(guarded, user)
    async with calling(guarded, principal(users=["somebody"])) as client:
        for who in (user, "nobody-at-all"):
            body = {"user_id": who, "text": "x"}
            answers = [
                await client.get("/v1/memories", params={"user_id": who}),
                await client.get(f"/v1/memories/{id_}", params={"user_id": who}),
                await client.get(f"/v1/history/{id_}", params={"user_id": who}),
                await client.get("/v1/session", params={"user_id": who}),
                await client.get("/v1/entities", params={"user_id": who}),
                await client.get("/v1/changes", params={"user_id": who}),
                await client.post("/v1/search", json={"query": "tea", "user_id": who}),
                await client.post("/v1/memories", json=body),
                await client.patch(f"/v1/memories/{id_}", json=body),
                await client.post("/v1/undo", json={"user_id": who, "memory_id": id_}),
                await client.post("/v1/turns", json={"user_id": who, "messages": "x"}),
            ]
            assert {answer.status_code for answer in answers} == {404}, [one.text for one in answers]
            assert all(who in answer.json()["error"]["message"] for answer in answers)
    assert await guarded.log.head(StreamId.of_user(user)) == 1
    assert await guarded.log.head(StreamId.of_user("nobody-at-all")) == 0


async def test_an_agent_outside_the_key_is_refused(guarded: Engine, user: str) -> None:
    await written(guarded, user, agent_id="planner", scope="agent")
    async with calling(guarded, principal(agents=["stylist"])) as client:
        for agent in ({}, {"agent_id": "planner"}):
            refused = await client.get("/v1/memories", params={"user_id": user, **agent})
            assert (refused.status_code, refused.json()["error"]["field"]) == (403, "agent_id")
            body = {"user_id": user, "text": "x", **agent}
            assert (await client.post("/v1/memories", json=body)).status_code == 403
        own = await client.get("/v1/memories", params={"user_id": user, "agent_id": "stylist"})
        assert (own.status_code, own.json()) == (200, NOTHING)


async def test_the_tenant_is_that_of_the_key(guarded: Engine, user: str) -> None:
    id_ = await written(guarded, user)
    async with calling(guarded, principal(tenant="acme")) as client:
        assert (await client.get("/v1/memories", params={"user_id": user})).json() == NOTHING
        assert (await client.get(f"/v1/memories/{id_}", params={"user_id": user})).status_code == 404
        made = (await client.post("/v1/memories", json={"user_id": user, "text": "Ana likes coffee"})).json()
        assert made["stream"] == f"acme/user:{user}"
        foreign = await client.get("/v1/memories", params={"user_id": user, "after": f"default/user:{user}@1"})
        assert foreign.status_code == 422


@pytest.mark.parametrize(
    ("roles", "statuses"),
    [
        ([Role.READ], (200, 403, 403)),
        ([Role.WRITE], (403, 201, 403)),
        ([Role.ERASE], (403, 403, 200)),
        ([Role.ADMIN], (200, 201, 200)),
    ],
)
async def test_a_key_does_what_its_roles_say(
    guarded: Engine, user: str, roles: list[Role], statuses: tuple[int, ...]
) -> None:
    id_ = await written(guarded, user)
    async with calling(guarded, principal(roles=roles)) as client:
        read = await client.get("/v1/memories", params={"user_id": user})
        wrote = await client.post("/v1/memories", json={"user_id": user, "text": "x"})
        erased = await client.post(f"/v1/memories/{id_}/erase", json={"user_id": user})
    assert (read.status_code, wrote.status_code, erased.status_code) == statuses


async def test_a_key_cannot_erase_a_user_out_of_its_scope(guarded: Engine, user: str) -> None:
    await written(guarded, user)
    await erase(guarded, EraseUser(user_id=user))
    async with calling(guarded, principal(users=["somebody"], roles=[Role.ERASE])) as client:
        refused = await client.post("/v1/user/erase", json={"user_id": user})
    assert refused.status_code == 404, "also when there is nothing left to erase"
    assert "event_ids" not in refused.text


async def test_history_names_the_principal_and_its_agent(guarded: Engine, user: str) -> None:
    async with calling(guarded, principal("backend")) as client:
        body = {"user_id": user, "text": "Ana likes tea", "agent_id": "planner", "category": "goals"}
        made = (await client.post("/v1/memories", json=body)).json()
        asked = {"user_id": user, "agent_id": "planner", "after": made["token"]}
        [*_, entry] = (await client.get(f"/v1/history/{made['memory_id']}", params=asked)).json()["items"]
    assert entry["actor"] == "backend/planner"


async def test_without_a_key_an_agent_that_is_named_is_the_actor(engine: Engine, user: str) -> None:
    async with calling(engine, None) as client:
        for agent, actor in (("default", "user"), ("planner", "agent:planner")):
            body = {"user_id": user, "text": "Ana likes tea", "agent_id": agent, "category": "goals"}
            made = (await client.post("/v1/memories", json=body)).json()
            asked = {"user_id": user, "agent_id": agent, "after": made["token"]}
            [*_, entry] = (await client.get(f"/v1/history/{made['memory_id']}", params=asked)).json()["items"]
            assert entry["actor"] == actor


async def test_two_principals_and_two_agents_may_count_their_requests_alike(guarded: Engine, user: str) -> None:
    made = set()
    async with calling(guarded, principal("one")) as one, calling(guarded, principal("two")) as two:
        for client, agent in ((one, "a"), (one, "b"), (two, "a")):
            for _ in range(2):
                body = {"user_id": user, "text": f"from {agent}", "agent_id": agent}
                answer = await client.post("/v1/memories", json=body, headers={"Idempotency-Key": "1"})
                assert answer.status_code == 201, answer.text
                made.add(answer.json()["memory_id"])
    assert len(made) == 3


async def test_the_health_names_users_to_administrators_only(
    guarded: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stopped() -> dict[str, dict[str, str]]:
        return {"memories": {f"default/user:{user}": "seq 1: ValueError: x"}}

    monkeypatch.setattr(guarded.projections, "stopped", stopped)
    async with calling(guarded, principal()) as app, calling(guarded, principal(roles=[Role.ADMIN])) as admin:
        shown, whole = await app.get("/health"), await admin.get("/health")
    differs = {"stopped": None, "lag": None, "outbox": None}  # What waits changes from one moment to the next.
    assert shown.json() | differs == whole.json() | differs
    assert user not in shown.text
    assert user in whole.text
