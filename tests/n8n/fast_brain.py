"""The fast brain as a workflow of n8n (A16), and the node that it is made of: `make test-n8n`.

pytest does not collect this file by itself: it needs more than 1 GB of packages, and minutes to install them.
"""

import json
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import httpx
import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.domain.principal import Role
from mnemolog.events.memory import MemoryCreated
from tests.adapters.principals.keys import principal
from tests.engine.teller import Teller
from tests.n8n.lossy import Lossy, lossy
from tests.n8n.n8n import SOURCE, Json, N8n, built, version
from tests.testkit.model_server import ModelServer, error, model_server
from tests.testkit.settings import settings_in

SECRET = "telegram-secret"
HEADER = "X-Telegram-Bot-Api-Secret-Token"
PLAN: Json = {
    "answer": "You live in Leipzig.",
    "facts": [{"subject": "me", "predicate": "likes", "object": "chess", "since": None}],
    "memories": [{"text": "Noor asked where she lives", "category": "activity", "importance": 0.4}],
    "affect": {"label": "furious", "confidence": 0.9, "marker": "I am furious"},
    "focus": None,
}


@dataclass(frozen=True)
class Running:
    """What the tests share: an engine, the server of its model, what loses answers, and n8n."""

    engine: Engine
    model: ModelServer
    between: Lossy
    key: str
    n8n: httpx.AsyncClient


def shown(figures: str) -> None:
    sys.stdout.write(f"{figures}\n")


def node(name: str, operation: str, options: Json | None = None, **fields: Any) -> Json:
    """A node of this package in a workflow, tried again as n8n does."""
    return {
        "id": name,
        "name": name,
        "type": "n8n-nodes-mnemolog.mnemolog",
        "typeVersion": 1,
        "position": [0, 0],
        "parameters": {"resource": "main", "operation": operation, "options": options or {}, **fields},
        "credentials": {"mnemologApi": {"id": "mnemologServer", "name": "Mnemolog"}},
        "retryOnFail": True,
        "maxTries": 2,
        "waitBetweenTries": 100,
    }


def webhook(path: str, *nodes: Json) -> Json:
    """A workflow that answers a request with what its last node returns, one node after the other."""
    begins = {
        "id": path,
        "name": path,
        "type": "n8n-nodes-base.webhook",
        "typeVersion": 2,
        "position": [0, 0],
        "webhookId": path,
        "parameters": {"httpMethod": "POST", "path": path, "responseMode": "lastNode", "options": {}},
    }
    names = [one["name"] for one in (begins, *nodes)]
    return {
        "id": path,
        "name": path,
        "active": False,
        "settings": {"executionOrder": "v1"},
        "nodes": [begins, *nodes],
        "connections": {
            one: {"main": [[{"node": after, "type": "main", "index": 0}]]} for one, after in pairwise(names)
        },
    }


USER = "={{ $('calls').item.json.body.user }}"
CALLS = webhook(
    "calls",
    node("Add", "add", user_id=USER, messages="={{ $('calls').item.json.body.said }}"),
    node("Search", "search", user_id=USER, query="where does she live?"),
    node("Context", "context", {"kinds": '["fact"]', "budget_tokens": 200}, user_id=USER, query="where does she live?"),
)
ALONE = webhook(
    "memories",
    node("Create", "create", {"pinned": True}, user_id="={{ $json.body.user }}", text="={{ $json.body.text }}"),
    node("Get", "get", user_id="={{ $('memories').item.json.body.user }}", memory_id="={{ $json.memory_id }}"),
)


@pytest.fixture(scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    """All of it, once. Prints what took how long."""
    folder = tmp_path_factory.mktemp("n8n")
    async with model_server() as model:
        given = {"model_url": model.url, "model_api_key": "sk-1", "chat_model": "m-1", "model_retries": 0}
        async with (
            open_engine(settings_in(tmp_path_factory.mktemp("engine"), **given)) as engine,
            serve(engine) as url,
            lossy(url) as between,
        ):
            _, key = await engine.api_keys.create(principal("n8n", roles=[Role.READ, Role.WRITE]))
            n8n = N8n(folder)
            began = time.monotonic()
            n8n.install(await built(create_app(engine).openapi(), folder / "package"))
            packed = time.monotonic()
            await n8n.take(
                "credentials",
                credential("mnemologServer", "mnemologApi", {"baseUrl": between.url, "apiKey": key}),
                credential("mnemologTelegramSecret", "httpHeaderAuth", {"name": HEADER, "value": SECRET}),
            )
            fast_brain = json.loads((SOURCE / "workflows" / "fast-brain.json").read_text())
            await n8n.take("workflow", fast_brain, CALLS, ALONE)
            for workflow in (fast_brain, CALLS, ALONE):
                await n8n.command("publish:workflow", f"--id={workflow['id']}")
            imported = time.monotonic()
            async with n8n.serving() as client:
                shown(
                    f"n8n {version()}: node built, linted and packed in {packed - began:.0f} s, "
                    f"imported and published in {imported - packed:.0f} s, "
                    f"started in {time.monotonic() - imported:.0f} s"
                )
                yield Running(engine, model, between, key, client)


def credential(id_: str, kind: str, data: Json) -> Json:
    return {"id": id_, "name": id_, "type": kind, "data": data}


def update(user: str, text: str, message: int = 1) -> Json:
    """What Telegram sends for a message."""
    who = {"id": user, "is_bot": False, "first_name": "Noor"}
    return {
        "update_id": 7,
        "message": {"message_id": message, "from": who, "chat": {"id": 42}, "date": 1, "text": text},
    }


async def sent(running: Running, told: Json, status: int = 200) -> Json:
    headers = {HEADER: SECRET}
    answer = await running.n8n.post("/webhook/mnemolog-fast-brain", json=told, headers=headers)
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


@pytest.mark.spec("A16")
async def test_a_message_is_answered_and_its_plan_carried_out_once(running: Running) -> None:
    noor = Teller(running.engine, "telegram-noor", agent="deanna", thread="42")
    await noor.tells("me", "lives_in", "Leipzig")
    running.model.chat = lambda request: json.dumps(PLAN)
    # The model fails at first, and later an answer is lost on its way to n8n: both times n8n tries again.
    running.model.replies.append(error(503))
    running.between.loses.append("/v1/respond")
    began = time.monotonic()

    replied = await sent(running, update("telegram-noor", "I am furious! Where do I live?"))

    took = time.monotonic() - began
    assert replied == {"method": "sendMessage", "chat_id": 42, "text": "You live in Leipzig."}
    assert len(running.between.keys["/v1/respond"]) == 3
    await carried_out_once(noor)
    asked = running.model.asked

    again = await sent(running, update("telegram-noor", "I am furious! Where do I live?"))

    assert again == replied
    assert running.model.asked == asked
    await carried_out_once(noor)
    began = time.monotonic()
    for number in range(2, 12):
        await sent(running, update("telegram-noor", f"And what is {number} and {number}?", number))
    each = (time.monotonic() - began) / 10
    shown(f"fast brain: answered in {each * 1000:.0f} ms a message; after two failures in {took:.1f} s")


async def carried_out_once(noor: Teller) -> None:
    """The message, its answer, and each planned write."""
    seen = await noor.caught_up()
    reads = noor.engine.reads
    rows = await reads.messages(noor.viewer, noor.thread, 100, seen)
    assert [(row["role"], row["text"]) for row in reversed(rows)] == [
        ("user", "I am furious! Where do I live?"),
        ("assistant", "You live in Leipzig."),
    ]
    written = [type(event.payload) for event in await noor.engine.log.read(noor.stream)]
    assert written.count(MemoryCreated) == 1
    assert [row["value"] for row in await noor.facts(predicate="likes")] == ["chess"]
    mood = await reads.affect(noor.viewer, noor.thread, noor.engine.writes.now(), seen)
    assert mood["affect"]["label"] == "furious"


async def test_a_caller_without_the_secret_is_refused(running: Running) -> None:
    answer = await running.n8n.post("/webhook/mnemolog-fast-brain", json=update("telegram-mallory", "Hello"))
    assert answer.status_code == 403


async def test_without_an_answer_the_workflow_says_what_was_skipped(running: Running) -> None:
    chat = running.engine.models.chat
    assert chat is not None
    object.__setattr__(running.engine.models, "chat", None)
    try:
        told = await sent(running, update("telegram-sara", "Where do I live?"), 503)
    finally:
        object.__setattr__(running.engine.models, "chat", chat)
    assert told["skipped"][-1].startswith("answer: no chat model is set")


async def test_the_main_operations_one_after_the_other(running: Running) -> None:
    running.between.loses.append("/v1/turns")
    began = time.monotonic()
    answer = await running.n8n.post("/webhook/calls", json={"user": "n8n-lena", "said": "I live in Leipzig"})
    assert answer.status_code == 200, answer.text
    assert "I live in Leipzig" in json.dumps(answer.json())
    # The answer was lost and the node tried again, with the same key: one message.
    first, second = running.between.keys["/v1/turns"]
    assert first == second != ""
    lena = Teller(running.engine, "n8n-lena")
    rows = await running.engine.reads.messages(lena.viewer, None, 100, await lena.caught_up())
    assert [row["text"] for row in rows] == ["I live in Leipzig"]
    shown(f"add, search and context: {(time.monotonic() - began) * 1000:.0f} ms")


async def test_an_operation_with_its_id_in_the_path_and_a_refusal(running: Running) -> None:
    answer = await running.n8n.post("/webhook/memories", json={"user": "n8n-omar", "text": "Omar drinks tea"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["text"], answer.json()["pinned"]) == ("Omar drinks tea", True)
    refused = await running.n8n.post("/webhook/memories", json={"user": "n8n-omar", "text": ""})
    assert refused.status_code == 500


async def test_n8n_lists_every_operation_and_tests_the_credentials(running: Running) -> None:
    owner = {"email": "owner@example.com", "firstName": "O", "lastName": "W", "password": "Secret-123456"}
    assert (await running.n8n.post("/rest/owner/setup", json=owner)).status_code == 200
    types = (await running.n8n.get("/types/nodes.json")).json()
    [described] = [one for one in types if one["name"] == "n8n-nodes-mnemolog.mnemolog"]
    choices = [one for one in described["properties"] if one["name"] == "operation"]
    assert [one["value"] for one in choices[0]["options"]][:3] == ["add", "search", "context"]
    offered = {option["value"] for one in choices for option in one["options"]}
    assert offered >= {one.name for one in OPERATIONS}
    shown(f"the node has {len(offered)} operations of {len(choices)} resources")

    async def tested(key: str, url: str = running.between.url) -> tuple[str, str]:
        data = {"baseUrl": url, "apiKey": key}
        given = credential("mnemologServer", "mnemologApi", data)
        answer = await running.n8n.post("/rest/credentials/test", json={"credentials": given})
        assert answer.status_code == 200, answer.text
        told = answer.json()["data"]
        return told["status"], told["message"]

    assert (await tested(running.key))[0] == "OK"
    assert (await tested("mnk_wrong"))[0] == "Error"
    _, bound = await running.engine.api_keys.create(principal("bound", users=["n8n-lena"], roles=[Role.READ]))
    assert (await tested(bound))[0] == "OK"
    assert (await tested(running.key, "http://127.0.0.1:9"))[0] == "Error"
