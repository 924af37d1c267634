"""An unknown field is refused with the name that is meant."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mnemolog.adapters.nats.turn_message import TurnMessage
from mnemolog.adapters.operations.artifacts import ArtifactsRead
from mnemolog.adapters.operations.conversation import Add
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.fields import fault_of, validated
from mnemolog.projections.requests import Filters, MemoryQuery

ADD = {"user_id": "ana", "messages": "Hi"}
FACT = {"subject": "Ana", "predicate": "likes", "object": "tea"}
TURN = {"message_id": "m", "user_id": "ana", "text": "Hi", "occurred_at": "2026-01-03T01:02:10Z"}
QUERY = {"query": "tea", "filters": {"user_id": "ana"}}


@pytest.mark.parametrize(
    ("model", "fields", "path", "field"),
    [
        (Add, {**ADD, "messages": [{"content": "Hi", "created_at": "2026"}]}, "messages[0].created_at", "occurred_at"),
        (Add, {**ADD, "messages": [{"content": "Hi", "at": "2026"}]}, "messages[0].at", "occurred_at"),
        (Add, {**ADD, "messages": [{"content": "Hi", "timestamp": 5}]}, "messages[0].timestamp", "occurred_at"),
        (Add, {**ADD, "messages": [{"content": "Hi", "ocurred_at": "2026"}]}, "messages[0].ocurred_at", "occurred_at"),
        (
            Add,
            {**ADD, "messages": [{"content": "Hi", "facts": [{**FACT, "confidense": 1.0}]}]},
            "messages[0].facts[0].confidense",
            "confidence",
        ),
        (Add, {**ADD, "conversation_id": "t"}, "conversation_id", "thread_id"),
        (TurnMessage, {**TURN, "content": "Hi"}, "content", "text"),
        (Filters, {"start": "2026-01-01"}, "start", "since"),
        (MemoryQuery, {**QUERY, "limit": 3}, "limit", "top_k"),
        (MemoryQuery, {**QUERY, "filters": {"user_id": "ana", "Pinned": True}}, "filters.Pinned", "pinned"),
    ],
)
def test_an_unknown_field_is_refused_with_the_one_that_is_meant(
    model: type[BaseModel], fields: dict[str, object], path: str, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(model, fields)
    fault = refused.value
    assert (fault.field, fault.message, fault.fix) == (path, "is not known here", f"use {field!r}")


def test_a_name_that_resembles_no_field_gets_no_suggestion() -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(Filters, {"colour": "red"})
    assert refused.value.fix == "remove it, or correct its name"


@pytest.mark.parametrize(
    ("model", "fields", "path", "message"),
    [
        (Filters, {"metadata": "abc"}, "metadata", "must be a JSON object, not 'abc'"),
        (Filters, {"origin": "tool"}, "origin", "must be a list, not 'tool'"),
        (MemoryQuery, {"query": "tea", "filters": 1}, "filters", "must be a JSON object, not 1"),
    ],
)
def test_what_should_be_an_object_or_a_list_is_told_in_plain_words(
    model: type[BaseModel], fields: dict[str, object], path: str, message: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(model, fields)
    assert (refused.value.field, refused.value.message) == (path, message)


def test_a_list_of_a_wrong_length_is_told_in_plain_words() -> None:
    class Request(BaseModel):
        ids: Annotated[tuple[int, ...], Field(min_length=1, max_length=3)]

    for ids, told in (
        ([], ("ids", "is empty", "give at least 1")),
        ([1, 2, 3, 4], ("ids", "has 4 entries", "give at most 3")),
    ):
        with pytest.raises(InvalidInput) as refused:
            validated(Request, {"ids": ids})
        assert (refused.value.field, refused.value.message, refused.value.fix) == told


def test_a_text_that_is_too_long_is_counted_in_characters() -> None:
    asked = {"user_id": "ana", "label": "[image#A7F3C2]"}
    with pytest.raises(InvalidInput) as refused:
        validated(ArtifactsRead, asked)
    assert (refused.value.field, refused.value.message) == ("label", "has 14 characters")
    assert refused.value.fix == "give at most 7"


def test_many_unknown_fields_are_looked_for_in_one_schema() -> None:
    made = []

    class Request(BaseModel):
        model_config = ConfigDict(extra="forbid")

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            made.append(cls)
            return super().model_json_schema(*args, **kwargs)

    with pytest.raises(ValidationError) as refused:
        Request.model_validate({f"field_{number}": 0 for number in range(3)})
    assert len([fault_of(one, Request) for one in refused.value.errors()]) == 3
    assert made == [Request]
