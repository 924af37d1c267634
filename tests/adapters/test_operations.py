"""Every operation is one thing in Python, on the command line and over HTTP: names, fields, results, refusals."""

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import httpx2
import pytest
import typer

from mnemolog import AsyncMemory, Memory, MnemologError
from mnemolog.adapters.cli.app import app
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.routes import PREFIX
from mnemolog.adapters.operations.erasure import Proof
from mnemolog.adapters.operations.operation import Operation, description_of
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.adapters.operations.requests import Paging
from mnemolog.adapters.operations.results import Page
from mnemolog.client import AsyncClient, Client
from mnemolog.domain.principal import Role
from tests.adapters.cli.command import mnemolog

Json = dict[str, Any]
AnyOperation = Operation[Any, Any]
BY_NAME: Mapping[str, AnyOperation] = {one.name: one for one in OPERATIONS}
# Bytes of files, a user as a file, and changes as they happen: each face carries them in its own way.
STREAMED = {
    "export_user": ("user export", "GET /user/export"),
    "import_user": ("user import", "POST /user/import"),
    "add_artifact": ("artifact add", "POST /artifacts"),
    "add_document": ("knowledge add", "POST /knowledge"),
    "watch": ("watch", "GET /changes/stream"),
    "download_artifact": ("artifact download", "GET /artifacts/{artifact_id}/content"),
}
# Commands that run and maintain an engine ask nothing of a user's memory.
MAINTENANCE = {
    *(
        "asyncapi",
        "backup",
        "config",
        "demo",
        "doctor",
        "down",
        "project",
        "relay",
        "serve",
        "work",
        "events",
        "ingest",
        "partition-log",
        "replay",
        "scrub",
        "status",
        "up",
    ),
    *("api-key", "dead-letter", "incident", "job", "jobs", "master-key", "mcp", "minds", "policy"),
    *("producer", "projection", "retention", "verify"),
}
# In Python a search gives whole memories, never bullets.
NOT_IN_PYTHON = {("search", "return")}

every = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)


def fields_of(operation: AnyOperation) -> Json:
    """Its fields by the names that callers use."""
    return {field.alias or name: field for name, field in operation.request.model_fields.items()}


def commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(group, "commands"):
        yield " ".join(path), group
        return
    for name, command in group.commands.items():
        yield from commands(command, *path, name)


COMMANDS = dict(commands(typer.main.get_command(app)))


ABOUT_NO_MOMENT = {"validate_envelope", "prove_erased", "prove_document_erased", "list_webhooks", "list_deliveries"}


@pytest.mark.spec("X10")
def test_each_read_of_what_is_known_can_wait_for_a_write_until_a_deadline() -> None:
    """Others read nothing that is known: they check what is sent, look for what is gone, or show a subscription."""
    reads = [one for one in OPERATIONS if not one.writes and one.role is Role.READ]
    without = {one.name for one in reads if not {"after", "deadline"} <= one.request.model_fields.keys()}
    assert without <= ABOUT_NO_MOMENT
    assert len(reads) > 40


# At most three memories for each of at most 20 references, and as many webhooks as an agent may have; searches and
# recalls return the best, as many as are asked for.
BOUNDED = {"cards", "list_webhooks", "search_artifacts", "search_knowledge"}


def test_each_list_is_paginated() -> None:
    lists = {one.name for one in OPERATIONS if isinstance(one.result, type) and issubclass(one.result, Page)}
    paginated = {one.name for one in OPERATIONS if issubclass(one.request, Paging)}
    assert lists - BOUNDED <= paginated
    assert paginated >= {"list", "links", "list_clusters"}


def test_every_command_takes_the_long_names_of_options() -> None:
    """Also those that are not made from the registry."""
    long = {"--user": "--user-id", "--agent": "--agent-id", "--thread": "--thread-id", "--key": "--idempotency-key"}
    for name, command in COMMANDS.items():
        for option in command.params:
            if not option.multiple and name != "being put":
                assert {long[one] for one in option.opts if one in long} <= {*option.opts}, name


@every
def test_no_two_options_of_a_command_have_the_same_name(operation: AnyOperation) -> None:
    names = [one for option in COMMANDS[operation.command].params for one in option.opts]
    assert len(names) == len(set(names))


def test_the_help_of_a_command_names_commands() -> None:
    assert "`message erase`" in COMMANDS["message delete"].help
    for name, command in COMMANDS.items():
        named = {one for one in BY_NAME if one != BY_NAME[one].command and f"`{one}`" in command.help}
        assert named == set(), name


@every
def test_each_write_has_an_idempotency_key(operation: AnyOperation) -> None:
    proves = operation.result is Proof
    assert operation.writes is (operation.role is not Role.READ and not proves)


def test_names_are_used_once() -> None:
    for names in ([one.name for one in OPERATIONS], [one.route for one in OPERATIONS]):
        assert len(set(names)) == len(names)
    named = [one.command for one in OPERATIONS]
    assert len(set(named)) == len(named)


@every
def test_each_operation_and_each_of_its_fields_is_described(operation: AnyOperation) -> None:
    assert operation.summary
    assert [name for name, field in fields_of(operation).items() if not description_of(field)] == []


@every
def test_each_operation_is_a_verb_with_the_same_fields(operation: AnyOperation) -> None:
    verb = inspect.signature(getattr(AsyncMemory, operation.name))
    own = {name: one for name, one in verb.parameters.items() if name != "self"}
    fields = {name: one for name, one in fields_of(operation).items() if (operation.name, name) not in NOT_IN_PYTHON}

    assert own.keys() == fields.keys()
    positional = tuple(name for name, one in own.items() if one.kind is one.POSITIONAL_OR_KEYWORD)
    assert positional == operation.arguments
    required = {name for name, one in own.items() if one.default is one.empty}
    assert required == {name for name, one in fields.items() if one.is_required()} - {"user_id"}
    assert inspect.iscoroutinefunction(getattr(AsyncMemory, operation.name))
    assert getattr(Memory, operation.name).__doc__ == getattr(AsyncMemory, operation.name).__doc__


@pytest.mark.parametrize("face", [AsyncMemory, Memory, AsyncClient, Client])
def test_each_verb_is_an_operation(face: type) -> None:
    public = {name for name in dir(face) if not name.startswith("_")}
    assert public - {"close"} == BY_NAME.keys() | STREAMED.keys()


@pytest.mark.parametrize("name", [*BY_NAME, *STREAMED])
def test_a_client_has_the_verbs_of_a_memory(name: str) -> None:
    assert inspect.getattr_static(AsyncClient, name) is inspect.getattr_static(AsyncMemory, name)
    assert inspect.getattr_static(Client, name) is inspect.getattr_static(Memory, name)


@every
def test_each_operation_is_a_command_with_the_same_fields(operation: AnyOperation) -> None:
    parameters = {one.name: one for one in COMMANDS[operation.command].params}
    fields = operation.request.model_fields

    arguments = [name for name, one in parameters.items() if one.param_type_name == "argument"]
    assert tuple(arguments) == operation.arguments
    assert parameters.keys() - {"as_json", "yes", "help"} == fields.keys()
    required = {name for name, one in parameters.items() if one.required}
    assert required == {name for name, one in fields.items() if one.is_required()}
    assert ("yes" in parameters) is operation.destroys


def test_each_command_is_an_operation_or_maintains_an_engine() -> None:
    known = {one.command for one in OPERATIONS if one.command} | {command for command, _ in STREAMED.values()}
    others = {name for name in COMMANDS if name.split()[0] not in MAINTENANCE}
    assert others == known
    assert {name.split()[0] for name in COMMANDS} >= MAINTENANCE


def test_each_operation_is_a_route_with_the_same_fields_and_each_route_is_an_operation(engine: Engine) -> None:
    document = create_app(engine).openapi()
    found = {
        f"{method.upper()} {path.removeprefix(PREFIX)}": one
        for path, methods in document["paths"].items()
        if path.startswith(PREFIX)
        for method, one in methods.items()
    }
    assert found.keys() == {one.route for one in OPERATIONS} | {route for _, route in STREAMED.values()}
    for operation in OPERATIONS:
        described = found[operation.route]
        parameters = {one["name"]: one for one in described.get("parameters", ())}
        body = _body(document, described)
        key = {"idempotency_key"} if parameters.pop("Idempotency-Key", None) else set()
        assert described["operationId"] == operation.name
        assert parameters.keys() | body["properties"].keys() | key == fields_of(operation).keys(), operation.name
        assert [name for name, one in parameters.items() if not one.get("description")] == [], operation.name
        required = {name for name, one in parameters.items() if one["required"]} | set(body.get("required", ()))
        assert required == {name for name, one in fields_of(operation).items() if one.is_required()}, operation.name


def _body(document: Json, described: Json) -> Json:
    if "requestBody" not in described:
        return {"properties": {}}
    schema: Json = described["requestBody"]["content"]["application/json"]["schema"]
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


class Faces:
    """One request through every face: the answer as JSON, or the refusal."""

    def __init__(self, engine: Engine, memory: AsyncMemory) -> None:
        self.engine, self.memory = engine, memory

    async def python(self, operation: AnyOperation, fields: Json) -> Json:
        return await self._called(self.memory, operation, fields)

    async def client(self, operation: AnyOperation, fields: Json) -> Json:
        transport = httpx2.ASGITransport(create_app(self.engine))
        async with AsyncClient("http://localhost", transport=transport) as client:
            return await self._called(client, operation, fields)

    async def _called(self, face: AsyncMemory | AsyncClient, operation: AnyOperation, fields: Json) -> Json:
        try:
            found = await getattr(face, operation.name)(**fields)
        except MnemologError as error:
            return {"error": error.as_dict()}
        told: Json = found.model_dump(mode="json", by_alias=True)
        return told

    async def http(self, operation: AnyOperation, fields: Json) -> Json:
        rest = dict(fields)
        path = operation.path.format(**{name: rest.pop(name) for name in fields if f"{{{name}}}" in operation.path})
        headers = {"Idempotency-Key": rest.pop("idempotency_key")} if "idempotency_key" in rest else {}
        where = "params" if operation.method in ("GET", "DELETE") else "json"
        transport = httpx.ASGITransport(create_app(self.engine))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            answer = await http.request(operation.method, PREFIX + path, headers=headers, **{where: rest})  # type: ignore[arg-type]
        assert ("error" in answer.json()) is (answer.status_code != operation.status)
        told: Json = answer.json()
        return told

    async def command(self, operation: AnyOperation, fields: Json) -> Json:
        arguments = [one for name in operation.arguments if name in fields for one in _words(fields[name])]
        options = [
            word for name, value in fields.items() if name not in operation.arguments for word in _option(name, value)
        ]
        asked = [*operation.command.split(), *options, "--json", "--", *arguments]
        ran = await mnemolog(self.engine.settings.directory, *asked)
        assert ("error" in ran.value) is (ran.code != 0), ran
        told: Json = ran.value
        return told


def _option(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}={word}" for word in _words(value)]


def _words(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value]
    return [json.dumps(value) if isinstance(value, dict) else str(value)]


@pytest.fixture
def faces(engine: Engine) -> Faces:
    memory = AsyncMemory(engine.settings.directory, durable=False, embedder="lexical")
    return Faces(engine, memory)


async def known(memory: AsyncMemory, user: str) -> dict[str, Any]:
    """The ids of what is known of a user who has one of most things."""
    tea = await memory.create("Ana drinks green tea", user_id=user, category="preferences", pinned=True)
    milk = await memory.create("Ana avoids milk", user_id=user, metadata={"app": "chat"})
    await memory.link(tea.memory_id, milk.memory_id, user_id=user, strength=0.5)
    fact = await memory.add_fact("Makesh", "lives_in", "Berlin", user_id=user, since="2026-01-10")
    await memory.add_fact("Makesh", "lives_in", "Lisbon", user_id=user, since="2026-03-01")
    await memory.add_entity("Mukesh", user_id=user, category="Person")
    [makesh] = await memory.list_entities(user_id=user, name="Makesh")
    await memory.add("I moved to Lisbon", user_id=user)
    note = {"type": "todo", "text": "ask about Rome"}
    entry = await memory.put_being_entry("note", note, user_id=user)
    await memory.add_todo("call Marta", user_id=user)
    document = await memory.add_document(b"# Sleep\n\nNo coffee in the evening.", source="a.md", agent_id=user)
    ids = {
        "agent": user,
        "document": document.document_id,
        "memory": tea.memory_id,
        "fact": fact.relation_id,
        "entity": makesh.entity_id,
        "entry": entry.entry_id,
    }
    return {name: str(one) for name, one in ids.items()}


READS: tuple[tuple[str, Json], ...] = (
    ("get", {"memory_id": "{memory}"}),
    ("list", {"limit": 1}),
    ("context", {"query": "tea", "budget_tokens": 100}),
    ("cards", {"refs": ["person:ana"]}),
    ("links", {"memory_id": "{memory}"}),
    ("history", {"id": "{memory}", "limit": 1}),
    ("why", {"id": "{fact}"}),
    ("changes", {"since": 1}),
    ("session", {}),
    ("list_entities", {"limit": 2}),
    ("get_entity", {"entity_id": "{entity}", "valid_at": "2026-02-01"}),
    ("list_variants", {"entity_id": "{entity}"}),
    ("list_facts", {"about": "makesh", "valid_at": "any", "predicate": "Works At"}),
    ("list_facts", {"about": "makesh", "as_of": 6}),
    ("get_profile", {}),
    ("list_consent", {}),
    ("list_todos", {"as_of": "2026-01-01T00:00:00Z"}),
    ("list_being_entries", {"store": "note"}),
    ("being_context", {"since_rev": 0, "instructions": "You are Mika."}),
    ("recall", {"query": "the race on Friday"}),
    ("recall_memory", {"cluster": "Private/Friday dinner"}),
    ("search_memory", {"query": "race 走", "mode": "and", "limit": 2}),
    ("being_entry_history", {"entry_id": "{entry}"}),
    ("list_clusters", {}),
    ("list_threads", {"limit": 1}),
    ("get_thread", {"thread_id": "main"}),
    ("list_sessions", {"thread_id": "main"}),
    ("list_episodes", {"as_of": 4}),
    ("search_knowledge", {"query": "coffee", "agent_id": "{agent}"}),
    ("list_documents", {"limit": 1, "agent_id": "{agent}"}),
    ("get_document", {"document_id": "{document}", "agent_id": "{agent}"}),
    ("document_history", {"document_id": "{document}", "agent_id": "{agent}", "as_of": 2}),
)


async def test_a_read_answers_the_same_in_every_face(faces: Faces, user: str) -> None:
    ids = await known(faces.memory, user)
    for name, asked in READS:
        fields = _of(user, name, {key: _filled(value, ids) for key, value in asked.items()})
        for last in (False, False, True):  # A job may change an answer meanwhile.
            found = await faces.python(BY_NAME[name], fields)
            assert "error" not in found, (name, found)
            others = [await ask(BY_NAME[name], fields) for ask in (faces.client, faces.http, faces.command)]
            if others == [found] * 3:
                break
            assert not last, (name, found, others)


NOBODY = "01942b6e-7c00-7000-8000-000000000000"
WRITES: tuple[tuple[str, Json], ...] = (
    ("create", {"text": "Ana has a cat", "metadata": {"app": "chat"}, "idempotency_key": "cat"}),
    ("update", {"memory_id": "{memory}", "pinned": False, "importance": 0.5}),
    ("confirm", {"memory_id": "{memory}"}),
    ("archive", {"memory_id": "{memory}", "run_id": "tidy"}),
    ("undo", {"memory_id": "{memory}"}),
    ("delete", {"memory_id": "{memory}", "reason": "asked"}),
    ("add", {"messages": "I have a cat"}),
    ("add_entity", {"name": "Makeshh", "aliases": ["Mak"], "category": "Person"}),
    ("update_entity", {"entity_id": "{entity}", "attributes": {"age": 40}}),
    ("add_alias", {"entity_id": "{entity}", "alias": "Mak"}),
    ("add_fact", {"subject": "Zoe", "predicate": "likes", "object": "jazz", "literal": True}),
    ("end_fact", {"relation_id": "{fact}", "until": "2026-02-01"}),
    ("retire_fact", {"relation_id": "{fact}"}),
    ("delete_fact", {"relation_id": "{fact}"}),
    ("restore_fact", {"relation_id": "{fact}"}),
    ("confirm_fact", {"relation_id": "{fact}"}),
    ("extract_facts", {"idempotency_key": "anew"}),
    ("delete_entity", {"entity_id": "{entity}"}),
    ("restore_entity", {"entity_id": "{entity}"}),
    ("propose_profile", {"field": "city", "value": "Lisbon"}),
    ("add_todo", {"text": "feed the cat"}),
    ("put_being_entry", {"store": "diary", "body": {"date": "2026-01-03", "text": "A day."}}),
    ("mark_note", {"entry_id": "{entry}"}),
    ("remove_being_entry", {"entry_id": "{entry}"}),
    ("delete_document", {"document_id": "{document}", "agent_id": "{agent}", "reason": "old"}),
    ("restore_document", {"document_id": "{document}", "agent_id": "{agent}"}),
    ("undo_document", {"document_id": "{document}", "agent_id": "{agent}"}),
)


async def test_a_write_answers_with_the_same_fields_in_every_face(faces: Faces, user: str) -> None:
    """Each face writes for a user of its own; what differs is ids and tokens."""
    told: list[list[Any]] = []
    for ask in (faces.python, faces.client, faces.http, faces.command):
        of = f"{user}-{ask.__name__}"
        ids = await known(faces.memory, of)
        answers = []
        for name, asked in WRITES:
            fields = _of(of, name, {key: _filled(value, ids) for key, value in asked.items()})
            found = await ask(BY_NAME[name], {**fields})
            assert "error" not in found, (ask.__name__, name, found)
            answers.append((name, _shape(found)))
        told.append(answers)
    assert told == [told[0]] * 4


REFUSED: tuple[tuple[str, Json], ...] = (
    ("create", {"text": ""}),
    ("create", {"text": "tea", "confidence": 2.0}),
    ("get", {"memory_id": "42"}),
    ("get", {"memory_id": NOBODY}),
    ("list", {"limit": 0}),
    ("list", {"cursor": "elsewhere"}),
    ("search", {"query": ""}),
    ("list_facts", {"valid_at": "yesterday"}),
    ("list_facts", {"as_of": 1, "known_at": 1}),
    ("list_facts", {"valid_at": 2019}),
    ("get_entity", {"entity_id": NOBODY}),
    ("add_fact", {"subject": "Alice", "predicate": "!!", "object": "tea"}),
    ("add_fact", {"subject": "Alice", "predicate": "likes", "object": "tea", "since": "yesterday"}),
    ("end_fact", {"relation_id": NOBODY}),
    ("merge_entities", {"entity_id": NOBODY, "absorbed_ids": [NOBODY]}),
    ("undo", {}),
    ("update_todo", {"todo_id": NOBODY, "text": "tea"}),
    ("put_being_entry", {"store": "note", "body": {"text": "tea"}}),
    ("mark_note", {"entry_id": NOBODY}),
    ("being_context", {"since_rev": -1}),
    ("search_memory", {"query": "tea", "mode": "xor"}),
    ("recall", {"query": ""}),
    ("grant_consent", {"patch_id": NOBODY}),
    ("why", {"id": "nothing of this name"}),
    ("session", {}),
    ("get_document", {"document_id": NOBODY}),
    ("search_knowledge", {"query": ""}),
)


async def test_a_request_is_refused_the_same_in_every_face(faces: Faces, user: str) -> None:
    for name, asked in REFUSED:
        fields = _of(user, name, asked)
        refused = await faces.python(BY_NAME[name], fields)
        assert "error" in refused, (name, asked, refused)
        assert await faces.client(BY_NAME[name], fields) == refused, name
        for ask in (faces.http, faces.command):
            assert _unquoted(await ask(BY_NAME[name], fields)) == _unquoted(refused), name


def _of(user: str, name: str, asked: Json) -> Json:
    """With the user, if the operation has one."""
    return {"user_id": user, **asked} if "user_id" in fields_of(BY_NAME[name]) else asked


def _unquoted(refused: Json) -> Json:
    """In a query a number is a text, which the message quotes."""
    return {**refused["error"], "message": refused["error"]["message"].replace("'", "")}


def _filled(value: Any, ids: Mapping[str, str]) -> Any:
    return value.format(**ids) if isinstance(value, str) else value


def _shape(value: Any) -> Any:
    """The names of its fields, and what kind of value each has."""
    if isinstance(value, dict):
        return {name: _shape(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_shape(one) for one in value]
    return type(value).__name__
