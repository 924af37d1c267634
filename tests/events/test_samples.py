"""Golden samples: every version of every event type that was ever written still reads, and its shape cannot drift.

`samples/<Type>.v<version>.json` is one stored event: the fields of its header, and `data` as text. A sample is
written once and never changed. To add one for a new type or version: run these tests, take the bytes that the failing
`test_the_current_version_is_written_as_its_sample` shows for a payload with every field set, and save them beside a
header like those of the other samples. To change a shape, give the type a new `version`, an upcaster from the old
one, and a sample of the new one; the old sample stays and must still decode.
"""

import json
from pathlib import Path

import pytest

from mnemolog.events.codec import Codec
from mnemolog.events.envelope import NewEvent
from mnemolog.events.registry import REGISTRY
from tests.events.samples_on_disk import sample

SAMPLES = Path(__file__).with_name("samples")
WRITTEN = [(name, version) for name, kind in REGISTRY.types.items() for version in range(1, kind.version + 1)]


@pytest.mark.parametrize(("name", "version"), WRITTEN)
def test_every_version_that_was_ever_written_has_a_sample_that_reads(name: str, version: int) -> None:
    event = sample(SAMPLES, name, version)

    recorded = Codec().decode(event)

    assert (event.header.type, event.header.version) == (name, version)
    assert isinstance(recorded.payload, REGISTRY.types[name])
    if version == REGISTRY.types[name].version:
        assert set(event.header.tags) == recorded.payload.tags()


@pytest.mark.parametrize("name", list(REGISTRY.types))
def test_the_current_version_is_written_as_its_sample(name: str) -> None:
    kept = sample(SAMPLES, name, REGISTRY.types[name].version)
    recorded = Codec().decode(kept)

    again = NewEvent(recorded.event_id, recorded.payload, recorded.meta, recorded.occurred_at)

    body, written = json.loads(Codec().encode(recorded.stream, again)), json.loads(kept.data)
    scope, wider = body.pop("scope", ""), written.pop("scope", "")
    assert body == written
    assert scope == wider or scope.startswith(f"{wider}/"), "a scope may become narrower: the bytes name their own"


@pytest.mark.parametrize("name", list(REGISTRY.types))
def test_a_sample_sets_every_field(name: str) -> None:
    """A field that is left at its default would not show a change of its form."""
    payload = Codec().decode(sample(SAMPLES, name, REGISTRY.types[name].version)).payload

    fields = type(payload).model_fields
    assert [field for field in fields if getattr(payload, field) == fields[field].get_default()] == []


@pytest.mark.parametrize("name", [name for name, kind in REGISTRY.types.items() if kind.personal_fields()])
def test_what_is_sealed_is_found_by_the_tag_of_its_key(name: str) -> None:
    payload = Codec().decode(sample(SAMPLES, name, REGISTRY.types[name].version)).payload

    assert payload.key_tag() in payload.tags()


def test_there_is_no_sample_of_an_unknown_event() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == {f"{name}.v{version}.json" for name, version in WRITTEN}
