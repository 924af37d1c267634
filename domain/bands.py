"""Merge bands: how a statement that resembles a known memory is handled (B §4, §13; D §memoryKey).

The specifications give no figures: they depend on the embedding model and are part of its calibration.
"""

from dataclasses import dataclass
from enum import StrEnum

from mnemolog.domain.contradiction import adds_to, another_value, contradict, difference, one_frame, opposed
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Memory
from mnemolog.domain.memory_key import Identity
from mnemolog.domain.text import normalize_name, same_text, search_terms


class Band(StrEnum):
    """How a statement matches a known memory.

    `key`: they have the same memory key. `auto`: it has the same meaning. `update`: a newer form of the same fact.
    `recreate`: as update, but about something the old memory does not mention, so a new memory absorbs the old one.
    `conflict`: similar but contradictory; both are kept and linked. `fallback`: similar; both are kept, to be
    consolidated later.
    """

    KEY = "key"
    AUTO = "auto"
    UPDATE = "update"
    RECREATE = "recreate"
    CONFLICT = "conflict"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Bands:
    """The lower bounds of the bands, as cosine similarities: fallback_low <= check_low <= auto."""

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
    """The band of a new statement and a known memory; None if they are unrelated.

    Similarity alone never merges: "is vegetarian" and "is not vegetarian" are closer than most paraphrases.
    """
    old = known.content.text
    if conflicting(bands, similarity, old, text):
        return Band.CONFLICT
    if one_subject(known, identity):
        if same_text(old) == same_text(text) or (similarity >= bands.auto and difference(old, text) is None):
            return Band.AUTO
        if similarity >= bands.check_low and (adds_to(old, text) or difference(old, text) is None):
            # A memory's subject never changes, and a pinned memory is never merged into another (D §pinned).
            if identity in (Identity(source=identity.source), known.identity):
                return Band.UPDATE
            return Band.FALLBACK if known.content.pinned else Band.RECREATE
    return Band.FALLBACK if similarity >= bands.fallback_low else None


def one_subject(known: Memory, identity: Identity) -> bool:
    """Whether a statement may be about the same entity as a memory: "Likes tea" applies to many."""
    own, other = known.identity.entity_refs[:1], identity.entity_refs[:1]
    if own == other:
        return True
    named = own + other
    return len(named) == 1 and set(named[0].partition(":")[2].split("_")) <= set(search_terms(known.content.text))


def conflicting(bands: Bands, similarity: float, one: str, other: str) -> bool:
    """Whether two statements are similar and contradict each other; those with the same frame may be less similar."""
    if similarity < bands.fallback_low:
        return False
    if another_value(one, other):
        return True
    return contradict(one, other) and (one_frame(one, other) or (similarity >= bands.check_low and opposed(one, other)))


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ at most in case, accents and spacing."""
    return normalize_name(one) == normalize_name(other)
