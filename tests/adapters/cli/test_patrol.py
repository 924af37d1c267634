"""`mnemolog patrol run` and `mnemolog cluster list`, each in a process of its own."""

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import mnemolog
from tests.engine.person import Person

pytestmark = pytest.mark.spec_part("C05", "C06", "C11")


async def test_a_patrol_says_what_it_would_do_then_does_it_and_is_rolled_back(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    light = await mia.creates("Mia sneezed in the office", kind="scene", scope="agent", importance=0.01)
    whose, home = ("--user", user, "--agent", "mia"), engine.settings.directory

    would = await mnemolog(home, "patrol", "run", *whose, "--dry-run", "--json")
    did = await mnemolog(home, "patrol", "run", *whose, "--run-id", f"{user}-1", "--json")
    listed = await mnemolog(home, "cluster", "list", *whose)
    undone = await mnemolog(home, "rollback", "--of-run", f"{user}-1", *whose)
    shown = await mnemolog(home, "patrol", "run", *whose)

    assert did.code == 0, did.err
    assert would.value["steps"] == did.value["steps"]
    steps = {one["step"]: one for one in did.value["steps"]}
    assert steps["1 notes"]["changes"] == [{"what": "placed", "id": str(light), "into": "Business"}]
    assert steps["3 flag dying"]["changes"] == [{"what": "dying", "id": str(light), "into": ""}]
    skipped = {name for name, one in steps.items() if "no chat model" in one["why"] and not one["changes"]}
    assert skipped == {"4 consolidate", "6 split", "diary and think_md"}
    assert "Business" in listed.out
    assert undone.code == 0, undone.err
    assert "1 placed" in shown.out
    assert "skipped: no chat model" in shown.out


async def test_an_agent_without_scenes_is_refused(engine: Engine, user: str) -> None:
    refused = await mnemolog(engine.settings.directory, "patrol", "run", "--user", user, "--agent", "noah", "--json")

    assert (refused.code, refused.value["error"]["code"]) == (1, "not_found")
