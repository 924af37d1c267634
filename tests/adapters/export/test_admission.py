"""An import lets in what a command would have written, and names the line of anything else."""

import io
import json
from base64 import b85encode
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export.importing import checked, imported
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.event import Event
from mnemolog.events.graph import EntityObserved, RelationAsserted
from mnemolog.events.memory import MemoryCreated
from mnemolog.events.registry import REGISTRY
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.clock import START

MEMORY = {"memory_id": str(uuid4()), "kind": "fact", "scope": "global", "category": "note", "importance": 0.5}
MEMORY |= {"confidence": 1.0, "pinned": False, "text": "Ana drinks tea"}
ENTITY = {"entity_id": str(uuid4()), "category": "Thing", "scope": "global", "name": "tea"}
TURN = {"turn_id": "t-1", "thread_id": "main", "role": "user", "text": "Tea, please"}
OF_TYPE: dict[str, dict[str, Any]] = {"MemoryCreated": MEMORY, "EntityObserved": ENTITY, "TurnRecorded": TURN}
META = {"actor": "ana", "agent_id": "default", "thread_id": "main"}


def file_of(*lines: tuple[str, dict[str, Any]], meta: dict[str, str] = META, **head: Any) -> io.BytesIO:
    """An export with these events, of which each has a type and data."""
    shown = [
        {
            "seq": seq,
            "event_id": str(UUID(int=seq)),
            "type": type_,
            "version": REGISTRY.types[type_].version,
            "meta": meta,
            "occurred_at": START.isoformat(),
            "recorded_at": START.isoformat(),
            "data": data,
        }
        for seq, (type_, data) in enumerate(lines, start=1)
    ]
    first = {"format": "mnemolog-user", "version": 1, "user_id": "ana", "events": len(shown), "head": len(shown)}
    return io.BytesIO("\n".join(map(json.dumps, [{**first, **head}, *shown])).encode())


def refused(file: io.BytesIO) -> InvalidInput:
    with pytest.raises(InvalidInput) as error:
        checked(file, START)
    return error.value


LONG, NOISE = "a" * (256 * 1024 + 1), b85encode(Random(7).randbytes(4000)).decode()
HOSTILE = [
    ("MemoryCreated", {"text": LONG}, "data.text", "has 262,145 bytes of UTF-8, at most 262,144 are accepted"),
    ("MemoryCreated", {"text": "a\x1b[2Jb"}, "data.text", "contains the control character U+001B"),
    ("MemoryCreated", {"text": "a\0b"}, "data.text", "contains a NUL character"),
    ("MemoryCreated", {"topics": ["a", "b\x07"]}, "data.topics[1]", "contains the control character U+0007"),
    ("MemoryCreated", {"category": "c" * 201}, "data.category", "has 201 characters, at most 200 are accepted"),
    ("MemoryCreated", {"memory_key": NOISE}, "data.memory_key", "has 5,000 bytes of UTF-8, at most 1,024 are accepted"),
    ("MemoryCreated", {"agent_id": "a\nb"}, "data.agent_id", "contains U+000A"),
    ("MemoryCreated", {"metadata": {"a": "b\0"}}, "data.metadata", "contains a NUL character"),
    ("MemoryCreated", {"metadata": {"a": "b" * 40_000}}, "data.metadata", "has 40,009 bytes of JSON, at most 32,768"),
    ("EntityObserved", {"attributes": {"a": ["b\0"]}}, "data.attributes.a[0]", "contains a NUL character"),
    ("TurnRecorded", {"thread_id": NOISE}, "data.thread_id", "has 5,000 characters, at most 200 are accepted"),
    ("TurnRecorded", {"turn_id": " t-1"}, "data.turn_id", "has leading or trailing white space"),
    (
        "TurnRecorded",
        {"attachments": [{"type": "file", "caption": "\x1b]0;x\x07"}]},
        "data.attachments[0].caption",
        "contains the control character U+001B",
    ),
]


@pytest.mark.spec("X17")
@pytest.mark.parametrize(("type_", "fields", "field", "message"), HOSTILE)
def test_a_text_that_no_command_accepts_is_refused_with_its_line(
    type_: str, fields: dict[str, Any], field: str, message: str
) -> None:
    whole = OF_TYPE[type_]
    checked(file_of((type_, whole), (type_, whole)), START)

    error = refused(file_of((type_, whole), (type_, {**whole, **fields})))

    assert error.field == f"line 3 {field}"
    assert error.message.startswith(message)
    assert error.fix


@pytest.mark.spec("X17")
@pytest.mark.parametrize("name", ["agent_id", "thread_id", "run_id", "actor"])
def test_who_wrote_it_is_checked_as_well(name: str) -> None:
    error = refused(file_of(("MemoryCreated", MEMORY), meta={**META, name: NOISE}))
    assert error.field == f"line 2 meta.{name}"


@pytest.mark.spec("X17")
def test_a_number_that_is_too_long_is_refused_with_its_line() -> None:
    text = (
        file_of(("MemoryCreated", {**MEMORY, "metadata": {"n": 1}})).read().replace(b'"n": 1', b'"n": ' + b"9" * 5000)
    )
    error = refused(io.BytesIO(text))
    assert (error.field, error.message) == (
        "line 2",
        "has a whole number of 5,000 digits, at most 4,300 are accepted",
    )


@pytest.mark.spec("X17")
def test_a_policy_that_cannot_be_stored_is_refused() -> None:
    assert refused(file_of(("TurnRecorded", TURN), policies={"v": "a\0"})).field == "line 1 policies"


@pytest.mark.spec("X17")
def test_what_a_command_accepts_is_let_in() -> None:
    metadata = {"esc": "\x1b[1m", "n": 10**4299, "deep": [{"a": "b" * 20_000}]}
    attributes = {str(number): "b" * 30_000 for number in range(20)}  # Of several writes.
    text = "a\tb\r\n" + "é" * 131_000
    lines: list[tuple[str, dict[str, Any]]] = [
        ("MemoryCreated", {**MEMORY, "text": text, "metadata": metadata, "memory_key": "k" * 1024}),
        ("EntityObserved", {**ENTITY, "attributes": attributes}),
        ("TurnRecorded", {**TURN, "thread_id": "t" * 200, "text": "", "speaker": "Ana\u200d"}),
    ]
    checked(file_of(*lines), START)


@pytest.mark.spec("X17")
async def test_names_that_no_index_holds_stop_no_projection(engine: Engine, user: str) -> None:
    """Former versions wrote them: of a fact whose object is a long text."""
    subject = UUID(int=1)
    name = EntityObserved(entity_id=subject, category="Thing", scope="global", name=NOISE, aliases=("tea",))  # type: ignore[arg-type]
    fact = RelationAsserted.model_validate(
        {
            "relation_id": UUID(int=2),
            "validity": [],
            "scope": "global",
            "subject_id": subject,
            "predicate": "wrote",
            "confidence": 1.0,
            "valid_from": START,
            "single": False,
            "value": NOISE,
        }
    )
    payloads: list[Event] = [name, fact, MemoryCreated.model_validate(MEMORY)]
    file = file_of(*((one.type_name(), one.model_dump(mode="json")) for one in payloads))

    await imported(engine, checked(file, START), user)

    await assert_live_equals_replayed(engine, Person(engine, user).stream)
