"""Merge bands: what becomes of a statement that is like one that is known (B §4, §13; D §memoryKey).

No specification gives figures: they belong to an embedding model, whose calibration carries them.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Memory
from mnemolog.domain.memory_key import Identity
from mnemolog.domain.text import normalize_name, search_terms


class Band(StrEnum):
    """How a statement met a memory that was known.

    `key`: they have one memory key. `auto`: it says the same. `update`: the same fact in its newer form. `recreate`:
    as update, but about something that the old one does not name, so that a new memory absorbs the old one.
    `fallback`: alike, and left to consolidation; both stand.
    """

    KEY = "key"
    AUTO = "auto"
    UPDATE = "update"
    RECREATE = "recreate"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Bands:
    """Where the bands begin, in cosine similarity: fallback_low <= check_low <= auto."""

    auto: float
    check_low: float
    fallback_low: float

    def __post_init__(self) -> None:
        if not -1 <= self.fallback_low <= self.check_low <= self.auto <= 1:
            raise InvalidInput(
                f"{self.fallback_low}, {self.check_low}, {self.auto} do not rise from -1 to 1",
                field="bands",
                fix="give fallback_low <= check_low <= auto, each a cosine similarity",
            )


def judged(bands: Bands, similarity: float, known: Memory, text: str, identity: Identity) -> Band | None:
    """The band of a new statement beside a known memory; None when they have nothing to do with each other."""
    old = known.content.text
    if same_words(old, text):
        return Band.AUTO
    if similarity >= bands.auto and numbers(old) == numbers(text):
        return Band.AUTO
    if similarity >= bands.check_low and (known.identity.same_subject(identity) or _one_wording(old, text)):
        return _replacing(known, identity)
    return Band.FALLBACK if similarity >= bands.fallback_low else None


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ in case, accents and spacing at most."""
    return normalize_name(one) == normalize_name(other)


def numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def _replacing(known: Memory, identity: Identity) -> Band:
    """What a memory is about is for life; and one that is pinned is never merged away (D §pinned)."""
    if identity in (Identity(source=identity.source), known.identity):
        return Band.UPDATE
    return Band.FALLBACK if known.content.pinned else Band.RECREATE


def _one_wording(old: str, new: str) -> bool:
    """The same words in another order, or but for a number: B §4's lexical overlap or numeric step."""
    terms = [frozenset(search_terms(_NUMBER.sub(" ", text))) for text in (old, new)]
    return terms[0] == terms[1]
