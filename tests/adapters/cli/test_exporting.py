"""`mnemolog user export`, `user import`, `why`, `context` and `policy`: what they print."""

import json
import stat
from pathlib import Path

import pytest

from mnemolog.adapters.clock import now
from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import Ran, mnemolog
from tests.engine.person import Person
from tests.engine.story import tell


async def run(engine: Engine, *arguments: str) -> Ran:
    return await mnemolog(engine.settings.directory, *arguments)


@pytest.mark.spec("X17")
async def test_a_user_is_exported_to_standard_output_and_imported_under_another_name(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana = Person(engine, user)
    await tell(ana)
    path = tmp_path / "ana.jsonl"

    out = await run(engine, "user", "export", "-u", user)
    path.write_text(out.out, encoding="utf-8")
    came = await run(engine, "user", "import", str(path), "--user", f"{user}-again", "--json")
    again = await run(engine, "user", "import", str(path), "--user", f"{user}-again", "--json")
    refused = await run(engine, "user", "import", str(path), "--user", user, "--json")

    assert json.loads(out.out.splitlines()[0])["user_id"] == user
    assert (came.code, came.value["already"]) == (0, False), came
    assert (again.code, again.value["already"]) == (0, True)
    assert (refused.code, refused.value["already"]) == (0, True), "his own export is what he has already"
    there, here = [await person.finds("Lisbon lactose tea") for person in (ana, Person(engine, f"{user}-again"))]
    assert here == there


async def test_an_export_never_overwrites_a_file(engine: Engine, user: str, tmp_path: Path) -> None:
    await Person(engine, user).creates("Ana drinks tea")
    path = tmp_path / "ana.jsonl"
    path.write_text("mine", encoding="utf-8")

    refused = await run(engine, "user", "export", "-u", user, "--to", str(path), "--json")

    assert (refused.code, refused.value["error"]["field"]) == (2, "to")
    assert path.read_text(encoding="utf-8") == "mine"


async def test_an_export_can_be_read_by_its_owner_alone(engine: Engine, user: str, tmp_path: Path) -> None:
    await Person(engine, user).creates("Ana drinks tea")
    path = tmp_path / "ana.jsonl"

    assert (await run(engine, "user", "export", "-u", user, "--to", str(path))).code == 0

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Ana drinks tea" in path.read_text(encoding="utf-8")


@pytest.mark.spec("X04")
async def test_why_shows_the_turn_and_the_policy_behind_a_memory(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon", turn_id="t1")
    home = await ana.creates("Ana lives in Lisbon", source_turn_ids=("t1",))

    told = await run(engine, "why", str(home), "-u", user)
    value = (await run(engine, "why", str(home), "-u", user, "--json")).value

    assert "I moved to Lisbon" in told.out
    assert engine.policy.version in told.out
    assert [turn["text"] for turn in value["turns"]] == ["I moved to Lisbon"]


@pytest.mark.parametrize("verb", ["search", "context"])
async def test_that_nothing_is_known_is_said_once(engine: Engine, user: str, verb: str) -> None:
    told = await run(engine, verb, "[b]Zzyzx[/b] qwertz?", "-u", user)
    words = " ".join(told.out.split())
    assert words.lower().count("nothing is known") == 1
    assert 'Nothing is known about "[b]Zzyzx[/b] qwertz?"' in words


@pytest.mark.spec("B05")
async def test_context_prints_a_bullet_for_each_memory(engine: Engine, user: str) -> None:
    await Person(engine, user).creates("Ana is lactose intolerant", category="profile")

    told = await run(engine, "context", "where to eat?", "-u", user)
    value = (await run(engine, "context", "where to eat?", "-u", user, "--json")).value

    bullet, *nothing = told.out.strip().splitlines()
    assert bullet == f"• [profile] Ana is lactose intolerant ({now():%Y-%m-%d})"
    assert " ".join(nothing).startswith('Nothing is known about "where to eat?"')
    assert [(one["category"], one["context"]) for one in value["categories"]] == [("profile", "all")]


@pytest.mark.spec("B05")
async def test_policy_errors_are_reported_to_programs_too(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("allowlists:\n  planner: [goals, taks]\n", encoding="utf-8")

    checked = await run(engine, "policy", "check", str(path), "--json")

    assert checked.code == 2
    assert checked.value["error"]["faults"][0]["line"] == 2
    assert checked.value["error"]["field"] == "policy.yaml:2 allowlists.planner[1]"
