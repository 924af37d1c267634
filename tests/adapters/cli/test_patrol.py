"""`mnemolog patrol`, each command in a process of its own."""

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import mnemolog
from tests.engine.person import Person

pytestmark = pytest.mark.spec_part("C06")


async def test_a_cycle_closed_explicitly_reports_what_is_dying(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    light = await mia.creates("Mia sneezed", kind="scene", scope="agent", importance=0.01)
    whose = ("--user", user, "--agent", "mia")

    told = await mnemolog(engine.settings.directory, "patrol", "close", *whose, "--json")
    again = await mnemolog(engine.settings.directory, "patrol", "close", *whose)

    assert told.code == 0, told.err
    [closed] = told.value
    assert (closed["user_id"], closed["agent_id"]) == (user, "mia")
    assert (closed["dying"], closed["revived"]) == ([str(light)], [])
    assert "1 cycle closed" in again.out
    assert "0 dying, 0 revived" in again.out


async def test_an_agent_without_scenes_is_refused_and_a_pass_finds_no_ended_session(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    await mia.creates("Mia sneezed", kind="scene", scope="agent")
    await mia.says("bless you")

    refused = await mnemolog(engine.settings.directory, "patrol", "close", "--user", user, "--agent", "noah", "--json")
    passed = await mnemolog(engine.settings.directory, "patrol", "run", "--json")

    assert (refused.code, refused.value["error"]["code"]) == (1, "not_found")
    assert passed.code == 0, passed.err
    assert user not in [one["user_id"] for one in passed.value]
