"""Erasure over HTTP: a memory with `hard=true`, a thread, a user."""

from urllib.parse import quote

import pytest

from tests.adapters.http.conftest import Api

SECRET = "Zanzibarquux"


async def said(api: Api, thread_id: str = "main", message_id: str = "m1") -> str:
    """The memory that a turn leaves, once it can be found."""
    turn = {"message_id": message_id, "thread_id": thread_id, "text": f"I hide in {SECRET}"}
    made = await api.post("/turns", 201, **turn, occurred_at="2026-01-03T01:02:10Z")
    memory_id: str = made["memory_id"]
    found = await api.query(SECRET, params={"after": made["token"]})
    assert memory_id in [bullet["id"] for bullet in found["bullets"]]
    return memory_id


@pytest.mark.spec("X07")
async def test_a_hard_deletion_destroys_the_text_and_says_so_from_then_on(api: Api) -> None:
    memory_id = await said(api)

    gone = await api.delete(f"/memory/{memory_id}", hard="true")

    assert (gone["memories"], gone["turns"], gone["already"]) == ([memory_id], ["m1"], False)
    for status, answer in ((410, api.get), (410, api.delete)):
        refused = await answer(f"/memory/{memory_id}", status)
        assert refused["error"]["code"] == "erased"
    assert (await api.delete(f"/memory/{memory_id}", hard="true"))["already"]
    assert (await api.query(SECRET))["bullets"] == []
    again = await api.post("/turns", 201, message_id="m1", text="hello", occurred_at="2026-01-03T01:02:10Z")
    assert (again["memory_id"], again["already"], again["erased"]) == (memory_id, True, True)


@pytest.mark.spec("X07")
async def test_a_survivor_is_named_before_it_is_taken(api: Api) -> None:
    one, other = [(await api.remember(text))["memory_id"] for text in (f"Ana loves {SECRET}", "Ana loves milk")]
    await api.post(f"/memory/{other}/merge", absorbed_ids=[one], text=f"Ana loves milk and {SECRET}")

    refused = await api.delete(f"/memory/{one}", 409, hard="true")
    assert other in refused["error"]["message"]
    taken = await api.delete(f"/memory/{one}", hard="true", with_survivors="true")

    assert set(taken["memories"]) == {one, other}


@pytest.mark.spec("X07", "A19")
@pytest.mark.parametrize("thread_id", ["main", "tg:9/8 ü"])
async def test_a_thread_and_its_session_are_erased(api: Api, thread_id: str) -> None:
    memory_id = await said(api, thread_id)

    gone = await api.delete(f"/threads/{quote(thread_id, safe='')}")

    assert gone["memories"] == [memory_id]
    await api.get("/session", 404, chat_id=thread_id)
    await api.delete("/threads/nowhere", 404)


@pytest.mark.spec("X07")
async def test_a_user_is_erased_and_may_come_back(api: Api) -> None:
    await said(api)

    gone = await api.call("DELETE", f"/users/{api.user}")

    assert len(gone["memories"]) == 1
    assert (await api.query(SECRET))["bullets"] == []
    await said(api, message_id="m2")
    await api.call("DELETE", "/users/nobody-at-all", 404)
