"""Checkpoints come back with a backup, erased ones do not, and verification finds nothing amiss (X23)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mnemolog
from mnemolog import AsyncMemory
from mnemolog.adapters.backup.archive import Progressed
from mnemolog.adapters.backup.backing_up import back_up
from mnemolog.adapters.backup.restoring import restore
from mnemolog.adapters.engine.engine import now, open_engine
from mnemolog.langgraph import MnemologSaver
from tests.testkit.checkpoints import config, saved, values
from tests.testkit.settings import settings_in


@contextmanager
def silent(label: str, total: int) -> Iterator[Progressed]:
    yield lambda count: None


@pytest.mark.spec_part("X23")
async def test_a_backup_contains_the_checkpoints(tmp_path: Path) -> None:
    source, target = settings_in(tmp_path / "source"), settings_in(tmp_path / "target")
    file, state = tmp_path / "today.mnemolog", [b"s" * 50_000, "Lisbon"]
    mine: dict[str, Any] = {"user_id": "ana", "durable": False, "embedder": "lexical"}
    async with open_engine(source) as engine, AsyncMemory(source.directory, **mine) as memory:
        saver = MnemologSaver(memory)
        at = await saved(saver, state=state)
        await saver.aput_writes(at, [("state", "next")], "task")
        await saved(saver, config("gone"), secret="forgotten")
        await saver.adelete_thread("gone")
        await back_up(
            engine.endpoints.postgres_dsn,
            source,
            engine.verifier.anchors,
            file,
            now(),
            mnemolog.__version__,
            lambda count: None,
            with_master_key=True,
        )
        assert (await engine.verifier.verify()).clean

    assert (await restore(target, file, silent)).report.clean

    async with open_engine(target), AsyncMemory(target.directory, **mine) as memory:
        saver = MnemologSaver(memory)
        found = await saver.aget_tuple(at)
        assert found is not None
        assert found.checkpoint["channel_values"] == {"state": state}
        assert found.pending_writes == [("task", "state", "next")]
        assert await values(saver, config("gone")) is None
        await saved(saver, at, version=2, state=[*state, "Porto"])
        assert await values(saver) == {"state": [*state, "Porto"]}
