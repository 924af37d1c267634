"""Each row of docs/reference/bad-input.md gets from the real product what it says; no command or route is left out."""

import asyncio
import json
import os
import re
import shlex
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer

from mnemolog.adapters.cli import app as cli
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.http.app import ROUTES, create_app
from mnemolog.commands.memories import SoftDeleteMemory
from tests.docs.pages import ROOT, section
from tests.testkit import warm

PAGE = ROOT / "docs" / "reference" / "bad-input.md"
TENANT = "bad-input"
NOBODY = "01942b6e-7c00-7000-8000-000000000000"
NO_INPUT = {"GET /health", "GET /ready", "GET /metrics"}
USAGE = "usage"


def rows(heading: str) -> list[list[str]]:
    """The cells of the tables under a heading, without backticks."""
    lines = re.findall(r"^\| (`.*) \|$", section(PAGE, heading), re.MULTILINE)
    return [[cell.strip().strip("`") for cell in re.split(r" \| ", line)] for line in lines]


COMMANDS, REQUESTS = rows("On the command line"), rows("Over HTTP")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows are tried: a tenant of their own, with what their names stand for."""

    engine: Engine
    names: Mapping[str, str]

    def here(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(name, value)
        return text


@pytest.fixture(scope="module")
async def place(engine: Engine) -> AsyncIterator[Place]:
    settings = engine.settings.model_copy(update={"tenant": TENANT})
    async with open_engine(settings, attach=True) as attached:
        ana = {"tenant": TENANT, "user_id": "ana"}
        writes = attached.writes
        memory, other, deleted = [(await writes.create({**ana, "text": text}))[0] for text in ("tea", "trams", "gone")]
        await writes.execute(SoftDeleteMemory.model_validate({**ana, "memory_id": deleted, "at": now()}))
        await writes.record_turn({**ana, "turn_id": "said", "text": "hello"})
        await writes.create({**ana, "text": "kept"}, "used")
        ids = {"MEMORY": str(memory), "OTHER": str(other), "DELETED": str(deleted), "NOBODY": NOBODY}
        yield Place(attached, ids)


@pytest.fixture(scope="module")
async def shell(place: Place) -> AsyncIterator[warm.Process]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOLOG_")}
    settings = {"DATA_DIR": str(place.engine.settings.directory), "EMBEDDER": "lexical", "TENANT": TENANT}
    process = await warm.spawn(
        *("-m", "tests.docs.commands_process"),
        env={**own, **{f"MNEMOLOG_{name}": value for name, value in settings.items()}, "MNEMOLOG_DURABLE": "false"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    yield process
    process.terminate()
    await process.wait()


@pytest.mark.parametrize(("line", "exit_code", "code", "field"), COMMANDS, ids=[row[0] for row in COMMANDS])
async def test_a_command_refuses_bad_input_as_the_page_says(
    shell: warm.Process, place: Place, line: str, exit_code: str, code: str, field: str
) -> None:
    assert shell.stdin
    assert shell.stdout
    program, *arguments = shlex.split(place.here(line))
    assert program == "mnemolog"
    shell.stdin.write(json.dumps([*arguments, "--json"]).encode() + b"\n")
    async with asyncio.timeout(60):
        ran = json.loads(await shell.stdout.readline())

    assert str(ran["code"]) == exit_code, ran
    if code == USAGE:
        assert ran["out"] == "", "what the parser refuses goes to standard error"
        return
    error = json.loads(ran["out"])["error"]
    assert (error["code"], error["field"]) == (code, field)
    assert error["message"]


@pytest.mark.parametrize(
    ("request_", "body", "status", "code", "field"), REQUESTS, ids=[" ".join(r[:2]) for r in REQUESTS]
)
async def test_http_refuses_bad_input_as_the_page_says(
    place: Place, request_: str, body: str, status: str, code: str, field: str
) -> None:
    method, path = place.here(request_).split(" ", 1)
    transport = httpx.ASGITransport(create_app(place.engine), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        headers = {"Content-Type": "application/json"} if body else {}
        answer = await http.request(method, path, content=place.here(body), headers=headers)

    assert answer.status_code == int(status), answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert (error["code"], error["field"]) == (code, field)
    assert error["message"]
    assert error["fix"]


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Commands by name; a group stands for those below it."""
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path)
        return
    for name, sub in below.items():
        yield from leaves(sub, (*path, name))


@pytest.mark.parametrize("command", list(leaves(typer.main.get_command(cli.app))))
def test_every_command_has_a_row(command: str) -> None:
    assert any(line.startswith(f"mnemolog {command}") for line, *_ in COMMANDS), command


@pytest.mark.parametrize("called", [f"{min(route.methods or ())} {route.path}" for route in ROUTES])
def test_every_route_has_a_row(called: str) -> None:
    pattern = re.sub(r"\\\{[\w:]+\\\}", "[^/?]+", re.escape(called))
    assert called in NO_INPUT or any(re.match(rf"{pattern}(?:\?|$)", row[0]) for row in REQUESTS), called


def test_the_page_is_complete() -> None:
    assert len(COMMANDS) > 60
    assert len(REQUESTS) > 40
    assert Path(PAGE).read_text(encoding="utf-8").count("| `mnemolog ") == len(COMMANDS)
