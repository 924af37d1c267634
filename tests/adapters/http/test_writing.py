"""Writing over HTTP: each change happens once, answers with its receipt, and can be undone."""

import pytest

from tests.adapters.http.conftest import Api, Json


async def memory(api: Api, receipt: Json, path: str) -> Json:
    return await api.get(path, after=receipt["token"])


@pytest.mark.spec("X14")
async def test_create_answers_with_the_receipt_and_the_id(api: Api) -> None:
    made = await api.remember("Likes tea", category="preferences", kind="insight", confidence=0.5, run_id="r1")
    assert made["stream"] == f"default/user:{api.user}"
    assert (made["first_seq"], made["last_seq"], made["already"]) == (1, 1, False)
    assert made["token"] == f"default/user:{api.user}@1"
    kept = await memory(api, made, f"/v1/memories/{made['memory_id']}")
    assert (kept["text"], kept["category"], kept["kind"]) == ("Likes tea", "preferences", "insight")
    assert (kept["confidence"], kept["importance"], kept["run_id"]) == (0.5, 0.25, "r1")


@pytest.mark.spec("X14")
async def test_a_retry_with_the_same_key_makes_no_second_memory(api: Api) -> None:
    first = await api.post("/v1/memories", 201, key="k1", text="Likes tea")
    again = await api.post("/v1/memories", 201, key="k1", text="Likes tea")
    assert (again["memory_id"], again["event_ids"]) == (first["memory_id"], first["event_ids"])
    assert again["already"]
    assert len((await api.get("/v1/memories", after=again["token"]))["items"]) == 1


@pytest.mark.spec("X14")
async def test_the_same_key_with_other_content_is_a_conflict(api: Api) -> None:
    await api.post("/v1/memories", 201, key="k1", text="Likes tea")
    error = (await api.post("/v1/memories", 409, key="k1", text="Likes coffee"))["error"]
    assert (error["code"], error["field"]) == ("idempotency_conflict", "idempotency_key")


async def test_update_changes_what_is_named_and_nothing_else(api: Api) -> None:
    made = await api.remember("Likes tea", importance=0.25)
    path = f"/v1/memories/{made['memory_id']}"
    changed = await api.patch(path, text="Likes black tea", pinned=True, category=None)
    kept = await memory(api, changed, path)
    assert (kept["text"], kept["pinned"], kept["importance"]) == ("Likes black tea", True, 1.0)
    assert (await api.patch(path, pinned=True))["already"]


@pytest.mark.spec("B07")
async def test_a_deleted_memory_is_hidden_until_it_is_restored(api: Api) -> None:
    made = await api.remember("Likes tea")
    path = f"/v1/memories/{made['memory_id']}"
    gone = await api.delete(path, reason="asked to", thread_id="chat-1")
    hidden = await memory(api, gone, path)
    assert (hidden["status"], bool(hidden["purge_at"])) == ("soft_deleted", True)
    assert (await api.query("tea"))["bullets"] == []
    back = await api.post(f"{path}/restore")
    assert (await memory(api, back, path))["status"] == "active"
    assert len((await api.query("tea"))["bullets"]) == 1


async def test_a_deleted_memory_cannot_be_updated(api: Api) -> None:
    made = await api.remember("Likes tea")
    await api.delete(f"/v1/memories/{made['memory_id']}")
    error = (await api.patch(f"/v1/memories/{made['memory_id']}", 409, text="Likes coffee"))["error"]
    assert (error["code"], error["field"]) == ("transition_refused", "memory_id")
    assert error["fix"] == "restore it first"


@pytest.mark.spec("X03")
async def test_a_merge_is_undone_by_its_event(api: Api) -> None:
    tea, milk = await api.remember("Likes tea"), await api.remember("Takes milk")
    tea_path, milk_path = f"/v1/memories/{tea['memory_id']}", f"/v1/memories/{milk['memory_id']}"
    merged = await api.post(f"{tea_path}/merge", absorbed_ids=[milk["memory_id"]], text="Likes tea with milk")
    assert (await memory(api, merged, tea_path))["text"] == "Likes tea with milk"
    assert (await memory(api, merged, milk_path))["merged_into"] == tea["memory_id"]
    undone = (await api.post("/v1/undo", event_id=merged["event_ids"][0]))["receipt"]
    assert (await memory(api, undone, tea_path))["text"] == "Likes tea"
    assert (await memory(api, undone, milk_path))["status"] == "active"
    assert (await api.post("/v1/undo", event_id=merged["event_ids"][0]))["receipt"]["already"]


@pytest.mark.spec("X03")
async def test_a_change_that_others_build_on_is_not_undone(api: Api) -> None:
    made = await api.remember("one")
    path = f"/v1/memories/{made['memory_id']}"
    first = await api.patch(path, text="two")
    await api.patch(path, text="three")
    error = (await api.post("/v1/undo", 409, event_id=first["event_ids"][0]))["error"]
    assert (error["code"], error["field"]) == ("undo_conflict", "event_id")


@pytest.mark.spec("X03", "X14")
async def test_undo_of_the_last_change_happens_once_per_key(api: Api) -> None:
    made = await api.remember("one")
    path = f"/v1/memories/{made['memory_id']}"
    await api.patch(path, text="two")
    await api.patch(path, text="three")
    undone = (await api.post("/v1/undo", key="u1", memory_id=made["memory_id"]))["receipt"]
    again = (await api.post("/v1/undo", key="u1", memory_id=made["memory_id"]))["receipt"]
    assert (await memory(api, again, path))["text"] == "two"
    assert (again["already"], again["event_ids"]) == (True, undone["event_ids"])
    further = (await api.post("/v1/undo", key="u2", memory_id=made["memory_id"]))["receipt"]
    assert (await memory(api, further, path))["text"] == "one"


@pytest.mark.spec("X03", "X15")
async def test_an_undo_in_a_run_is_rolled_back_with_the_run(api: Api) -> None:
    made = await api.remember("one")
    path = f"/v1/memories/{made['memory_id']}"
    await api.patch(path, text="two")
    changed = await api.patch(path, text="three")
    by_event = (await api.post("/v1/undo", event_id=changed["event_ids"][0], run_id="r1"))["receipt"]
    last = (await api.post("/v1/undo", memory_id=made["memory_id"], run_id="r1"))["receipt"]
    assert (await memory(api, last, path))["text"] == "one"
    back = await api.post("/v1/rollback", of_run="r1")
    assert back["undone"] == [last["event_ids"][0], by_event["event_ids"][0]]
    assert (await memory(api, back["receipt"], path))["text"] == "three"


@pytest.mark.spec("X14", "X15")
async def test_a_rollback_that_is_sent_again_gives_the_same_answer(api: Api) -> None:
    tea, milk = await api.remember("Likes tea", run_id="r1"), await api.remember("Takes milk", run_id="r1")
    merged = await api.post(f"/v1/memories/{tea['memory_id']}/merge", absorbed_ids=[milk["memory_id"]], run_id="r1")
    bicycle = await api.remember("Owns a bicycle", run_id="r1")
    await api.patch(f"/v1/memories/{bicycle['memory_id']}", text="Sold it")
    first, again = [await api.post("/v1/rollback", key="r", of_run="r1", skip_conflicts=True) for _ in range(2)]
    assert first["undone"] == [one["event_ids"][0] for one in (merged, milk, tea)]
    assert [one["event_id"] for one in first["conflicts"]] == bicycle["event_ids"]
    assert again == {**first, "receipt": {**first["receipt"], "already": True}}


@pytest.mark.spec("X14")
async def test_one_key_for_two_kinds_of_change_is_a_conflict(api: Api) -> None:
    made = await api.remember("one")
    path = f"/v1/memories/{made['memory_id']}"
    await api.patch(path, text="two")
    await api.delete(path)
    await api.post(f"{path}/restore", key="k1")
    error = (await api.post("/v1/undo", 409, key="k1", memory_id=made["memory_id"]))["error"]
    assert error["code"] == "idempotency_conflict"


@pytest.mark.spec("B02")
async def test_a_link_is_in_the_history(api: Api) -> None:
    tea, milk = await api.remember("Likes tea"), await api.remember("Takes milk")
    path = f"/v1/memories/{tea['memory_id']}"
    linked = await api.post(f"{path}/link", to_id=milk["memory_id"], strength=0.8, relation_type="goes_with")
    entry = (await api.get(f"/v1/history/{tea['memory_id']}", after=linked["token"]))["items"][0]
    assert (entry["event"], entry["meta"]["to"], entry["meta"]["strength"]) == ("LINK", milk["memory_id"], 0.8)


@pytest.mark.spec("B01")
async def test_a_change_is_reported_in_the_thread_that_made_it(api: Api) -> None:
    made = await api.remember("Likes tea", thread_id="chat-1")
    here = await api.get("/v1/changes", thread_id="chat-1", after=made["token"])
    elsewhere = await api.get("/v1/changes", thread_id="chat-2", after=made["token"])
    assert (here["rev"], elsewhere["rev"]) == (1, 0)


@pytest.mark.spec("X03")
async def test_a_dry_run_of_an_undo_shows_what_would_change_and_changes_nothing(api: Api) -> None:
    made = await api.remember("Ana drinks tea")
    id_ = made["memory_id"]
    changed = await api.patch(f"/v1/memories/{id_}", text="Ana drinks coffee")
    later = await api.patch(f"/v1/memories/{id_}", text="Ana drinks milk")

    plan = await api.post("/v1/undo", memory_id=id_, dry_run=True)
    assert (plan["undone"], plan["receipt"], plan["conflicts"]) == (later["event_ids"], None, [])
    assert plan["changes"] == [{"subject": f"memory:{id_}", "type": "MemoryReverted"}]
    older = await api.post("/v1/undo", event_id=changed["event_ids"][0], dry_run=True)
    assert [one["code"] for one in older["conflicts"]] == ["undo_conflict"]
    assert (await api.get(f"/v1/memories/{id_}", after=later["token"]))["text"] == "Ana drinks milk"


@pytest.mark.spec("A19", "X02", "X03")
async def test_what_an_undo_hides_again_says_since_when(api: Api) -> None:
    kept = await api.remember("Ana drinks tea")
    marta = await api.post("/v1/entities", 201, name="Marta")
    note = await api.call("POST", "/v1/artifacts", 201, params={"user_id": api.user}, content=b"tea")
    for path in (
        f"/v1/memories/{kept['memory_id']}",
        f"/v1/entities/{marta['entity_id']}",
        f"/v1/artifacts/{note['artifact_id']}",
    ):
        await api.delete(path)
        restored = await api.post(f"{path}/restore")
        undone = (await api.post("/v1/undo", event_id=restored["event_ids"][0]))["receipt"]

        hidden = await api.get(path, after=undone["token"])
        assert (hidden["status"], hidden["forgotten_at"]) == ("soft_deleted", hidden["updated_at"]), path
        assert await api.get(path, as_of=undone["last_seq"]) == hidden

        shown = (await api.post("/v1/undo", event_id=undone["event_ids"][0]))["receipt"]
        assert (await api.get(path, after=shown["token"]))["forgotten_at"] is None


@pytest.mark.spec("A19", "X03")
async def test_a_forgotten_session_is_brought_back_by_the_undo_of_its_event(api: Api) -> None:
    said = await api.post("/v1/turns", 201, messages="hello")
    await api.get("/v1/session", after=said["token"])
    [event_id] = (await api.post("/v1/forget", scope="session", thread_id="main"))["receipt"]["event_ids"]

    plan = await api.post("/v1/undo", event_id=event_id, dry_run=True)
    assert plan["changes"] == [{"subject": "thread:main", "type": "SessionReverted"}]
    undone = (await api.post("/v1/undo", event_id=event_id))["receipt"]

    turns = (await api.get("/v1/session", after=undone["token"]))["turns"]
    assert [turn["text"] for turn in turns] == ["hello"]


async def test_the_history_of_a_field_and_of_a_todo_can_be_read(api: Api) -> None:
    await api.post("/v1/profile", 201, field="tone", value="brief", confidence=1.0)
    opened = await api.post("/v1/todos", 201, agent_id="coach", kind="habit", text="walk")
    found = await api.get("/v1/profile/tone/history")
    assert [row["meta"]["values"] for row in found["items"] if "values" in row["meta"]] == [["brief"]]
    [row] = (await api.get(f"/v1/todos/{opened['todo_id']}/history", agent_id="coach"))["items"]
    assert (row["event"], row["subject"], row["meta"]["text"]) == ("ADD", "todo", "walk")
    await api.get(f"/v1/todos/{opened['todo_id']}/history", 404, agent_id="planner")
