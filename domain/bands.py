"""Merge bands: what becomes of a statement that is like one that is known (B §4, §13; D §memoryKey).

No specification gives figures: they belong to an embedding model, whose calibration carries them.
"""

from dataclasses import dataclass
from enum import StrEnum

from mnemolog.domain.contradiction import adds_to, contradict, difference, one_frame
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Memory
from mnemolog.domain.memory_key import Identity
from mnemolog.domain.text import normalize_name, same_text, search_terms


class Band(StrEnum):
    """How a statement met a memory that was known.

    `key`: they have one memory key. `auto`: it says the same. `update`: the same fact in its newer form. `recreate`:
    as update, but about something that the old one does not name, so that a new memory absorbs the old one.
    `conflict`: alike, and they contradict each other; both stand, linked. `fallback`: alike, and left to consolidation;
    both stand.
    """

    KEY = "key"
    AUTO = "auto"
    UPDATE = "update"
    RECREATE = "recreate"
    CONFLICT = "conflict"
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
                f"{self.fallback_low}, {self.check_low}, {self.auto} are not ascending between -1 and 1",
                field="bands",
                fix="give fallback_low <= check_low <= auto, each a cosine similarity",
            )


def judged(bands: Bands, similarity: float, known: Memory, text: str, identity: Identity) -> Band | None:
    """The band of a new statement beside a known memory; None when they have nothing to do with each other.

    Similarity alone merges nothing: "is vegetarian" and "is not vegetarian" are nearer than most paraphrases.
    """
    old = known.content.text
    if conflicting(bands, similarity, old, text):
        return Band.CONFLICT
    if one_subject(known, identity):
        if same_text(old) == same_text(text) or (similarity >= bands.auto and difference(old, text) is None):
            return Band.AUTO
        if similarity >= bands.check_low and (adds_to(old, text) or difference(old, text) is None):
            return _replacing(known, identity)
    return Band.FALLBACK if similarity >= bands.fallback_low else None


def one_subject(known: Memory, identity: Identity) -> bool:
    """Whether a statement may be about what a memory is about: "Likes tea" is said of many."""
    own, other = known.identity.entity_refs[:1], identity.entity_refs[:1]
    if own == other:
        return True
    named = own + other
    return len(named) == 1 and set(named[0].partition(":")[2].split("_")) <= set(search_terms(known.content.text))


def conflicting(bands: Bands, similarity: float, one: str, other: str) -> bool:
    """Whether two statements are alike and contradict each other; those of one frame may be less alike."""
    if similarity < bands.fallback_low or not contradict(one, other):
        return False
    return similarity >= bands.check_low or one_frame(one, other)


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ in case, accents and spacing at most."""
    return normalize_name(one) == normalize_name(other)


def _replacing(known: Memory, identity: Identity) -> Band:
    """What a memory is about is for life; and one that is pinned is never merged away (D §pinned)."""
    if identity in (Identity(source=identity.source), known.identity):
        return Band.UPDATE
    return Band.FALLBACK if known.content.pinned else Band.RECREATE
