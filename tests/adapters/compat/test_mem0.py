"""mem0's calls on the engine. `python -m tests.bench.mem0_calls` compares them with mem0's own package."""

import asyncio
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from mnemolog.compat.mem0 import AsyncMemory, Memory
from tests.adapters.compat.mem0_script import script

SAID = {"agent_id": "coach", "run_id": "r1", "user_id": "ana"}
WHOLE = {"id": True, "created_at": True, "updated_at": True}
MOVED, LOVELY = "I moved to Lisbon last spring", "Lisbon is lovely in spring."
PEANUTS, DOG, PORTO = "I am allergic to peanuts", "My dog is called Bruno", "I moved to Porto"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(data_dir=tmp_path_factory.mktemp("mem0"), durable=False, embedder="lexical") as opened:
        yield opened


@pytest.mark.spec_part("E08")
def test_a_program_sees_what_it_sees_on_mem0(tmp_path: Path) -> None:
    with Memory(data_dir=tmp_path, durable=False) as own:
        seen = script(own)

    refused = {name: seen.pop(name) for name in list(seen) if name.startswith("refused")}
    assert set(refused.values()) == {"ValueError"}
    assert len(refused) == 11
    hashes = [md5(text.encode(), usedforsecurity=False).hexdigest() for text in (MOVED, PORTO)]
    shown = {**SAID, "role": "user", "actor_id": "ana", **WHOLE}
    deleted = {"message": "Memory deleted successfully!"}
    assert seen == {  # As mem0 2.2.1 answers.
        "add": [
            {"memory": MOVED, "event": "ADD", "role": "user", "actor_id": "ana"},
            {"memory": LOVELY, "event": "ADD", "role": "assistant", "actor_id": None},
        ],
        "get": {"memory": MOVED, "hash": hashes[0], "metadata": {"topic": "home", "n": 3}, **shown},
        "get_all": [PEANUTS, MOVED, LOVELY],
        "get_all, 1": 1,
        "get_all, expired too": [PEANUTS, MOVED, LOVELY, DOG],
        "get_all of a run": [MOVED, LOVELY],
        "search": [MOVED],
        "search, equal": [PEANUTS],
        "search, operator": [PEANUTS],
        "search, or": [PEANUTS, MOVED, LOVELY],
        "search of nobody": [],
        "update": {"message": "Memory updated successfully!"},
        "updated": {"memory": PORTO, "hash": hashes[1], "metadata": {"topic": "move", "n": 3}, **shown},
        "history": [("ADD", None, MOVED, False), ("UPDATE", MOVED, PORTO, False)],
        "delete": deleted,
        "deleted": None,
        "history of a deleted one": [("ADD", None, PEANUTS, False), ("DELETE", PEANUTS, None, True)],
        "an agent's own": ["Be brief"],
        "delete_all": {"message": "Memories deleted successfully!"},
        "after delete_all": [],
        "another user": ["I live in Porto"],
        "reset": None,
        "after reset": [],
    }


@pytest.mark.parametrize("when", [946_684_800, "2000-01-01", "2000-01-01T00:00:00", "2000-01-01T01:00:00+01:00"])
def test_a_search_as_of_a_time_takes_the_forms_of_mem0(memory: Memory, user: str, when: str | int) -> None:
    memory.add("I work at Acme", user_id=user, infer=False)
    search = partial(memory.search, "Acme", filters={"user_id": user})
    assert (len(search()["results"]), search(reference_date=when)["results"]) == (1, [])


@pytest.mark.parametrize("when", ["yesterday", 10**20])
def test_a_time_that_is_none_is_named(memory: Memory, user: str, when: str | int) -> None:
    with pytest.raises(ValueError, match="reference_date"):
        memory.search("Acme", filters={"user_id": user}, reference_date=when)
    with pytest.raises(ValueError, match="timestamp"):
        memory.add("I work at Acme", user_id=user, timestamp=when)


def test_a_time_that_would_be_lost_is_refused(memory: Memory, user: str) -> None:
    for options in ({"infer": False}, {"memory_type": "procedural_memory"}):
        with pytest.raises(ValueError, match="timestamp"):
            memory.add("I work at Acme", user_id=user, timestamp=1_700_000_000, **options)
    assert memory.get_all(filters={"user_id": user})["results"] == []


def test_messages_are_recorded_and_found_and_are_not_changed(memory: Memory, user: str) -> None:
    chat = [{"role": "user", "content": [{"type": "text", "text": "I work at Acme"}], "name": "Ana"}]
    added = memory.add(chat, user_id=user, run_id="r", timestamp=1_700_000_000, metadata={"app": "web"})["results"][0]

    own = {"user_id": user}
    assert (added["memory"], added["event"]) == ("I work at Acme", "ADD")
    found = memory.search("Acme", filters={**own, "app": "web", "run_id": "r"}, explain=True)["results"][0]
    assert (found["id"], found["metadata"], found["actor_id"]) == (added["id"], {"app": "web"}, "Ana")
    assert found["score_details"]
    assert memory.get(added["id"]) is not None
    assert memory.search("Acme", filters={**own, "app": "cli"})["results"] == []
    with pytest.raises(ValueError, match="records what was said"):
        memory.update(added["id"], text="I work at Globex")
    memory.delete(added["id"])
    assert memory.get(added["id"]) is None
    assert [entry["event"] for entry in memory.history(added["id"])] == ["ADD", "DELETE"]


def test_a_chat_with_tools_and_pictures_is_recorded_whole(memory: Memory, user: str) -> None:
    picture = "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n rest").decode()
    chat: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": picture}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "weather", "arguments": "{}"}}]},
        {"role": "tool", "content": "17 degrees"},
        {"role": "developer", "content": "Be brief."},
    ]
    added = memory.add(chat, user_id=user)["results"]
    assert [one["memory"] for one in added] == ["", "weather {}", "17 degrees"]
    [shown] = [one for one in memory.native.list_messages(user_id=user) if one.attachments]
    assert shown.message_id == added[0]["id"].rsplit(":", 1)[-1]


def test_what_delete_all_hid_is_restored_by_its_run(
    memory: Memory, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["I like tea", "I like figs"]
    for text, kept in zip(texts, (False, True), strict=True):
        memory.add(text, user_id=user, infer=kept)
    with caplog.at_level("INFO"):
        memory.delete_all(user_id=user)
    assert memory.get_all(filters={"user_id": user})["results"] == []

    run = re.findall(r"of_run='(.+?)'", caplog.text)[0]
    memory.native.rollback(of_run=run, user_id=user)
    assert sorted(one["memory"] for one in memory.get_all(filters={"user_id": user})["results"]) == sorted(texts)


@pytest.mark.parametrize("name", ["a:b", "memory:x", "ä/ö %3A", "agent:coach"])
def test_an_id_names_its_user_whatever_the_user_is_called(memory: Memory, name: str) -> None:
    added = memory.add("I like tea", user_id=name, infer=False)["results"][0]
    found = memory.get(added["id"])
    assert found
    assert (found["memory"], found["user_id"]) == ("I like tea", name)


@pytest.mark.parametrize("odd", ["", "x", "ana:memory", "ana:memory:", "ana:fact:1", "ana:memory:not-an-id"])
def test_an_id_that_is_none_is_not_found(memory: Memory, odd: str) -> None:
    with pytest.raises(ValueError, match="memory_id"):
        memory.delete(odd)


def test_conditions_are_combined(memory: Memory, user: str) -> None:
    texts = ["a note on tea", "a note on the boiler", "a note on Lisbon", "a note on chess"]
    for n, text in enumerate(texts):
        memory.add(text, user_id=user, metadata={"n": n, "tag": "even" if n % 2 == 0 else "odd"}, infer=False)

    def found(conditions: dict[str, object]) -> list[int]:
        filters = {"user_id": user, **conditions}
        listed = {one["memory"] for one in memory.get_all(filters=filters)["results"]}
        searched = {one["memory"] for one in memory.search("note", filters=filters, threshold=0)["results"]}
        assert listed == searched
        return sorted(map(texts.index, listed))

    assert found({"AND": [{"n": {"gte": 1}}, {"n": {"lt": 3}}]}) == [1, 2]
    assert found({"NOT": [{"tag": "odd"}]}) == [0, 2]
    assert found({"n": {"in": [0, 3]}, "tag": {"icontains": "EV"}}) == [0]
    assert found({"n": [1, 2], "tag": {"ne": "odd"}}) == [2]
    assert found({"tag": "*", "n": {"gt": "1"}}) == []
    assert found({"other": "*"}) == []


async def test_calls_at_once_and_the_settings_of_mem0(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = {"vector_store": {"provider": "qdrant"}, "mnemolog": {"data_dir": tmp_path, "durable": False}}
    async with AsyncMemory.from_config(config) as memory:
        assert "vector_store" in caplog.text
        texts = [f"fact number {n}" for n in range(10)]
        await asyncio.gather(*(memory.add(text, user_id="ana", infer=False) for text in texts))
        listed = await memory.get_all(filters={"user_id": "ana"})
        assert sorted(one["memory"] for one in listed["results"]) == texts
