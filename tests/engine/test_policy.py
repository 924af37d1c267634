"""Each event names the policy that it was decided under, and that policy's text is kept (X04)."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mnemolog.adapters.background.settings import policy_of
from mnemolog.adapters.cli.app import app
from mnemolog.adapters.config import load
from mnemolog.adapters.embedded import Endpoints
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.domain.errors import EngineError, PolicyRefused
from mnemolog.domain.policy import Policy, version_of
from tests.adapters.cli.command import mnemolog
from tests.engine.person import Person
from tests.engine.policies import under


@pytest.mark.spec("X04")
async def test_every_event_names_the_policy_in_force_and_its_text_is_kept(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    tea = await ana.creates("Ana drinks tea")
    await ana.updates(tea, text="Ana drinks green tea")
    await ana.undoes(tea)

    versions = {event.meta.policy_version for event in await engine.log.read(ana.stream)}

    assert versions == {engine.policy.version} == {Policy().version}
    assert await engine.policies.of_stream(ana.stream) == {engine.policy.version: engine.policy.text}


@pytest.mark.spec("X04")
async def test_an_engine_with_another_policy_decides_under_another_version(engine: Engine, user: str) -> None:
    async with under(engine, "categories: {custom: [{name: wines}]}") as other:
        await Person(other, user).creates("Ana likes Alvarinho", category="wines")
        [event] = await other.log.read(Person(other, user).stream)

    version = event.meta.policy_version
    assert version != engine.policy.version
    assert '"wines"' in (await engine.policies.kept([version]))[version]
    shown = await mnemolog(engine.settings.directory, "policy", "get", version, "--json")
    assert {"name": "wines", "context": "rag", "rag_length": 30} in shown.value["policy"]["categories"]["custom"]


def test_beside_an_engine_of_another_version_the_policy_of_the_settings_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Endpoints(1, "", "", "", version="0.0.1", ready=True)  # Its settings have no policy.
    monkeypatch.setattr("mnemolog.adapters.cli.policy.running_engine", lambda directory: other)
    shown = CliRunner().invoke(app, ["--data-dir", str(tmp_path), "policy", "get", "--json"])
    assert json.loads(shown.output)["version"] == Policy().version


def test_an_engine_that_tells_no_policy_is_refused_as_an_earlier_version(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"\(pid 1\) is an earlier version of Mnemolog"):
        policy_of(load(data_dir=tmp_path), Endpoints(1, "", "", "", ready=True))


@pytest.mark.spec("B05")
async def test_an_engine_does_not_start_with_a_policy_that_has_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("allowlists:\n  planner: [goals, taks]\n", encoding="utf-8")
    settings = load(data_dir=tmp_path / "data", policy_file=file)

    with pytest.raises(PolicyRefused, match="there is no category 'taks'"):
        async with open_engine(settings):
            pytest.fail("it started")

    assert not (tmp_path / "data").exists()


async def test_a_text_that_was_changed_in_the_database_is_not_shown(engine: Engine) -> None:
    version = version_of("what it said")
    async with engine.projections.live.begin() as connection:
        await connection.exec_driver_sql(
            "INSERT INTO mnemolog.policies VALUES (%(version)s, 'something else', now())", {"version": version}
        )

    assert await engine.policies.kept([version]) == {}
