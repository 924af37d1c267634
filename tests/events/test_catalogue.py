"""The catalogue tells of each type what its code says."""

import pytest
from hypothesis import given

from mnemolog.domain.errors import InvalidInput
from mnemolog.events.catalogue import catalogue, described
from mnemolog.events.event import Event
from mnemolog.events.registry import REGISTRY
from tests.testkit.payloads import payloads


def test_every_registered_type_is_in_it_once_by_name() -> None:
    assert [one.name for one in catalogue()] == sorted(REGISTRY.types)


def test_tags_and_scope_show_which_field_they_are_made_of() -> None:
    turn = described("TurnRecorded")

    assert turn.tags == ["thread:<thread_id>", "turn:<turn_id>"]
    assert turn.key_scope == "thread:<thread_id>/turn:<turn_id>"
    assert turn.personal == ["attachments", "metadata", "speaker", "text"]


def test_what_is_hidden_is_marked_in_the_schema_and_nothing_else() -> None:
    for one in catalogue():
        marked = [name for name, field in one.schema.get("properties", {}).items() if field.get("x-personal")]
        assert sorted(marked) == one.personal


@given(payloads)
def test_an_event_has_as_many_kinds_of_tags_as_its_type_tells(payload: Event) -> None:
    told = {tag.partition(":")[0] for tag in described(payload.type_name()).tags}

    assert {tag.removeprefix("~").partition(":")[0] for tag in payload.tags()} <= told


def test_an_unknown_type_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput) as refused:
        described("MemoryDreamt")

    assert refused.value.field == "type"
    assert "MemoryCreated" in refused.value.fix
