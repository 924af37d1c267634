"""`mnemolog minds`, each command in a process of its own."""

from pathlib import Path

import httpx
import pytest

from mnemolog.adapters.cli import doctor
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.jobs import worker as workers
from mnemolog.adapters.jobs.job import Attempt, Kind
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

        async with working(engine, engine.jobs, Kind(name="fails", run=fails, mind=Mind.REFLECTION)):
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
