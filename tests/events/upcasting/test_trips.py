"""The worked example holds: every version reads as the current one, with its text and without."""

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.codec import Codec
from tests.docs.pages import ROOT
from tests.events.samples_on_disk import erased, sample
from tests.events.upcasting import trips
from tests.events.upcasting.trips import TRIPS, TripPlanned
from tests.testkit.cipher import ShreddingCipher

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "how-to" / "change-an-event.md"
NOW: dict[str, Any] = {"trip_id": "t-7", "nights": 4, "price_cents": 19990, "currency": "EUR"}
VERSIONS = range(1, TripPlanned.version + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_as_the_current_one(version: int) -> None:
    recorded = Codec(TRIPS).decode(sample(HERE, "TripPlanned", version))

    assert recorded.payload == TripPlanned(**NOW, traveller="Ana", place="Lisbon")
    assert recorded.header.version == version, "the header still says what is stored"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_without_its_text_once_that_is_erased(version: int) -> None:
    event, cipher = erased(sample(HERE, "TripPlanned", version), ShreddingCipher())

    recorded = Codec(TRIPS).decode(event, cipher)

    assert recorded.erased
    assert recorded.payload == TripPlanned(**NOW)


def test_an_upcaster_that_counts_on_personal_fields_fails_on_an_erased_event() -> None:
    def careless(fields: dict[str, Any]) -> dict[str, Any]:
        traveller, _, place = fields.pop("route").partition(" to ")
        return {**fields, "traveller": traveller, "place": place}

    broken: Mapping[Any, Any] = {**TRIPS.upcasters, ("TripPlanned", 1): careless}
    event, cipher = erased(sample(HERE, "TripPlanned", 1), ShreddingCipher())
    with pytest.raises(MalformedEvent):
        Codec(type(TRIPS)([TripPlanned], broken)).decode(event, cipher)


def test_the_page_shows_this_example_and_its_samples() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for part in (trips.TripPlanned, trips.trip_planned_1_to_2, trips.trip_planned_2_to_3):
        assert inspect.getsource(part) in page
    data = [json.loads((HERE / f"TripPlanned.v{version}.json").read_text("utf-8"))["data"] for version in VERSIONS]
    assert all(one in page for one in data)
