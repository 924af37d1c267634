"""Reading over HTTP: query, history, one memory, the newest, changes, session, entities."""

import asyncio
from datetime import UTC, datetime

import pytest

from tests.adapters.http.conftest import Api, Json
from tests.bullets import undated


def after(receipt: Json) -> Json:
    return {"after": receipt["token"]}


@pytest.mark.spec("B06")
async def test_query_answers_with_bullets(api: Api) -> None:
    made = await api.remember("Ship the release by September", category="tasks")
    found = await api.query("release", params=after(made))
    text = f"[tasks] Ship the release by September ({datetime.now(UTC):%Y-%m-%d})"
    [bullet] = found.pop("bullets")
    assert bullet.pop("date").startswith(f"{datetime.now(UTC):%Y-%m-%d}")
    current = {"current": True, "superseded_by": None, "origin": "user"}
    assert bullet == {"id": made["memory_id"], "kind": "fact", "category": "tasks", "text": text, **current}
    how: dict[str, object] = {"profile": "default", "nothing": "", "related": [], "served_id": None}
    assert found == {"header": "", "rev": 1, "unknown": [], "skipped": [], "references": [], **how}


@pytest.mark.spec("B06")
async def test_a_query_returns_complete_memories_with_scores(api: Api) -> None:
    made = await api.remember("Ship the release by September", category="tasks", importance=0.75, pinned=True)
    found = await api.query("release", params=after(made), returns="full")
    [memory] = found["hits"]
    assert memory["memory_id"] == made["memory_id"]
    assert (memory["importance"], memory["pinned"], memory["status"]) == (1.0, True, "active")
    assert 0.5 < memory["score"] <= 1
    assert memory["similarity"] > 0
    assert memory["text_rank"] > 0
    assert "tenant" not in memory


@pytest.mark.spec("B06")
async def test_query_applies_every_part_of_the_request(api: Api) -> None:
    await api.remember("release plan of the red team", category="tasks", importance=0.0)
    last = await api.remember("release plan of the blue team", category="tasks", importance=1.0)
    await api.remember("release party", category="note", importance=1.0)
    last = await api.remember("release plan of the green team", category="tasks", importance=1.0, pinned=True)
    found = await api.query(
        "release plan",
        params=after(last),
        agent="planner",
        categories=["tasks"],
        filters={"importance_min": 4, "pinned": False, "updated_after": "2025-07-01", "updated_before": None},
        top_k=5,
        budget_tokens=512,
    )
    assert [undated(bullet["text"]) for bullet in found["bullets"]] == ["[tasks] release plan of the blue team"]


async def test_budget_and_top_k_cut_the_bullets(api: Api) -> None:
    for colour in ("red", "blue", "green"):
        last = await api.remember(f"the {colour} release plan")
    two = await api.query("release plan", params=after(last), top_k=2)
    one = await api.query("release plan", params=after(last), budget_tokens=18)
    assert (len(two["bullets"]), len(one["bullets"])) == (2, 1)


@pytest.mark.spec("B01")
async def test_delta_header_has_the_exact_format(api: Api) -> None:
    name = await api.remember("Preferred name is Ana", category="personal", importance=0.25)
    goal = await api.remember("Ship v1", category="goals")
    milk = await api.remember("lactose intolerance", category="profile")
    other = await api.remember("no milk", category="profile")
    seen = (await api.query("Ana", params=after(other), since_rev=0))["rev"]
    await api.patch(f"/v1/memories/{goal['memory_id']}", text="Ship v1 by Sep")
    created = await api.remember("Likes tea", category="personal", importance=0.25)
    merged = await api.post(f"/v1/memories/{milk['memory_id']}/merge", absorbed_ids=[other["memory_id"]])
    answer = await api.query("Ana", params=after(merged), since_rev=seen)
    assert answer["header"] == (
        f"Memory updates since rev {seen}:\n"
        "- ↑updated: [Goals] Ship v1 by Sep\n"
        "- +created: [Personal] Likes tea (imp=2)\n"
        "- ↔merged: Combined 2 notes about lactose intolerance"
    )
    changes = await api.get("/v1/changes", since=seen, **after(merged))
    assert (changes["header"], changes["rev"]) == (answer["header"], answer["rev"])
    assert [change["change"] for change in changes["changes"]][:2] == ["updated", "created"]
    assert changes["changes"][1]["memory_id"] == created["memory_id"] != name["memory_id"]


@pytest.mark.spec("B01")
async def test_no_header_when_nothing_changed(api: Api) -> None:
    made = await api.remember("Likes tea")
    answer = await api.query("tea", params=after(made), since_rev=1)
    assert (answer["header"], answer["rev"]) == ("", 1)


@pytest.mark.spec("B08")
async def test_history_tells_every_write_newest_first(api: Api) -> None:
    made = await api.remember("Likes tea")
    other = await api.remember("Owns a boat")  # So different that nothing links them by itself.
    path = f"/v1/memories/{made['memory_id']}"
    updated = await api.patch(path, text="Likes black tea")
    await api.post(f"{path}/link", to_id=other["memory_id"])
    await api.post(f"{path}/merge", absorbed_ids=[other["memory_id"]])
    await api.delete(path, reason="asked to")
    last = await api.post(f"{path}/restore")
    entries = (await api.get(f"/v1/history/{made['memory_id']}", **after(last)))["items"]
    assert [entry["event"] for entry in entries] == ["RESTORE", "DELETE", "MERGE", "LINK", "UPDATE", "ADD"]
    assert entries[1]["meta"]["reason"] == "asked to"
    assert (await api.get(f"{path}/history"))["items"] == entries
    update = entries[4]
    assert update["meta"]["event_id"] == updated["event_ids"][0]
    assert (update["old_ref"], update["new_ref"]) == (f"{made['memory_id']}@1", f"{made['memory_id']}@3")
    assert (update["actor"], update["seq"]) == ("user", 3)
    assert datetime.fromisoformat(update["ts"]).utcoffset() == UTC.utcoffset(None)
    newest = (await api.get(f"/v1/history/{made['memory_id']}", limit=2, **after(last)))["items"]
    assert [entry["event"] for entry in newest] == ["RESTORE", "DELETE"]


@pytest.mark.spec("X10")
async def test_a_read_with_a_token_sees_the_write(api: Api) -> None:
    for number in range(20):
        made = await api.remember(f"note {number}")
        read = await api.get(f"/v1/memories/{made['memory_id']}", **after(made))
        assert read["text"] == f"note {number}"


@pytest.mark.spec("X10")
async def test_a_token_that_is_not_reached_in_time_is_a_504(api: Api) -> None:
    error = (await api.get("/v1/memories", 504, after=f"default/user:{api.user}@99", deadline=0.1))["error"]
    assert (error["code"], error["field"]) == ("read_timeout", "after")


@pytest.mark.spec("X02")
async def test_as_of_reads_an_earlier_seq_and_time(api: Api) -> None:
    made = await api.remember("Lives in Porto", category="profile")
    await asyncio.sleep(0.002)
    between = datetime.now(UTC).isoformat()
    await asyncio.sleep(0.002)
    path = f"/v1/memories/{made['memory_id']}"
    moved = await api.patch(path, text="Lives in Lisbon")
    assert (await api.get(path, **after(moved)))["text"] == "Lives in Lisbon"
    assert (await api.get(path, as_of=1))["text"] == "Lives in Porto"
    assert (await api.get(path, as_of=between))["text"] == "Lives in Porto"
    assert (await api.get("/v1/memories", as_of=0))["items"] == []
    assert len((await api.get(f"/v1/history/{made['memory_id']}", as_of=1))["items"]) == 1
    assert (await api.get("/v1/changes", as_of=1))["rev"] == 1
    [bullet] = (await api.query("lives", params={"as_of": between}))["bullets"]
    assert undated(bullet["text"]) == "[profile] Lives in Porto"


async def test_newest_lists_what_changed_last_first(api: Api) -> None:
    made = [await api.remember(f"note {number}") for number in range(3)]
    last = await api.patch(f"/v1/memories/{made[0]['memory_id']}", text="note zero")
    listed = (await api.get("/v1/memories", limit=2, **after(last)))["items"]
    assert [memory["text"] for memory in listed] == ["note zero", "note 2"]


async def test_agent_scoped_memories_are_listed_for_their_agent_only(api: Api) -> None:
    own = await api.remember("the coach's note", scope="agent", agent_id="coach")
    assert len((await api.get("/v1/memories", agent_id="coach", **after(own)))["items"]) == 1
    assert (await api.get("/v1/memories", agent_id="other", **after(own)))["items"] == []
    assert len((await api.query("coach", agent="coach"))["bullets"]) == 1
    assert (await api.query("coach", agent="other"))["bullets"] == []


async def test_there_are_no_entities_as_of_before_the_turn(api: Api) -> None:
    await api.post("/v1/turns", 201, messages={"name": "Ana", "content": "Hello"})
    assert (await api.get("/v1/entities", as_of=0))["items"] == []


async def test_metadata_of_the_caller_is_kept_and_filtered_by_in_the_store(api: Api) -> None:
    made = await api.remember("Wants a demo", metadata={"source": "crm", "score": 6.02214076e23, "tags": ["vip"]})
    last = await api.remember("Wants a discount", metadata={"source": "mail"})
    kept = await api.get(f"/v1/memories/{made['memory_id']}", **after(last))
    assert kept["metadata"] == {"source": "crm", "score": 6.02214076e23, "tags": ["vip"]}
    for wanted, found in (({"source": "crm"}, 1), ({"tags": ["vip"]}, 1), ({"source": "web"}, 0)):
        answer = await api.query("Wants", filters={"metadata": wanted})
        assert len(answer["bullets"]) == found, wanted
    changed = await api.patch(f"/v1/memories/{made['memory_id']}", metadata={"source": "mail"})
    assert (
        len((await api.query("Wants", params=after(changed), filters={"metadata": {"source": "mail"}}))["bullets"]) == 2
    )
    undone = (await api.post("/v1/undo", memory_id=made["memory_id"]))["receipt"]
    assert (await api.get(f"/v1/memories/{made['memory_id']}", **after(undone)))["metadata"]["source"] == "crm"
