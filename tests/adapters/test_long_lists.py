"""A list of a request is refused at its first fault, however long it is: else a short request took seconds."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from mnemolog.adapters.nats.turn_message import TurnMessage
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.fields import validated, with_few_unknown
from mnemolog.projections.slots import Envelope

MANY, FEW = 2000, 100
Schema = Mapping[str, Any]
REQUESTS: list[type[BaseModel]] = sorted(
    {one.request for one in OPERATIONS} | {TurnMessage, Envelope}, key=lambda one: one.__name__
)


def lists(schema: Schema, definitions: Mapping[str, Schema], deep: int = 6) -> Iterator[Any]:
    """For each list in a request, the request as far as that list, which is full of what is no item."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if not deep:
        return
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from lists(one, definitions, deep)
    if schema.get("type") == "array":
        yield [[] for _ in range(MANY)]
        yield [{} for _ in range(MANY)]
        yield from ([inner] for inner in lists(schema.get("items", {}), definitions, deep - 1))
    for name, one in schema.get("properties", {}).items():
        yield from ({name: inner} for inner in lists(one, definitions, deep - 1))


@pytest.mark.parametrize("request_model", REQUESTS, ids=lambda one: one.__name__)
def test_a_list_full_of_faults_is_refused_at_the_first(request_model: type[BaseModel]) -> None:
    schema = request_model.model_json_schema()

    for body in lists(schema, schema.get("$defs", {})):
        with pytest.raises(ValidationError) as refused:
            request_model.model_validate(body)
        assert refused.value.error_count() < FEW


def test_requests_have_such_lists() -> None:
    schemas: list[Schema] = [one.request.model_json_schema() for one in OPERATIONS]

    assert sum(any(lists(schema, schema.get("$defs", {}))) for schema in schemas) > 10


@pytest.mark.parametrize("request_model", REQUESTS, ids=lambda one: one.__name__)
def test_of_very_many_unknown_fields_the_first_is_told(request_model: type[BaseModel]) -> None:
    unknown = {f"unknown_{place}": place for place in range(MANY)}

    with pytest.raises(ValidationError) as refused:
        request_model.model_validate(with_few_unknown(request_model, unknown))

    assert ("unknown_0",) in [one["loc"] for one in refused.value.errors()]
    assert refused.value.error_count() < FEW


def test_a_list_that_is_too_long_is_counted_before_its_items_are_looked_at() -> None:
    turn = {"message_id": "m", "user_id": "u", "text": "t", "occurred_at": "2026-01-03T01:02:10Z"}

    with pytest.raises(InvalidInput) as refused:
        validated(TurnMessage, {**turn, "memories": [{}] * MANY})

    told = (refused.value.field, refused.value.message, refused.value.fix)
    assert told == ("memories", "has 2,000 entries", "give at most 20")
