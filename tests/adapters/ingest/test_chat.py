"""Plain chat logs as turns, under one import id that a rollback finds them by (X15, X17)."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters.cli.ingesting import ingest_file
from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.ingest import source
from mnemolog.adapters.ingest.ingest import Ingest
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.errors import InvalidInput
from tests.engine.person import Person

LOG = """\
[2026-03-16 20:05:58] Ana: The cat is called Miso.
She is three.

2026-03-16T20:06+01:00 Bot: What a name: Miso!
2026-03-16 20:07 Ana: Yes
"""


def read(path: Path, text: str, user: str | None = "ana") -> list[dict[str, Any]]:
    path.write_text(text, encoding="utf-8")
    return [json.loads(turn.body) for turn in source.read(path, "auto", {"user_id": user} if user else None)]


def test_each_line_with_a_time_is_a_turn_and_the_first_speaker_is_the_user(tmp_path: Path) -> None:
    turns = read(tmp_path / "log.txt", LOG)

    assert [(turn["occurred_at"], turn["role"], turn["speaker"], turn["text"]) for turn in turns] == [
        ("2026-03-16T20:05:58+00:00", "user", "Ana", "The cat is called Miso.\nShe is three.\n"),
        ("2026-03-16T20:06:00+01:00", "assistant", "Bot", "What a name: Miso!"),
        ("2026-03-16T20:07:00+00:00", "user", "Ana", "Yes"),
    ]
    assert {turn["user_id"] for turn in turns} == {"ana"}


def test_the_same_file_gives_the_same_turns_and_the_same_import(tmp_path: Path) -> None:
    first, again = read(tmp_path / "log.txt", LOG), read(tmp_path / "copy.txt", LOG)

    assert first == again
    assert {turn["correlation_id"] for turn in first} == {str(source.import_id(tmp_path / "log.txt"))}


@pytest.mark.parametrize(
    ("text", "field"), [("hello\n", "line 1"), ("\n2026-13-01 20:05 Ana: hi", "line 2"), (LOG, "user_id")]
)
def test_a_log_that_cannot_be_read_is_refused_with_its_line(tmp_path: Path, text: str, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path / "log.txt", text, user=None if field == "user_id" else "ana")

    assert refused.value.field == field


@pytest.mark.spec("X15", "X17")
async def test_an_ingested_file_is_rolled_back_as_one(engine: Engine, user: str, tmp_path: Path) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana had a dog")
    path = tmp_path / "log.txt"
    path.write_text(LOG, encoding="utf-8")
    turns = source.read(path, "auto", {"user_id": user})
    report = await Ingest(engine, turns).run()
    assert (report.recorded, report.set_aside) == (3, [])
    assert len(await ana.finds("Ana Miso cat dog name")) == 4

    asked = {"user_id": user, "of_batch": source.import_id(path), "at": now()}
    await engine.writes.rollback(Rollback.model_validate(asked))

    assert await ana.finds("Ana Miso cat dog name") == ["Ana had a dog"]


@pytest.mark.spec("X15", "X17")
async def test_a_file_that_was_rolled_back_is_ingested_again_except_what_was_deleted(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana = Person(engine, user)
    path = tmp_path / "log.txt"
    path.write_text(LOG, encoding="utf-8")
    first = await ingest_file(engine, path, "auto", user)
    deleted = source.read(path, "auto", {"user_id": user})[0]
    await ana.deletes_message(json.loads(deleted.body)["message_id"])
    before = await ana.finds("Ana Miso cat dog name")
    asked = {"user_id": user, "of_batch": first.import_id, "at": now()}

    for _ in range(2):
        await engine.writes.rollback(Rollback.model_validate({**asked, "skip_conflicts": True}))
        assert await ana.finds("Ana Miso cat dog name") == []

        again = await ingest_file(engine, path, "auto", user)

        assert (again.recorded, again.restored, again.already) == (0, 2, 1)
        assert await ana.finds("Ana Miso cat dog name") == before
    unchanged = await ingest_file(engine, path, "auto", user)
    assert (unchanged.recorded, unchanged.restored, unchanged.already) == (0, 0, 3)
