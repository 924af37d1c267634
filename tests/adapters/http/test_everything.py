"""Accepted means readable, exportable, undoable and erasable: over every write of the API, by what its readers show."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import ROUTES
from mnemolog.adapters.operations.registry import OPERATIONS
from tests.adapters.http.conftest import Api, Json
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.examples import examples
from tests.testkit.json_values import json_objects, json_values

_users = count(1)
WORD = "zirkonia"  # Stands in every text, and in nothing else: so that none is left after an erasure.
READING = {"search", "context", "envelope", "validate_envelope", "check_claims", "prove_erased", "search_artifacts"}
READING |= {"being_context", "recall", "recall_memory", "search_memory"}
# They write nothing without scenes, or statements: tests/engine/test_patrol.py and test_extraction.py.
READING |= {"run_patrol", "extract_facts"}
# Jobs read the text of files, and write when they are done: tests/engine/test_artifacts.py.
OF_FILES = {"add_artifact_", "describe_artifact", "delete_artifact", "restore_artifact", "erase_artifact"}
# Libraries are in streams of their own: tests/engine/test_knowledge.py.
OF_LIBRARY = {"add_document_"} | {one.name for one in OPERATIONS if one.tag == "knowledge"}
# Rows beside the log: tests/adapters/webhooks.
OF_WEBHOOKS = {one.name for one in OPERATIONS if one.tag == "webhooks"}
REFUSED = {403, 404, 409, 410, 422}
# What would be refused whatever it is filled with, so that nothing of it is tried.
OF_ANOTHER_SHAPE = {"is missing", "is not known here"}


@dataclass
class Life:
    """A user of the API, and the ids that his accepted writes gave."""

    api: Api
    run: str = "before"
    ids: dict[str, list[str]] = field(default_factory=dict)
    token: str = ""
    erased: bool = False

    def pick(self, kind: str, number: int) -> str:
        known = self.ids.get(kind, [])
        return known[number % len(known)] if known else "01942b6e-7c00-7000-8000-000000000000"


@dataclass(frozen=True)
class Drawn:
    """What a write is filled with."""

    text: str
    name: str
    other: str
    value: Any
    attributes: Any
    one: int
    two: int
    flag: bool


Asked = tuple[str, str, Json]
Write = Callable[[Life, Drawn], Asked]


def _of(kind: str, path: str, fields: Callable[[Drawn], Json] = lambda drawn: {}, method: str = "POST") -> Write:
    """A write on one of the ids of a kind."""
    return lambda life, drawn: (method, path.format(life.pick(kind, drawn.one)), fields(drawn))


def _new(path: str, fields: Callable[[Drawn], Json]) -> Write:
    return lambda life, drawn: ("POST", path, fields(drawn))


def _two(kind: str, path: str, name: str, *, many: bool) -> Write:
    def asked(life: Life, drawn: Drawn) -> Asked:
        other = life.pick(kind, drawn.two)
        return "POST", path.format(life.pick(kind, drawn.one)), {name: [other] if many else other}

    return asked


def _message(act: str, fields: Callable[[Drawn], Json] = lambda drawn: {}) -> Write:
    return lambda life, drawn: (
        "POST",
        f"/v1/message/{act}",
        {"message_id": life.pick("message_id", drawn.one), **fields(drawn)},
    )


CATEGORIES, KINDS, STATUSES = ["note", "profile", "goals"], ["commitment", "habit"], ["open", "done", "dropped"]
SCOPES = ["agent", "global", "session"]


def _scope(drawn: Drawn) -> Json:
    return {"scope": SCOPES[drawn.one % 3], **({"thread_id": "main"} if drawn.one % 3 == 2 else {})}


# By the name of the route: a write that is not here fails the first test.
WRITES: Mapping[str, Write] = {
    "create": _new(
        "/v1/memories",
        lambda drawn: {
            "text": drawn.text,
            "category": CATEGORIES[drawn.one % 3],
            "pinned": drawn.flag,
            "memory_key": f"{WORD}-{drawn.two}" if drawn.flag else "",
            "entity_refs": ["person:ana"] if drawn.flag else [],
        },
    ),
    "update": _of("memory_id", "/v1/memories/{}", lambda d: {"text": d.text, "pinned": d.flag}, "PATCH"),
    "delete": _of("memory_id", "/v1/memories/{}", lambda drawn: {"reason": drawn.text}, "DELETE"),
    "erase": _of("memory_id", "/v1/memories/{}/erase", lambda drawn: {"keep_turns": drawn.flag}),
    "archive": _of("memory_id", "/v1/memories/{}/archive"),
    "restore": _of("memory_id", "/v1/memories/{}/restore"),
    "confirm": _of("memory_id", "/v1/memories/{}/confirm"),
    "merge": _two("memory_id", "/v1/memories/{}/merge", "absorbed_ids", many=True),
    "link": _two("memory_id", "/v1/memories/{}/link", "to_id", many=False),
    "undo": lambda life, drawn: (
        "POST",
        "/v1/undo",
        {"event_id": life.pick("event", drawn.one)} if drawn.flag else {"memory_id": life.pick("memory_id", drawn.one)},
    ),
    "add": _new(
        "/v1/turns",
        lambda drawn: {
            "messages": {
                "message_id": f"m{drawn.one}",
                "content": drawn.text,
                "occurred_at": "2026-01-03T01:02:10Z",
                "memories": [{"text": f"{drawn.text} too"}] if drawn.flag else [],
                "facts": [{"subject": drawn.name, "predicate": "likes", "object": drawn.value, "literal": True}],
            }
        },
    ),
    "respond": _new("/v1/respond", lambda drawn: {"message_id": f"q{drawn.one}", "message": drawn.text}),
    "delete_message": _message("delete", lambda drawn: {"reason": drawn.text}),
    "restore_message": _message("restore"),
    "erase_message": _message("erase", lambda drawn: {"keep_memories": drawn.flag}),
    "set_affect": lambda life, drawn: (
        "PUT",
        "/v1/affect",
        {"label": drawn.text, "confidence": 0.9, "markers": [drawn.other], "thread_id": f"t{drawn.one % 2}"},
    ),
    "set_focus": lambda life, drawn: (
        "PUT",
        "/v1/focus",
        {"topic_focus": drawn.text, "pending_questions": [drawn.other], "thread_id": f"t{drawn.one % 2}"},
    ),
    "add_fact": _new(
        "/v1/facts",
        lambda drawn: {
            "subject": drawn.name,
            "predicate": ["measures", "lives_in", "likes"][drawn.one % 3],
            "object": drawn.other if drawn.flag else drawn.value,
            "metadata": drawn.attributes,
        },
    ),
    "end_fact": _of("relation_id", "/v1/facts/{}/end"),
    "retire_fact": _of("relation_id", "/v1/facts/{}/retire"),
    "delete_fact": _of("relation_id", "/v1/facts/{}", lambda drawn: {"reason": drawn.text}, "DELETE"),
    "restore_fact": _of("relation_id", "/v1/facts/{}/restore"),
    "confirm_fact": _of("relation_id", "/v1/facts/{}/confirm"),
    "add_entity": _new("/v1/entities", lambda d: {"name": d.name, "aliases": [d.other], "attributes": d.attributes}),
    "update_entity": _of("entity_id", "/v1/entities/{}", lambda drawn: {"attributes": drawn.attributes}, "PATCH"),
    "add_alias": _of("entity_id", "/v1/entities/{}/aliases", lambda drawn: {"alias": drawn.text}),
    "merge_entities": _two("entity_id", "/v1/entities/{}/merge", "absorbed_ids", many=True),
    "delete_entity": _of("entity_id", "/v1/entities/{}", lambda drawn: {"reason": drawn.text}, "DELETE"),
    "restore_entity": _of("entity_id", "/v1/entities/{}/restore"),
    "propose_profile": _new(
        "/v1/profile",
        lambda d: {"field": ["city", "tone", "goals_add"][d.one % 3], "value": d.text, "consent": d.flag},
    ),
    "grant_consent": _of("patch_id", "/v1/consent/{}/grant"),
    "refuse_consent": _of("patch_id", "/v1/consent/{}/refuse"),
    "seed": _new(
        "/v1/seed",
        lambda drawn: {
            "content": {
                "profile": {"tone": drawn.text},
                "memories": [{"text": drawn.text}],
                "facts": [{"subject": drawn.name, "predicate": "likes", "object": drawn.value, "literal": True}],
            }
        },
    ),
    "add_todo": _new("/v1/todos", lambda drawn: {"kind": KINDS[drawn.one % 2], "text": drawn.text}),
    "update_todo": _of("todo_id", "/v1/todos/{}", lambda drawn: {"status": STATUSES[drawn.two % 3]}, "PATCH"),
    "put_being_entry": _new(
        "/v1/being/entries",
        lambda d: {"store": "note", "body": {"type": "todo", "text": d.text}, "key": f"k{d.one}"},
    ),
    "mark_note": _of("entry_id", "/v1/being/entries/{}/read", lambda drawn: {"read": drawn.flag}, "PUT"),
    "remove_being_entry": _of("entry_id", "/v1/being/entries/{}", method="DELETE"),
    "erase_being_entry": _of("entry_id", "/v1/being/entries/{}/erase"),
    "erase_thread": lambda life, drawn: (
        "POST",
        "/v1/thread/erase",
        {"thread_id": "main", "with_survivors": drawn.flag},
    ),
    "erase_entity": _of("entity_id", "/v1/entities/{}/erase"),
    "erase_fact": _of("relation_id", "/v1/facts/{}/erase"),
    "erase_profile": lambda life, drawn: ("POST", f"/v1/profile/{['city', 'tone', 'goals'][drawn.one % 3]}/erase", {}),
    "erase_todo": _of("todo_id", "/v1/todos/{}/erase"),
    "erase_user": lambda life, drawn: ("POST", "/v1/user/erase", {}),
    "import_user": lambda life, drawn: ("POST", f"/v1/user/import?user_id={life.api.user}-{drawn.one}", {}),
    "rollback": lambda life, drawn: ("POST", "/v1/rollback", {"of_run": "before", "skip_conflicts": drawn.flag}),
    "forget": lambda life, drawn: ("POST", "/v1/forget", _scope(drawn)),
    "erase_scope": lambda life, drawn: ("POST", "/v1/erase-scope", _scope(drawn)),
}
ERASING = {name for name in WRITES if name.startswith("erase")} | {"forget"}
# What a batch is about, and so in no run of its own.
WHOLE = {"rollback", "import_user"}

texts = st.integers(0, 5).map(lambda number: f"{WORD} {number}")
names = st.sampled_from([f"Marta {WORD}", f"Martha {WORD}", f"Lisbon {WORD}"])
drawn = st.builds(
    Drawn,
    text=texts,
    name=names,
    other=names,
    value=json_values.filter(lambda value: value is not None and not isinstance(value, str)) | texts,
    attributes=json_objects,
    one=st.integers(0, 3),
    two=st.integers(0, 3),
    flag=st.booleans(),
)
steps = st.tuples(st.sampled_from(sorted(WRITES)), drawn)
GENTLE = WRITES.keys() - ERASING - WHOLE - {"undo"}
gentle = st.tuples(st.sampled_from(sorted(GENTLE)), drawn)


def test_every_write_of_the_api_is_among_these() -> None:
    writing = {route.name for route in ROUTES if "GET" not in (route.methods or ())}
    assert writing - READING - OF_FILES - OF_LIBRARY - OF_WEBHOOKS == WRITES.keys()


async def test_every_write_has_the_shape_that_the_api_asks_for(http: httpx.AsyncClient, user: str) -> None:
    life = Life(Api(http, user))
    for flag in (True, False):
        sample = Drawn(f"{WORD} 1", f"Marta {WORD}", f"Lisbon {WORD}", f"{WORD} tea", {}, 0, 1, flag)
        for name in WRITES:
            await play(life, name, sample)
    assert life.ids.keys() >= {"memory_id", "message_id", "relation_id", "entity_id", "todo_id", "entry_id"}


async def play(life: Life, name: str, drawn: Drawn) -> None:
    """Ask; what is refused is refused by a typed error, and what is accepted is remembered by its ids."""
    method, path, body = WRITES[name](life, drawn)
    if name == "import_user":
        exported = await life.api.http.get(f"/v1/user/export?user_id={life.api.user}")
        headers = {"Content-Type": "application/x-ndjson"}
        answer = await life.api.http.post(path, content=exported.content, headers=headers)
    else:
        answer = await _asked(life, name, method, path, body)
    told = json.loads(answer.text.strip().split("\n")[-1])  # Of an import, what became of it at its end.
    if answer.status_code in REFUSED:
        assert told["error"]["code"] != "error", told
        assert told["error"]["message"] not in OF_ANOTHER_SHAPE, (name, told)
        return
    assert answer.status_code in (200, 201), (name, answer.status_code, told)
    life.erased = life.erased or name.startswith("erase")
    receipt = told if "token" in told else told.get("receipt")
    if name != "import_user" and receipt:
        life.token = max(life.token, receipt["token"], key=_seq)  # What changes nothing has the token of what stood.
        life.ids.setdefault("event", []).extend(receipt.get("event_ids", ()))
    for kind in ("memory_id", "relation_id", "entity_id", "patch_id", "todo_id", "entry_id"):
        if kind in told:
            life.ids.setdefault(kind, []).append(told[kind])
    life.ids.setdefault("message_id", []).extend(told.get("message_ids", ()))


def _seq(token: str) -> int:
    return int(token.rpartition("@")[2] or 0)


async def _asked(life: Life, name: str, method: str, path: str, body: Json) -> httpx.Response:
    who = {"user_id": life.api.user, "agent_id": "coach"}
    run = {} if name in WHOLE else {"run_id": life.run}
    if method == "DELETE":
        return await life.api.http.request(method, path, params={**who, **run, **body})
    return await life.api.http.request(method, path, json={**who, **run, **body})


# What readers show, by what it is of; without what only history moves: when, in which turns, at which seq.
HISTORY = {"seq", "updated_at", "created_at", "last_accessed", "last_seen", "source_turn_ids", "observations", "fresh"}
HISTORY |= {"known_from", "known_to", "reactivation_count", "session_count", "forgotten_at", "deleted_cause", "run_id"}
HISTORY |= {"actor_id", "thread_id", "occurred_at", "purge_at", "card", "patch_id", "source", "overridden_by"}
LISTS = (
    ("/v1/memories", "memory_id"),
    ("/v1/messages", "message_id"),
    ("/v1/entities", "entity_id"),
    ("/v1/facts", "relation_id"),
    ("/v1/profile", "field"),
    ("/v1/todos", "todo_id"),
    ("/v1/being/entries", "entry_id"),
)


async def shown(life: Life, **moment: Any) -> dict[str, Json]:
    """Everything that the lists show."""
    who = {"user_id": life.api.user, "agent_id": "coach", **moment}
    found: dict[str, Json] = {}
    for path, key in LISTS:
        page: Json = {} if path == "/v1/profile" else {"limit": 1000}
        page |= {"status": "all"} if path == "/v1/todos" else {}
        answer = await life.api.call("GET", path, params={**who, **page})
        for row in answer.get("items") or answer.get("fields") or ():
            found[f"{key}:{row[key]}"] = {part: value for part, value in row.items() if part not in HISTORY}
    return found


async def readable(life: Life) -> None:
    """Every reader answers, of each thing that was ever written too."""
    who = {"user_id": life.api.user, "agent_id": "coach"}
    paths = ["/v1/consent", "/v1/changes", "/v1/session"]
    for id_ in life.ids.get("memory_id", []):
        paths += [f"/v1/memories/{id_}", f"/v1/history/{id_}", f"/v1/memories/{id_}/links", f"/v1/why/{id_}"]
    for id_ in life.ids.get("message_id", []):
        paths += [f"/v1/message?message_id={id_}", f"/v1/why/{id_}"]
    for id_ in life.ids.get("entity_id", []):
        paths += [f"/v1/entities/{id_}", f"/v1/history/{id_}", f"/v1/why/{id_}"]
    for id_ in life.ids.get("relation_id", []):
        paths += [f"/v1/history/{id_}", f"/v1/why/{id_}"]
    for path in dict.fromkeys(paths):
        answer = await life.api.http.get(httpx.URL(path).copy_merge_params(who))
        assert answer.status_code in (200, 404, 410), (path, answer.text)
    await life.api.call("POST", "/v1/search", json={**who, "query": WORD})
    await life.api.call("POST", "/v1/context", json={**who, "query": WORD})


async def exported(life: Life) -> list[str]:
    answer = await life.api.http.get(f"/v1/user/export?user_id={life.api.user}")
    assert answer.status_code == 200, answer.text
    head, *lines = answer.text.removesuffix("\n").split("\n")  # JSON may hold other ends of lines.
    assert len(lines) == int(life.token.rpartition("@")[2]), (
        head[:120],
        life.token,
        [json.loads(line)["type"] for line in lines],
    )
    assert all('"unreadable":""' in line for line in lines)
    return lines


@pytest.mark.spec_part("X02", "X03", "X07", "X17")
@settings(max_examples=examples(6), deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=4, max_size=12), st.lists(gentle, min_size=3, max_size=8))
async def test_accepted_means_readable_exportable_undoable_and_erasable(
    engine: Engine, http: httpx.AsyncClient, first: list[tuple[str, Drawn]], then: list[tuple[str, Drawn]]
) -> None:
    life = Life(Api(http, f"everything-{next(_users)}"))
    await play(life, "create", Drawn(f"{WORD} begins", "", "", 0, {}, 0, 0, False))
    for name, drawn in first:
        await play(life, name, drawn)
    before, life.run = await shown(life, after=life.token), "after"
    for name, drawn in then:
        await play(life, name, drawn)

    now = await shown(life, after=life.token)
    await exported(life)
    assert await shown(life, as_of=life.token.rpartition("@")[2]) == now
    await readable(life)
    await exported(life)

    undone = await _asked(life, "rollback", "POST", "/v1/rollback", {"of_run": "after"})
    told = undone.json()
    if undone.status_code == 200 and told["receipt"]:
        life.token = told["receipt"]["token"]
        after = await shown(life, after=life.token)
        assert {tag: after.get(tag) for tag in before} == before
        assert not [tag for tag in after.keys() - before.keys() if not tag.startswith("todo_id")]
    else:
        assert undone.status_code in (200, 404, 409, 422), told
    await assert_live_equals_replayed(engine, Person(engine, life.api.user).stream)

    erased = await life.api.post("/v1/user/erase")
    life.token = erased["receipt"]["token"]
    assert erased["held_up"] == {}
    assert await shown(life) == {}
    assert not [line for line in await exported(life) if WORD in line]
