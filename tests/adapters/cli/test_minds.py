"""`mnemolog minds`, each command in a process of its own."""

import json
from pathlib import Path

import httpx
import pytest

from mnemolog.adapters.cli import doctor
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.jobs import worker as workers
from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.domain.errors import ServerFailed
from mnemolog.domain.minds.mind import Mind
from mnemolog.events.envelope import StreamId
from tests.adapters.cli.command import mnemolog
from tests.adapters.jobs.test_worker import working
from tests.engine.person import Person
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec_part("A17")


async def test_minds_are_listed_and_run_without_a_model(engine: Engine, user: str) -> None:
    directory = engine.settings.directory
    await Person(engine, user).says("I quit my job at Acme")
    listed = await mnemolog(directory, "minds", "list", "--json")
    table = await mnemolog(directory, "minds", "list")
    dry = await mnemolog(directory, "minds", "run", "reflection", "--user", user, "--dry-run", "--json")
    ran = await mnemolog(directory, "minds", "run", "reflection", "--user", user)
    refused = await mnemolog(directory, "minds", "run", "summaries", "--user", user, "--json")

    assert {one["mind"] for one in listed.value} == set(Mind)
    assert "no chat model" in table.out
    assert (dry.value["dry_run"], dry.value["changes"]) == (True, [])
    assert "no chat model" in dry.value["skipped"][0]
    assert "reflection made 0 changes" in ran.out
    assert (refused.code, refused.value["error"]["field"]) == (2, "name")


async def test_a_patrol_is_a_run_of_a_mind(engine: Engine, user: str) -> None:
    """A dry run names no scene that is not there: what would be one has the id of its note."""
    mia = Person(engine, user, agent="mia")
    light = await mia.creates("Mia sneezed in the office", kind="scene", scope="agent", importance=0.01)
    scene = json.dumps({"action": "Mia rowed over the lake", "actors": ["Mia"], "when": ["2026-01-03"]})
    note = {"store": "note", "body": {"type": "scene", "text": scene}}
    note_id, _ = await engine.writes.put_entry({"user_id": user, "agent_id": "mia", **note})
    whose = ("--user", user, "--agent", "mia")

    would = await mnemolog(engine.settings.directory, "minds", "run", "patrol", *whose, "--dry-run", "--json")
    did = await mnemolog(engine.settings.directory, "minds", "run", "patrol", *whose)
    again = await mnemolog(engine.settings.directory, "minds", "run", "patrol", *whose, "--json")

    assert would.code == 0, would.err
    changes = {(one["type"], one["memory_id"]) for one in would.value["changes"]}
    assert changes == {("created", str(note_id)), ("placed", str(light)), ("dying", str(light))}
    assert "patrol made 3 changes" in did.out
    assert "Mia rowed over the lake" in did.out
    assert "dying" in did.out
    assert "Mia sneezed in the office" in did.out
    assert "skipped" in did.out
    assert {one["type"] for one in again.value["changes"]} <= {"dying"}


async def test_an_agent_without_scenes_has_no_patrol(engine: Engine, user: str) -> None:
    whose = ("--user", user, "--agent", "noah")
    refused = await mnemolog(engine.settings.directory, "minds", "run", "patrol", *whose, "--json")
    assert (refused.code, refused.value["error"]["code"]) == (1, "not_found")


async def test_a_paused_mind_shows_in_doctor_and_list_until_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(workers, "FIRST_DELAY_SECONDS", 0.02)

    async def fails(_: Attempt) -> None:
        raise ServerFailed("the log was changed")

    async with open_engine(settings_in(tmp_path)) as engine:

        async def paused() -> bool:
            return any(one.paused_at for one in await engine.jobs.mind_failures())

        async with working(engine, engine.jobs, JobKind(name="fails", run=fails, mind=Mind.REFLECTION)):
            await engine.jobs.enqueue("fails", {}, stream=StreamId.of_user("ana"))
            await eventually(paused)
        found = {finding.part: finding async for finding in doctor._running(engine)}
        async with serve(engine) as url, httpx.AsyncClient(base_url=url) as http:
            health = (await http.get("/health")).json()
        listed = await mnemolog(tmp_path, "minds", "list")
        resumed = await mnemolog(tmp_path, "minds", "resume", "reflection", "--user", "ana")
        after = {finding.part: finding async for finding in doctor._running(engine)}

    assert (found["minds"].good, found["minds"].found) == (False, "paused after failures in a row: reflection")
    assert (health["status"], health["paused_minds"]) == ("degraded", ["reflection"])
    assert "paused for 1 user" in listed.out
    assert "ServerFailed" in listed.out
    assert "reflection is resumed for 1 user" in resumed.out
    assert after["minds"].good
