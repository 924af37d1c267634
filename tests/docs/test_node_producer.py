"""The producer in Node that the documentation shows, run against the engine as a producer of one user."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters import producers
from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.principal import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import StreamId
from tests.adapters.principals.keys import principal
from tests.docs.pages import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "node-producer"
INSTALL = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with the `nats` package of npm, outside the tree."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("node") / "producer"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("node_modules"))
    try:
        installed = subprocess.run(INSTALL, cwd=folder, capture_output=True, timeout=60, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        installed = False
    if not installed:
        pytest.skip("npm cannot install the package `nats` here")
    return folder


def turn(user: str, number: int, **fields: Any) -> dict[str, Any]:
    said = {"message_id": f"msg-{number}", "user_id": user, "text": f"Turn {number}"}
    return {**said, "occurred_at": "2026-01-03T01:02:10Z", **fields}


async def published(engine: Engine, example: Path, user: str, turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers that the example prints."""
    who = principal(f"node-{user}", tenant="acme.eu", users=[user], roles=[Role.PUBLISH])
    password = (await producers.add(engine, who)).password
    await asyncio.sleep(0.5)
    address = engine.endpoints.nats_url.rpartition("@")[2]
    process = await asyncio.create_subprocess_exec(
        "node",
        "producer.mjs",
        cwd=example,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "NATS_URL": f"nats://node-{user}:{password}@{address}",
             "TENANT": "acme.eu"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(60):
        out, errors = await process.communicate("\n".join(map(json.dumps, turns)).encode())
    await producers.remove(engine, who.name)
    assert process.returncode == 0, errors.decode()
    return [json.loads(line) for line in out.decode().splitlines()]


async def test_turns_from_node_are_recorded_once_in_order_and_answered(
    guarded: Engine, user: str, example: Path
) -> None:
    turns = [turn(user, number) for number in range(600)]

    answers = await published(guarded, example, user, [*turns, turns[0], turn(user, 7, text=""), turn("somebody", 1)])

    events = await guarded.log.read(StreamId.of_user(user, "acme.eu"))
    recorded = [event.payload.turn_id for event in events if isinstance(event.payload, TurnRecorded)]
    assert recorded == [f"node-{user}/{one['message_id']}" for one in turns]
    assert [one["ok"] for one in answers] == [True] * 601 + [False] * 2
    assert [answers[0]["receipt"]["already"], answers[600]["receipt"]["already"]] == [False, True]
    assert answers[601]["error"]["field"] == "text"
    assert answers[602]["error"]["code"] == "not_found"


def test_the_example_names_no_registry() -> None:
    files = [path for path in EXAMPLE.iterdir() if path.is_file()]
    assert {path.name for path in files} >= {"package.json", "producer.mjs"}
    assert not [path for path in files if "registry" in path.read_text() or path.name == "package-lock.json"]
