"""`mnemolog events` prints the catalogue, and needs no engine for it."""

from pathlib import Path

from mnemolog.adapters.engine.engine import Engine
from mnemolog.events.registry import REGISTRY
from tests.adapters.cli.command import mnemolog


async def test_all_types_are_listed_without_an_engine(tmp_path: Path) -> None:
    told, shown = await mnemolog(tmp_path / "none", "events", "--json"), await mnemolog(tmp_path / "none", "events")

    assert [one["name"] for one in told.value] == sorted(REGISTRY.types)
    assert all(name in shown.out for name in REGISTRY.types)
    assert not (tmp_path / "none").exists()


async def test_one_type_is_shown_with_its_schema(tmp_path: Path) -> None:
    one = (await mnemolog(tmp_path, "events", "MemoryCreated", "--json")).value

    assert one["schema"]["properties"]["text"]["x-personal"] is True
    assert one["subject"] == "mnemolog.events.p<partition>.MemoryCreated"
    assert one["key_scope"] == "memory:<memory_id>"


async def test_an_unknown_type_is_wrong_input(tmp_path: Path) -> None:
    ran = await mnemolog(tmp_path, "events", "MemoryDreamt", "--json")

    assert (ran.code, ran.value["error"]["field"]) == (2, "type")


async def test_counts_are_those_of_the_log(engine: Engine, user: str) -> None:
    await engine.writes.create({"user_id": user, "text": "Ana drinks tea"})

    before = await engine.log.counts()  # Others, and the engine's own jobs, may write meanwhile.
    told = (await mnemolog(engine.settings.directory, "events", "--counts", "--json")).value
    after = await engine.log.counts()

    counts = {one["name"]: one["count"] for one in told}
    assert counts.keys() >= after.keys()
    assert all(before.get(name, 0) <= count <= after.get(name, 0) for name, count in counts.items())
