"""The commands that read the graph."""

from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import mnemolog
from tests.engine.teller import Teller


@pytest.mark.spec("X13", "A07")
async def test_facts_and_entities_are_shown_to_people_and_to_programs(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since="2026-01-10")
    await ana.tells("Alice", "lives_in", "Lisbon", since="2026-03-01")
    [alice] = await ana.entities("alice")

    async def run(*arguments: str) -> tuple[str, Any]:
        shown = await mnemolog(engine.settings.directory, *arguments, "-u", user)
        ran = await mnemolog(engine.settings.directory, *arguments, "-u", user, "--json")
        assert shown.code == ran.code == 0, ran
        return shown.out, ran.value

    shown, facts = await run("fact", "list", "--about", "ALICE", "--valid-at", "2026-02-01")
    assert [fact["object"] for fact in facts["items"]] == ["Berlin"]
    assert "2026-01-10 – 2026-03-01" in shown
    _, earlier = await run("fact", "list", "--as-of", "@3")
    assert [fact["object"] for fact in earlier["items"]] == ["Berlin"]
    shown, known = await run("entity", "get", str(alice["entity_id"]))
    assert known["card"] == "[person:alice]: lives in Lisbon"
    assert "Lisbon" in shown
    _, then = await run("entity", "get", str(alice["entity_id"]), "--as-of", "@3")
    assert then["card"] == "[person:alice]: lives in Berlin"
    _, before = await run("entity", "list", "--as-of", "@0")
    assert before["items"] == []
    _, history = await run("history", str(alice["entity_id"]))
    assert [row["subject"] for row in history["items"]] == ["entity"]
