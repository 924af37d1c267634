"""Merge bands: which statement says the same as a memory, and what becomes of the two."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from mnemolog.domain.bands import Band, Bands, judged
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Content, Kind, Memory
from mnemolog.domain.memory_key import FactType, Identity
from mnemolog.domain.scope import Scope

BANDS = Bands(auto=0.93, check_low=0.76, fallback_low=0.5)
ABOUT_ANA = Identity(entity_refs=("person:ana",), fact_type=FactType.HABIT)


def known(text: str, *, pinned: bool = False, identity: Identity = Identity()) -> Memory:  # noqa: B008  A value.
    content = Content(text, "note", 0.5, 1.0, pinned)
    return Memory(uuid4(), Kind.FACT, Scope.GLOBAL, None, content, identity=identity)


@pytest.mark.parametrize(
    ("similarity", "old", "new", "band"),
    [
        (0.10, "Ana lives in Lisbon", "ANA  lives in Lisbón", Band.AUTO),
        (0.93, "Ana lives in Lisbon", "Ana is living in Lisbon", Band.AUTO),
        (0.92, "Ana lives in Lisbon", "Ana is living in Lisbon", Band.FALLBACK),
        (0.99, "Ana runs 5 km", "Ana runs 10 km", Band.UPDATE),
        (0.76, "Pays 1,200 euros rent", "Pays 1,350 euros rent", Band.UPDATE),
        (0.75, "Pays 1,200 euros rent", "Pays 1,350 euros rent", Band.FALLBACK),
        (0.80, "Jana is her sister", "Her sister is Jana", Band.UPDATE),
        (0.80, "Ana lives in Lisbon", "Ana lives in Porto", Band.FALLBACK),
        (0.49, "Ana lives in Lisbon", "Ana lives in Porto", None),
    ],
)
def test_a_statement_falls_into_the_band_of_its_similarity_and_its_words(
    similarity: float, old: str, new: str, band: Band | None
) -> None:
    assert judged(BANDS, similarity, known(old), new, Identity()) is band


def test_what_is_about_the_same_subject_is_its_newer_form() -> None:
    old = known("Ana lives in Lisbon", identity=ABOUT_ANA)

    assert judged(BANDS, 0.8, old, "Ana lives in Porto", ABOUT_ANA) is Band.UPDATE
    assert judged(BANDS, 0.8, old, "Ana lives in Porto", replace(ABOUT_ANA, fact_type=FactType.FACT)) is Band.FALLBACK


def test_what_says_more_of_its_subject_is_written_anew_and_absorbs_the_old_unless_that_is_pinned() -> None:
    text = "Ana runs 10 km"

    assert judged(BANDS, 0.8, known("Ana runs 5 km"), text, ABOUT_ANA) is Band.RECREATE
    assert judged(BANDS, 0.8, known("Ana runs 5 km", pinned=True), text, ABOUT_ANA) is Band.FALLBACK


@pytest.mark.parametrize("wrong", [(0.5, 0.6, 0.4), (0.9, 0.5, 0.6), (1.1, 0.5, 0.4), (0.9, 0.5, -1.1)])
def test_bands_that_do_not_rise_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="do not rise"):
        Bands(*wrong)
