"""Memories that mem0 exported are taken in as they were, under one import id (X17)."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.export import mem0
from mnemolog.commands.rollback import Rollback
from mnemolog.compat import mem0 as compat
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import batch_tag
from tests.engine.person import Person


def memory(**fields: Any) -> dict[str, Any]:
    return {
        "id": "5f1c",
        "memory": "Likes green tea",
        "hash": "0a1b",
        "metadata": {"category": "preferences", "mood": "calm"},
        "created_at": "2025-07-01T10:00:00-07:00",
        "updated_at": None,
        "user_id": "someone",
        **fields,
    }


def saved(path: Path, *memories: Any, **around: Any) -> Path:
    path.write_text(json.dumps({"count": len(memories), "results": memories, **around}), encoding="utf-8")
    return path


async def taken_in(engine: Engine, path: Path, user: str) -> mem0.Report:
    return await mem0.take_in(engine, mem0.read(path, user), mem0.import_id(path))


@pytest.mark.spec("X17")
async def test_memories_keep_their_words_category_and_time_and_share_one_import_id(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana = Person(engine, user)
    later = memory(id="b", memory="Moved to Porto", created_at="2025-08-01T00:00:00Z", metadata=None, run_id="r1")
    path = saved(tmp_path / "mem0.json", later, memory())

    report = await taken_in(engine, path, user)

    assert (report.recorded, report.already) == (2, 0)
    rows = await engine.reads.newest(ana.viewer, 10, await ana.caught_up())
    told = [(row["text"], row["category"], row["occurred_at"].isoformat(), row["actor_id"]) for row in rows]
    assert told == [
        ("Moved to Porto", "note", "2025-08-01T00:00:00+00:00", "mem0"),
        ("Likes green tea", "preferences", "2025-07-01T17:00:00+00:00", "mem0"),
    ]
    assert [row["metadata"] for row in rows] == [{"run_id": "r1"}, {"category": "preferences", "mood": "calm"}]
    batch = await engine.log.read(ana.stream, tags=[batch_tag(report.import_id)])
    assert len(batch) == 2


@pytest.mark.spec("X17")
async def test_the_same_file_again_changes_nothing(engine: Engine, user: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "mem0.json", memory())
    await taken_in(engine, path, user)

    again = await taken_in(engine, path, user)

    assert (again.recorded, again.already) == (0, 1)
    assert await engine.log.head(Person(engine, user).stream) == 1


@pytest.mark.spec("X15", "X17")
async def test_the_same_file_after_a_rollback_brings_its_memories_back(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana = Person(engine, user)
    path = saved(tmp_path / "mem0.json", memory(), memory(id="b", memory="Likes black tea"))
    first = await taken_in(engine, path, user)
    before = await ana.finds("tea")
    asked = {"user_id": user, "of_batch": first.import_id, "at": now()}
    await engine.writes.rollback(Rollback.model_validate(asked))
    assert await ana.finds("tea") == []

    again = await taken_in(engine, path, user)

    assert (again.recorded, again.restored, again.already) == (0, 2, 0)
    assert await ana.finds("tea") == before


@pytest.mark.spec_part("E08")
async def test_what_was_imported_is_found_through_the_calls_of_mem0(tmp_path: Path) -> None:
    odd = {"agent_id": "chef", "role": "user", "actor_id": "Ana", "expiration_date": "2999-01-01"}
    path = saved(tmp_path / "mem0.json", memory(**odd), memory(id="b", memory="Likes tea too", agent_id="coach"))
    async with compat.AsyncMemory(data_dir=tmp_path / "data", durable=False, embedder="lexical") as own:
        engine = await own.native._engine()
        await taken_in(engine, path, "ana")
        await engine.settled()

        [found] = (await own.search("tea", filters={"user_id": "ana", "agent_id": "chef"}))["results"]

        assert {name: found[name] for name in odd} == odd
        assert (found["user_id"], found["metadata"]) == ("ana", {"category": "preferences", "mood": "calm"})
        assert len((await own.search("tea", filters={"user_id": "ana"}))["results"]) == 2


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ('{"results": 3}', "path"),
        ("[", "path"),
        (json.dumps({"results": [memory(), memory(memory="")]}), "results[1].memory"),
        (json.dumps({"results": [{"id": "a", "memory": "tea"}]}), "results[0].user_id"),
        (json.dumps([memory(created_at="2025-07-01")]), "results[0].created_at"),
        (json.dumps(["tea"]), "results[0]"),
    ],
)
def test_what_is_no_export_of_mem0_is_refused_with_its_place(tmp_path: Path, content: str, field: str) -> None:
    path = tmp_path / "mem0.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(InvalidInput) as refused:
        mem0.read(path)

    assert refused.value.field == field
    assert "tea" not in refused.value.message
