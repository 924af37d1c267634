"""The AsyncAPI page: every reference resolves, every message has its payload, and what is sent fits it."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
import yaml  # type: ignore[import-untyped]

from mnemolog.adapters.nats import asyncapi, wire
from mnemolog.adapters.nats.subjects import Address, event_subject
from mnemolog.adapters.nats.turn_message import TurnMessage, answer
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import Receipt, StreamId
from tests.docs.pages import ROOT
from tests.testkit.events import created, new, stored

JUNO = Address.of("acme.eu", "juno")
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return asyncapi.document()


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def resolved(document: dict[str, Any], reference: str) -> Any:
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def test_every_reference_resolves_and_every_name_is_one_that_the_specification_allows(
    document: dict[str, Any],
) -> None:
    found = list(references(document))
    assert len(found) > 20
    for reference in found:
        assert resolved(document, reference) is not None
    for kind in ("messages", "schemas"):
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in document["components"][kind])


def test_every_channel_has_an_operation_and_a_message_with_a_payload(document: dict[str, Any]) -> None:
    assert document["asyncapi"] == "3.0.0"
    assert set(document["channels"]) == {"turns", "events", "receipts", "dead-letters"}
    actions = {name: operation["action"] for name, operation in document["operations"].items()}
    assert actions == {"turns": "receive", "events": "send", "receipts": "send", "dead-letters": "send"}
    for operation in document["operations"].values():
        channel = resolved(document, operation["channel"]["$ref"])
        for reference in operation["messages"]:
            message = resolved(document, resolved(document, reference["$ref"])["$ref"])
            assert resolved(document, message["payload"]["$ref"]) is not None
        assert set(re.findall(r"{(\w+)}", channel["address"])) == set(channel["parameters"])


@pytest.mark.parametrize(
    ("channel", "subject"),
    [
        ("turns", JUNO.turns),
        ("events", event_subject(StreamId.of_user("ana"), "MemoryCreated")),
        ("receipts", f"{JUNO.receipts}.run.7"),
        ("dead-letters", JUNO.dead_letters),
    ],
)
def test_the_addresses_are_the_subjects_that_are_used(document: dict[str, Any], channel: str, subject: str) -> None:
    pattern = re.sub(r"\\{(\w+)\\}", r".+", re.escape(document["channels"][channel]["address"]))
    assert re.fullmatch(pattern, subject)


def test_streams_headers_receipts_and_limits_stand_in_it(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    for word in (
        "MNEMOLOG_TURNS", "MNEMOLOG_EVENTS", "MNEMOLOG_DEAD_LETTERS", "producer-turns", "Nats-Msg-Id",
        "Mnemolog-Reply-To", "Mnemolog-Mac", "Mnemolog-Reason", "8388608", "max_payload",
    ):  # fmt: skip
        assert word in text, word
    reply = document["operations"]["turns"]["reply"]
    assert resolved(document, reply["channel"]["$ref"])["address"].startswith("mnemolog.receipts") is not None


def test_what_the_engine_sends_fits_its_schema() -> None:
    receipt = Receipt(StreamId.of_user("ana"), (uuid4(),), 1, 1)
    asyncapi.Accepted.model_validate_json(answer(receipt, may_read=True), extra="forbid")
    refused = InvalidInput("is empty", field="text", fix="say it")
    asyncapi.Refused.model_validate_json(answer(refused, may_read=True), extra="forbid")
    asyncapi.EventMessage.model_validate_json(wire.pack(stored(new(created()))), extra="forbid")
    asyncapi.EventMessage.model_validate_json(wire.pack(stored(new(created())), limit=10), extra="forbid")


def test_the_schema_of_a_turn_names_every_field_what_it_means_and_what_is_required() -> None:
    schema = asyncapi.turn_schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert set(schema["properties"]) == set(TurnMessage.model_fields)
    assert all(field["description"] for field in schema["properties"].values())
    assert set(schema["required"]) == {"message_id", "user_id", "occurred_at"}
    assert schema["anyOf"] == [{"required": ["text"]}, {"required": ["attachments"]}]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("at", ["2026-01-03T01:02:10Z", datetime(2026, 1, 3, tzinfo=UTC).isoformat()])
def test_a_turn_of_the_required_fields_alone_is_a_turn(at: str) -> None:
    turn = TurnMessage.model_validate({"message_id": "1", "user_id": "ana", "text": "Hi", "occurred_at": at})
    assert (turn.agent_id, turn.thread_id, turn.occurred_at) == ("default", "main", datetime.fromisoformat(at))


def test_the_reference_holds_what_is_generated() -> None:
    """After a change: `mnemolog asyncapi --yaml > docs/reference/asyncapi.yaml`, and the same with --json-schema."""
    assert yaml.safe_load((REFERENCE / "asyncapi.yaml").read_text(encoding="utf-8")) == asyncapi.document()
    assert json.loads((REFERENCE / "turn.schema.json").read_text(encoding="utf-8")) == asyncapi.turn_schema()
