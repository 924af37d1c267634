"""The codec: whatever is encoded reads back, personal fields are sealed, and what cannot be read says why."""

import json
from dataclasses import replace
from typing import Any, get_origin

import pytest
from hypothesis import given

from mnemolog.domain.errors import MalformedEvent, MnemologError, UnknownEvent
from mnemolog.domain.scene import Dated, Experience, Scene
from mnemolog.events.artifacts import Passage
from mnemolog.events.codec import Codec, schema
from mnemolog.events.conversation import Attachment
from mnemolog.events.documents import StoredChunk
from mnemolog.events.envelope import NewEvent, StoredEvent
from mnemolog.events.event import BLIND, Event
from mnemolog.events.graph import Telling
from mnemolog.events.registry import REGISTRY
from tests.testkit.cipher import ShreddingCipher
from tests.testkit.events import STREAM, created, new, stored
from tests.testkit.payloads import new_events

SECRET = "Ana has a secret"


@given(new_events)
def test_every_payload_reads_back_as_it_was_written(event: NewEvent) -> None:
    recorded = Codec().decode(stored(event, seq=7))

    assert recorded.payload == event.payload
    assert recorded.meta == event.meta
    assert (recorded.seq, recorded.event_id, recorded.stream) == (7, event.event_id, STREAM)
    assert (recorded.occurred_at, recorded.erased) == (event.occurred_at, False)


@given(new_events)
def test_the_same_event_gives_the_same_bytes(event: NewEvent) -> None:
    again = replace(event, payload=type(event.payload).model_validate(event.payload.model_dump()))

    assert Codec().encode(STREAM, event) == Codec().encode(STREAM, again)


@given(new_events)
def test_personal_fields_are_sealed_and_never_open(event: NewEvent) -> None:
    body = json.loads(Codec().encode(STREAM, event))

    personal = event.payload.personal_fields()
    assert set(body["open"]) == set(type(event.payload).model_fields) - personal
    assert set(body.get("sealed", {}).get("fields", ())) == personal
    assert body.get("scope") == (event.payload.key_scope() if personal else None)


@pytest.mark.spec("X07")
@given(new_events)
def test_what_an_event_shows_besides_its_sealed_part_holds_no_personal_text(event: NewEvent) -> None:
    spoken = {name: _spoken(type(event.payload), name) for name in event.payload.personal_fields()}
    payload = event.payload.model_copy(update=spoken)

    kept = stored(replace(event, payload=payload), cipher=ShreddingCipher())

    shown = json.loads(kept.data)
    shown.pop("sealed", None)
    # Of blind tags the log keeps an HMAC, which the log's own tests show.
    header = replace(kept.header, tags=tuple(tag for tag in kept.header.tags if not tag.startswith(BLIND)))
    assert SECRET not in f"{shown} {header}"


def _spoken(payload: type[Event], name: str) -> Any:
    if name == "attachments":
        return (Attachment(type="image", caption=SECRET),)
    if name == "experience":
        return Experience(Scene(SECRET, (SECRET,), (Dated(SECRET, SECRET),), SECRET), SECRET, (SECRET,), cluster=SECRET)
    if name == "passages":
        return (Passage(text=SECRET, place=SECRET),)
    if name == "chunks":
        return (StoredChunk(text=SECRET, place=SECRET),)
    if name == "told":
        return (Telling(sources=("turn:t",), names=(SECRET,), attributes=(SECRET,)),)
    forms: dict[Any, Any] = {tuple: (SECRET,), dict: {SECRET: SECRET}}
    origin: Any = get_origin(payload.model_fields[name].annotation)
    return forms.get(origin, SECRET)


@pytest.mark.spec("X07")
@given(new_events)
def test_a_destroyed_key_takes_the_text_and_leaves_the_shape(event: NewEvent) -> None:
    cipher = ShreddingCipher()
    kept = stored(event, cipher=cipher)
    for stream, key_scope in cipher.used:
        cipher.destroy(stream, key_scope)

    recorded = Codec().decode(kept, cipher)

    personal = event.payload.personal_fields()
    defaults = {name: type(event.payload).model_fields[name].default for name in personal}
    assert recorded.payload == event.payload.model_copy(update=defaults)
    assert recorded.erased == bool(personal)


def test_every_personal_field_has_a_default_to_read_as_once_it_is_erased() -> None:
    for event_type in REGISTRY.types.values():
        for name in event_type.personal_fields():
            assert not event_type.model_fields[name].is_required(), f"{event_type.__name__}.{name}"


def test_the_schema_says_which_fields_are_personal() -> None:
    for event_type in REGISTRY.types.values():
        marked = {name for name, field in schema(event_type)["properties"].items() if field.get("x-personal")}
        assert marked == event_type.personal_fields()


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ({"type": "MemoryInvented"}, "type"),
        ({"version": 7}, "version"),
        ({"version": 0}, "version"),
        ({"version": -1}, "version"),
    ],
)
def test_an_unknown_type_or_version_is_named(header: dict[str, Any], field: str) -> None:
    event = _with_header(**header)

    with pytest.raises(UnknownEvent) as caught:
        Codec().decode(event)

    assert caught.value.field == field
    assert "newer Mnemolog" in caught.value.fix


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"", "data"),
        (b"\xff\xfe\xfd", "data"),
        (b"not json", "data"),
        (b"[]", "data"),
        (b"null", "data"),
        (b"17", "data"),
        (b"{}", "data"),
        (b"[" * 100_000, "data"),
        (b'{"open":null}', "data"),
        (b'{"open":{},"sealed":{}}', "data"),
        (b'{"open":{},"sealed":null,"scope":"user"}', "data"),
        (b'{"open":{},"sealed":{"alg":"none","fields":7},"scope":"user"}', "data"),
        (b'{"open":{},"sealed":{"alg":"rot13","fields":{}},"scope":"user"}', "data"),
    ],
)
def test_data_that_is_no_event_is_refused(data: bytes, field: str) -> None:
    with pytest.raises(MalformedEvent) as caught:
        Codec().decode(StoredEvent(_sample().header, data, b""))

    assert caught.value.field == field


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"memory_id": "no id"}, "data.memory_id"),
        ({"importance": "high"}, "data.importance"),
        ({"colour": "red"}, "data.colour"),
        ({"kind": "rumour"}, "data.kind"),
        ({"source_turn_ids": [1]}, "data.source_turn_ids.0"),
        ({"category": None}, "data.category"),
    ],
)
def test_a_field_that_does_not_fit_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(MalformedEvent) as caught:
        Codec().decode(_with_open(**change))

    assert caught.value.field == field
    assert f"seq 1 of {STREAM}" in caught.value.message


def test_a_missing_field_is_named() -> None:
    event = _sample()
    body = json.loads(event.data)
    del body["open"]["memory_id"]

    with pytest.raises(MalformedEvent) as caught:
        Codec().decode(replace(event, data=json.dumps(body).encode()))

    assert caught.value.field == "data.memory_id"


@pytest.mark.parametrize(
    "meta",
    [{}, {"actor": "user", "mood": "calm"}, {"actor": "user", "causation_id": "no id"}, {"actor": ["user"]}, []],
    ids=["missing", "unknown", "bad id", "no text", "no object"],
)
def test_meta_that_does_not_fit_is_named(meta: Any) -> None:
    with pytest.raises(MalformedEvent) as caught:
        Codec().decode(_with_header(meta=meta))

    assert caught.value.field == "meta"


@pytest.mark.spec("X07")
def test_an_error_tells_what_is_wrong_and_not_what_was_said() -> None:
    """Errors end in logs and in the reason of a stopped projection, which no key can shred."""
    event = stored(new(created(text=SECRET)))
    body = json.loads(event.data)
    body["sealed"]["fields"]["text"] = [SECRET]

    with pytest.raises(MnemologError) as caught:
        Codec().decode(replace(event, data=json.dumps(body).encode()))

    assert caught.value.field == "data.text"
    assert SECRET not in str(caught.value)


def _sample() -> StoredEvent:
    return stored(new(created()))


def _with_header(**fields: Any) -> StoredEvent:
    event = _sample()
    return replace(event, header=replace(event.header, **fields))


def _with_open(**fields: Any) -> StoredEvent:
    event = _sample()
    body = json.loads(event.data)
    body["open"].update(fields)
    return replace(event, data=json.dumps(body).encode())
