"""Upcasters: every version that was ever written reads as its current one, with its text and without."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import MalformedEvent, UnknownEvent
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Header, StoredEvent
from mnemolog.events.event import Event, PersonalText
from mnemolog.events.registry import REGISTRY, Registry
from tests.events.samples_on_disk import erased, sample
from tests.testkit.cipher import ShreddingCipher
from tests.testkit.clock import START
from tests.testkit.events import STREAM, new, stored

HERE = Path(__file__).parent


class HouseSeen(Event):
    """Version 1 had `colour` and `height_cm`; version 2 `height`, in metres; version 3 `floors` and a personal note."""

    version: ClassVar[int] = 3

    colour: str
    height: float
    floors: int
    note: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return frozenset({"house"})

    def key_scope(self) -> str:
        return "user"


def _to_2(fields: dict[str, Any]) -> dict[str, Any]:
    return {"colour": fields["colour"], "height": fields["height_cm"] / 100}


def _to_3(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "floors": int(fields["height"] // 3)}


HOUSES = Registry([HouseSeen], {("HouseSeen", 1): _to_2, ("HouseSeen", 2): _to_3})
OPEN = {
    1: {"colour": "red", "height_cm": 750},
    2: {"colour": "red", "height": 7.5},
    3: {"colour": "red", "height": 7.5, "floors": 2},
}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_reads_as_the_current_one(version: int) -> None:
    recorded = Codec(HOUSES).decode(_row(version, {"open": OPEN[version]}))

    assert recorded.payload == HouseSeen(colour="red", height=7.5, floors=2)
    assert recorded.header.version == version, "the header still says what is stored"


@given(st.integers(1, 3))
def test_an_event_of_an_older_version_survives_its_erased_text(version: int) -> None:
    cipher = ShreddingCipher()
    sealed = cipher.seal(STREAM, "user", {"note": "my house"})
    row = _row(version, {"open": OPEN[version], "scope": "user", "sealed": sealed})
    before = Codec(HOUSES).decode(row, cipher)
    cipher.destroy(STREAM, "user")

    after = Codec(HOUSES).decode(row, cipher)

    assert after.erased
    assert not before.erased
    assert after.payload == HouseSeen(colour="red", height=7.5, floors=2, note="")


def test_a_new_event_is_written_in_the_current_version() -> None:
    codec = Codec(HOUSES)
    payload = HouseSeen(colour="red", height=7.5, floors=2, note="mine")

    row = stored(new(payload))

    assert row.header.version == 3
    assert codec.decode(row).payload == payload


def test_a_version_from_the_future_is_refused() -> None:
    with pytest.raises(UnknownEvent, match="versions 1 to 3 are") as caught:
        Codec(HOUSES).decode(_row(4, {"open": OPEN[3]}))

    assert caught.value.field == "version"


def test_fields_that_an_upcaster_cannot_lift_are_malformed() -> None:
    with pytest.raises(MalformedEvent):
        Codec(HOUSES).decode(_row(1, {"open": {"colour": "red"}}))


def test_each_older_version_of_every_registered_type_has_an_upcaster() -> None:
    steps = {(name, version) for name, kind in REGISTRY.types.items() for version in range(1, kind.version)}

    assert set(REGISTRY.upcasters) == steps


def test_a_registry_with_a_missing_step_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="HouseSeen version 2"):
        Registry([HouseSeen], {("HouseSeen", 1): _to_2})


def _row(version: int, body: dict[str, Any]) -> StoredEvent:
    event = new(HouseSeen(colour="", height=0, floors=0))
    header = Header(STREAM, 1, event.event_id, "HouseSeen", version, ("house",), {"actor": "user"}, START, START)
    return StoredEvent(header, json.dumps(body).encode(), b"")


def test_a_personal_field_without_a_default_is_refused_at_once() -> None:
    class Named(HouseSeen):
        version: ClassVar[int] = 1
        name: PersonalText

    with pytest.raises(ValueError, match=r"Named\.name is personal"):
        Registry([Named], {})


WRITTEN = [line.split() for line in (HERE / "written.txt").read_text(encoding="utf-8").splitlines()]
VERSIONS = [(path.partition("/")[2].split(".v")[0], int(path.split(".v")[1].split(".")[0])) for _, path in WRITTEN]


@pytest.mark.parametrize(("digest", "path"), WRITTEN, ids=[path for _, path in WRITTEN])
def test_a_sample_that_was_once_written_is_there_and_unchanged(digest: str, path: str) -> None:
    """What stands in written.txt stands in somebody's log. Lines are added to it and never taken out."""
    assert sha256((HERE / path).read_bytes()).hexdigest() == digest


def test_every_version_of_every_type_has_a_sample() -> None:
    known = {(name, version) for name, kind in REGISTRY.types.items() for version in range(1, kind.version + 1)}

    assert sorted(VERSIONS) == sorted(known)


@pytest.mark.spec("X07")
@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_every_version_that_was_ever_written_reads_without_its_text(name: str, version: int) -> None:
    event, cipher = sample(HERE / "samples", name, version), ShreddingCipher()
    personal = b"sealed" in event.data
    if personal:
        event, cipher = erased(event, cipher)

    recorded = Codec().decode(event, cipher)

    assert recorded.erased is personal
    fields = type(recorded.payload).model_fields
    assert all(
        getattr(recorded.payload, one) == fields[one].get_default() for one in recorded.payload.personal_fields()
    )
