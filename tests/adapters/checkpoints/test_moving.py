"""Checkpoints leave with their user, come in with him whole, and are in backups (X17, X23)."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemolog import AsyncMemory
from mnemolog.adapters.export.exporting import head_of, lines
from mnemolog.domain.errors import Conflict, InvalidInput
from mnemolog.events.envelope import StreamId
from mnemolog.langgraph import MnemologSaver
from tests.testkit.checkpoints import checkpoint, config, saved


async def told(memory: AsyncMemory, user: str) -> None:
    """Two threads of two agents with large states and pending writes, an erased one, and one that came back."""
    await memory.add("I moved to Lisbon", user_id=user)
    for agent, thread_id in (("coach", "main"), ("tutor", "main"), ("coach", "a/b")):
        saver = MnemologSaver(memory, user_id=user, agent_id=agent)
        at, said = config(thread_id), list[Any]([random.Random(agent).randbytes(30_000)])
        for number in range(3):
            said = [*said, f"{agent} {thread_id} {number}"]
            at = await saved(saver, at, version=number, said=said, small=number)
            await saver.aput_writes(at, [("said", "next"), ("__interrupt__", "who?")], f"task {number}", "path")
    coach = MnemologSaver(memory, user_id=user, agent_id="coach")
    await saved(coach, config("gone"), secret="forgotten")
    await coach.adelete_thread("gone")
    await saved(coach, config("again"), of="before")
    await memory.erase_thread("again", user_id=user)
    made = checkpoint(1, of="after")
    await coach.aput(config("again"), made, {"step": 1, "run_id": "run 1"}, {"of": 1})


async def state(memory: AsyncMemory, user: str) -> list[Any]:
    """All that a saver says of a user's threads, but whose they are."""
    found = []
    for agent in ("coach", "tutor"):
        found += [one async for one in MnemologSaver(memory, user_id=user, agent_id=agent).alist(None)]
    return found


@pytest.fixture
async def exported(memory: AsyncMemory, user: str, tmp_path: Path) -> Path:
    await told(memory, user)
    path = tmp_path / "ana.jsonl"
    await memory.export_user(path, user_id=user)
    return path


@pytest.mark.spec("X17")
async def test_an_imported_user_has_the_checkpoints_of_the_exported_one(
    memory: AsyncMemory, user: str, exported: Path
) -> None:
    other = f"{user}-2"
    await memory.import_user(exported, user_id=other)

    assert await state(memory, other) == await state(memory, user)
    assert len(await state(memory, user)) == 10
    assert "forgotten" not in await asyncio.to_thread(exported.read_text)
    assert (await memory.import_user(exported, user_id=other)).already
    coach = MnemologSaver(memory, user_id=other, agent_id="coach")
    await coach.adelete_for_runs(["run 1"])
    assert await coach.aget_tuple(config("again")) is None
    await memory.erase_user(user_id=other)
    assert (await memory.prove_erased(user_id=other)).erased
    assert await state(memory, other) == []


def cut_off(lines: list[dict[str, Any]]) -> None:
    del lines[-1]


def without_a_chunk(lines: list[dict[str, Any]]) -> None:
    del lines[next(place for place, line in enumerate(lines) if line.get("part") == "chunk")]


def of_another_agent(lines: list[dict[str, Any]]) -> None:
    lines[-2]["agent_id"] = "nobody"


def broken_data(lines: list[dict[str, Any]]) -> None:
    lines[-2]["data"] = "AAAA"


def not_base64(lines: list[dict[str, Any]]) -> None:
    lines[-2]["data"] = "?"


def fewer(lines: list[dict[str, Any]]) -> None:
    lines[-1]["parts"] -= 1


@pytest.mark.parametrize("edit", [cut_off, without_a_chunk, of_another_agent, broken_data, not_base64, fewer])
async def test_a_file_with_damaged_checkpoints_is_refused_completely(
    memory: AsyncMemory, user: str, exported: Path, edit: Callable[[list[dict[str, Any]]], None]
) -> None:
    await asyncio.to_thread(rewritten, exported, edit)

    with pytest.raises(InvalidInput):
        await memory.import_user(exported, user_id=f"{user}-2")
    assert await state(memory, f"{user}-2") == []
    await memory.export_user(whole := exported.with_name("whole.jsonl"), user_id=user)
    await memory.import_user(whole, user_id=f"{user}-2")


def rewritten(file: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    edit(lines)
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


async def test_an_export_while_a_graph_runs_is_complete(memory: AsyncMemory, user: str, tmp_path: Path) -> None:
    saver = MnemologSaver(memory, user_id=user, keep=2)
    await saved(saver, state=[b"0" * 40_000])

    async def run() -> None:
        for thread_id in ("main", "new"):
            at = config(thread_id)
            for number in range(20):
                at = await saved(saver, at, version=number, state=[random.Random(number).randbytes(40_000)])

    running = asyncio.create_task(run())
    for number in range(3):
        path = tmp_path / f"{number}.jsonl"
        await memory.export_user(path, user_id=user)
        await memory.import_user(path, user_id=f"{user}-{number}")
        assert await state(memory, f"{user}-{number}") == []
        other = MnemologSaver(memory, user_id=f"{user}-{number}")
        assert len([one async for one in other.alist(None)]) >= 1
    await running


async def test_an_export_during_which_checkpoints_are_erased_fails(
    memory: AsyncMemory, user: str, tmp_path: Path
) -> None:
    saver = MnemologSaver(memory, user_id=user)
    await saved(saver, of="ana")
    engine, stream = await memory._engine(), StreamId.of_user(user)

    async def export() -> None:
        async for _ in lines(engine, stream, await head_of(engine, stream)):
            await saver.adelete_thread("main")

    with pytest.raises(Conflict, match="erased meanwhile"):
        await export()
