"""Erasure over HTTP: a memory, a thread, what is known, a user."""

import pytest

from tests.adapters.http.conftest import Api

SECRET = "Zanzibarquux"


async def said(api: Api, thread_id: str = "main", message_id: str = "m1") -> str:
    """A memory that was extracted from a turn, once it can be found."""
    message = {"message_id": message_id, "content": f"I hide in {SECRET}"}
    await api.post("/v1/turns", 201, thread_id=thread_id, messages=[message])
    made = await api.post("/v1/memories", 201, text=f"Ana hides in {SECRET}", source_turn_ids=[message_id])
    memory_id: str = made["memory_id"]
    found = await api.query(SECRET, params={"after": made["token"]})
    assert memory_id in [bullet["id"] for bullet in found["bullets"]]
    return memory_id


@pytest.mark.spec("X07")
async def test_an_erasure_destroys_the_text_and_says_so_from_then_on(api: Api) -> None:
    memory_id = await said(api)

    shown = await api.post(f"/v1/memories/{memory_id}/erase", dry_run=True)
    assert (shown["memories"], shown["turns"], shown["receipt"]) == ([memory_id], ["m1"], None)
    gone = await api.post(f"/v1/memories/{memory_id}/erase")

    assert (gone["memories"], gone["turns"], gone["receipt"]["already"]) == ([memory_id], ["m1"], False)
    for status, answer in ((410, api.get), (410, api.delete)):
        refused = await answer(f"/v1/memories/{memory_id}", status)
        assert refused["error"]["code"] == "erased"
    assert (await api.post(f"/v1/memories/{memory_id}/erase"))["receipt"]["already"]
    assert (await api.query(SECRET))["bullets"] == []
    again = await api.post("/v1/turns", 201, messages={"message_id": "m1", "content": "hello"})
    assert (again["message_ids"], again["already"], again["erased"]) == (["m1"], True, True)


@pytest.mark.spec("X07")
async def test_a_survivor_is_named_before_it_is_taken(api: Api) -> None:
    one, other = [(await api.remember(text))["memory_id"] for text in (f"Ana loves {SECRET}", "Ana loves milk")]
    await api.post(f"/v1/memories/{other}/merge", absorbed_ids=[one], text=f"Ana loves milk and {SECRET}")

    refused = await api.post(f"/v1/memories/{one}/erase", 409)
    assert other in refused["error"]["message"]
    taken = await api.post(f"/v1/memories/{one}/erase", with_survivors=True)

    assert set(taken["memories"]) == {one, other}


@pytest.mark.spec("X07", "A19")
@pytest.mark.parametrize("thread_id", ["main", "tg:9/8 ü"])
async def test_a_thread_and_its_session_are_erased(api: Api, thread_id: str) -> None:
    memory_id = await said(api, thread_id)

    gone = await api.post("/v1/thread/erase", thread_id=thread_id)

    assert gone["memories"] == [memory_id]
    await api.get("/v1/session", 404, thread_id=thread_id)
    await api.post("/v1/thread/erase", 404, thread_id="nowhere")


@pytest.mark.spec("X07")
async def test_a_user_is_erased_and_may_come_back(api: Api) -> None:
    await said(api)

    gone = await api.post("/v1/user/erase")

    assert len(gone["memories"]) == 1
    assert (await api.query(SECRET))["bullets"] == []
    await said(api, message_id="m2")
    await api.of("nobody-at-all").post("/v1/user/erase", 404)


@pytest.mark.spec("X07", "A19")
async def test_erasing_an_entity_erases_its_facts_and_keeps_turns(api: Api) -> None:
    memory_id = await said(api)
    told = await api.post("/v1/facts", 201, subject=SECRET, predicate="lives_in", object="Lisbon")
    [entity] = (await api.get("/v1/entities", name=SECRET, after=told["token"]))["items"]
    gone = await api.post(f"/v1/entities/{entity['entity_id']}/erase")
    assert set(gone["known"]) == {f"entity:{entity['entity_id']}", f"relation:{told['relation_id']}"}
    assert (gone["memories"], gone["turns"]) == ([], [])
    assert (await api.get("/v1/facts", about=SECRET))["items"] == []
    assert (await api.get(f"/v1/memories/{memory_id}"))["status"] == "active"
    assert (await api.post(f"/v1/entities/{entity['entity_id']}/erase"))["receipt"]["already"]


@pytest.mark.spec("X07", "A19")
async def test_a_fact_a_field_of_the_profile_and_a_todo_are_erased_each_alone(api: Api) -> None:
    told = await api.post("/v1/facts", 201, subject="Bob", predicate="motto", object=SECRET)
    await api.post("/v1/profile", 201, field="tone", value=SECRET, consent=True)
    todo = await api.post("/v1/todos", 201, agent_id="coach", kind="habit", text=SECRET)
    names = (f"relation:{told['relation_id']}", "profile:tone", f"todo:{todo['todo_id']}")
    places = (f"/v1/facts/{told['relation_id']}", "/v1/profile/tone", f"/v1/todos/{todo['todo_id']}")
    paths = [f"{place}/erase" for place in places]
    await api.post(paths[2], 404, agent_id="cook")
    for name, path in zip(names, paths, strict=True):
        assert (await api.post(path, agent_id="coach"))["known"] == [name]
    assert len((await api.get("/v1/entities", name="Bob"))["items"]) == 1
    assert (await api.get("/v1/profile"))["fields"] == []
    assert (await api.get("/v1/todos", agent_id="coach"))["items"] == []
