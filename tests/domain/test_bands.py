"""Merge bands: which statement says the same as a memory, and what becomes of the two."""

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


@pytest.mark.spec_part("B13")
@pytest.mark.parametrize(
    ("similarity", "old", "new", "band"),
    [
        (0.10, "Ana lives in Lisbon", "ANA  lives in Lisbon.", Band.AUTO),
        (0.93, "Ana lives in Lisbon", "Ana is living in Lisbon", Band.AUTO),
        (0.92, "Ana lives in Lisbon", "Ana is living in Lisbon", Band.UPDATE),
        (0.75, "Ana lives in Lisbon", "Ana is living in Lisbon", Band.FALLBACK),
        (0.95, "Marko works at Acme", "Marko is employed by Acme", Band.FALLBACK),
        (0.95, "Ana drinks green tea", "Ana drinks black tea", Band.FALLBACK),
        (0.99, "Ana runs 5 km", "Ana runs 10 km", Band.CONFLICT),
        (0.99, "Ana is vegetarian", "Ana is not vegetarian", Band.CONFLICT),
        (0.50, "Ana is vegetarian", "Ana is not vegetarian", Band.CONFLICT),
        (0.80, "Ana lives in Lisbon", "Ana lives in Porto", Band.CONFLICT),
        (0.50, "Ana's favourite colour is green", "Ana's favourite colour is now blue", Band.CONFLICT),
        (0.90, "Ana's favourite colour is green", "Ana's favourite colour is a light green", Band.FALLBACK),
        (0.90, "Ana's favourite tea is oolong", "Ana's favourite colour is blue", Band.FALLBACK),
        (0.90, "One of Ana's favourite colours is green", "One of Ana's favourite colours is blue", Band.FALLBACK),
        (0.80, "Jana is her sister", "Her sister is Jana", Band.FALLBACK),
        (0.80, "Ana runs every morning", "Ana runs every morning along the river", Band.UPDATE),
        (0.49, "Ana lives in Lisbon", "Ana lives in Porto", None),
    ],
)
def test_a_statement_falls_into_the_band_of_its_similarity_and_its_words(
    similarity: float, old: str, new: str, band: Band | None
) -> None:
    assert judged(BANDS, similarity, known(old), new, Identity()) is band


def test_the_same_words_about_somebody_else_are_no_repetition() -> None:
    tea = "Likes tea"

    assert judged(BANDS, 1.0, known(tea, identity=ABOUT_ANA), tea, ABOUT_ANA) is Band.AUTO
    assert (
        judged(BANDS, 1.0, known(tea, identity=ABOUT_ANA), tea, Identity(entity_refs=("person:bob",))) is Band.FALLBACK
    )
    assert judged(BANDS, 1.0, known(tea), tea, ABOUT_ANA) is Band.FALLBACK
    assert judged(BANDS, 1.0, known("Ana likes tea"), "Ana likes tea", ABOUT_ANA) is Band.AUTO


def test_what_says_more_of_its_subject_is_written_anew_and_absorbs_the_old_unless_that_is_pinned() -> None:
    text = "Ana runs along the river"

    assert judged(BANDS, 0.8, known("Ana runs"), text, ABOUT_ANA) is Band.RECREATE
    assert judged(BANDS, 0.8, known("Ana runs", pinned=True), text, ABOUT_ANA) is Band.FALLBACK


@pytest.mark.parametrize("wrong", [(0.5, 0.6, 0.4), (0.9, 0.5, 0.6), (1.1, 0.5, 0.4), (0.9, 0.5, -1.1)])
def test_bands_that_do_not_rise_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="are not ascending"):
        Bands(*wrong)
