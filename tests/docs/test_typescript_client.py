"""The client in TypeScript: its types are generated from the API as it is, built by tsc and used against a server."""

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.operations.watching import WatchedChange
from tests.docs.pages import ROOT, blocks
from tests.engine.person import Person

SOURCE = ROOT / "infra" / "clients" / "typescript"
PAGE = ROOT / "docs" / "how-to" / "use-the-typescript-client.md"
INSTALL = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]
SECONDS = 120

LOST = """
import { connect, MnemologError, watch } from "./dist/index.js";
const [url, user_id] = process.argv.slice(2);
let lost = 2;
const keys = [];
const flaky = async (request) => {
  keys.push(request.headers.get("Idempotency-Key"));
  const response = await fetch(request);
  if (lost-- > 0) throw new TypeError("connection reset");
  return response;
};
const memory = connect(url, { fetch: flaky });
const created = (await memory.POST("/v1/memories", { body: { user_id, text: "Ana drinks tea" } })).data;
const listed = (await memory.GET("/v1/memories", { params: { query: { user_id } } })).data;
const refused = await memory.POST("/v1/memories", { body: { user_id, text: "" } }).catch((error) => error);
const seqs = [];
for await (const change of watch(url, { user_id, since: 0, wait: 0 })) seqs.push(change.seq);
console.log(JSON.stringify({
  already: created.already, count: listed.items.length, keys: new Set(keys.slice(0, 3)).size,
  refused: [refused instanceof MnemologError, refused.status, refused.code, refused.field], seqs,
}));
"""

# A connection that is dead and was not closed, once; half a minute passes in 0.3 seconds until it is replaced.
SILENT = """
import { watch } from "./dist/index.js";
const [url, user_id] = process.argv.slice(2);
const later = globalThis.setTimeout;
const asked = [];
globalThis.setTimeout = (act, milliseconds) => later(act, asked.length > 1 ? milliseconds : milliseconds / 100);
const silent = async (request) => {
  asked.push(request.headers.get("Last-Event-ID"));
  if (asked.length > 1) return fetch(request);
  const start = (stream) => stream.enqueue(new TextEncoder().encode('id: 1\\nevent: ready\\ndata: {"seq":1}\\n\\n'));
  return new Response(new ReadableStream({ start }));
};
const seqs = [];
for await (const change of watch(url, { user_id, since: 1, wait: 0 }, { fetch: silent })) seqs.push(change.seq);
console.log(JSON.stringify([asked, seqs]));
"""


@pytest.fixture(scope="module")
def client(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, built outside the tree."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "openapi.json").write_text(json.dumps(create_app(engine).openapi()))
    try:
        installed = subprocess.run(INSTALL, cwd=folder, capture_output=True, timeout=60, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        installed = False
    if not installed:
        pytest.skip("npm cannot install the packages of the client here")
    [shown] = [block.text for block in blocks(PAGE) if block.info == "typescript"]
    (folder / "src" / "page.ts").write_text(shown.replace('"mnemolog-client"', '"./index.js"'))
    built = subprocess.run(["npm", "run", "build"], cwd=folder, capture_output=True, timeout=SECONDS, check=False)
    assert built.returncode == 0, built.stdout.decode()
    return folder


async def ran(folder: Path, program: str, *arguments: str, **environment: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "node",
        program,
        *arguments,
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin:" + str(Path(shutil.which("node") or "").parent), **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


def test_a_change_has_the_fields_that_the_server_sends() -> None:
    [shape] = re.findall(r"interface Change \{\n(.*?)\n\}", (SOURCE / "src" / "index.ts").read_text(), re.DOTALL)
    assert re.findall(r"^  (\w+):", shape, re.MULTILINE) == list(WatchedChange.model_fields)


async def test_lost_answers_refusals_and_changes(engine: Engine, client: Path, user: str) -> None:
    (client / "lost.mjs").write_text(LOST)
    async with serve(engine) as url:
        told: dict[str, Any] = json.loads(await ran(client, "lost.mjs", url, user))
    assert told == {
        "already": True,
        "count": 1,
        "keys": 1,
        "refused": [True, 422, "invalid_input", "text"],
        "seqs": [1],
    }


async def test_a_silent_connection_is_replaced(engine: Engine, client: Path, user: str) -> None:
    (client / "silent.mjs").write_text(SILENT)
    ana = Person(engine, user)
    for text in ("Ana drinks tea", "Bruno plays chess in Lisbon"):  # So unlike that no link comes of it.
        await ana.creates(text)
    async with serve(engine) as url:
        assert json.loads(await ran(client, "silent.mjs", url, user)) == [[None, "1"], [2]]


async def test_the_page_does_what_it_shows(engine: Engine, client: Path) -> None:
    [shown] = [block.text for block in blocks(PAGE) if block.info == "text"]
    async with serve(engine) as url:
        assert (await ran(client, "dist/page.js", MNEMOLOG_URL=url, MNEMOLOG_API_KEY="")).strip() == shown.strip()
