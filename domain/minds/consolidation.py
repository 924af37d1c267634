"""Consolidation: which memories say the same, and in what order a model is asked about those that may (B §4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from mnemolog.domain.bands import Band, Bands, judged, one_subject
from mnemolog.domain.contradiction import Difference, adds_to, difference, one_frame
from mnemolog.domain.extraction.proposals import names_said
from mnemolog.domain.memory import Kind, Memory
from mnemolog.domain.text import normalize_name, search_terms

PAIRS_A_DAY = 50
LEAST_BATCH, MOST_BATCH = 5, 10
FINGERPRINT_KEPT = timedelta(days=14)
CHANGED_WITHIN = timedelta(hours=72)
OLDEST = timedelta(days=90)
IMPORTANT = 3
"""Of 5."""
TOP_DECILE = 0.9
MOST_POOL = 200
KINDS = frozenset({Kind.FACT, Kind.INSIGHT})
"""Episodes, scenes and summaries tell what happened, and a procedure is a whole."""
_COMMON = frozenset({"user"})


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory with when it was last changed."""

    memory: Memory
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Candidates:
    """Two memories that may say the same: the older and the newer, and their cosine similarity.

    `same`: rules can tell that they do; else a model is asked.
    """

    older: Memory
    newer: Memory
    similarity: float
    same: bool

    @property
    def ids(self) -> tuple[UUID, UUID]:
        first, second = sorted((self.older.memory_id, self.newer.memory_id))
        return first, second

    @property
    def fingerprint(self) -> tuple[UUID, UUID, float]:
        """By which a pair is not compared again for 14 days."""
        return (*self.ids, round(self.similarity, 2))

    @property
    def survivor(self) -> tuple[Memory, Memory]:
        """Which of them absorbs the other: the newer one, unless the older is pinned."""
        return (self.older, self.newer) if self.older.content.pinned else (self.newer, self.older)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the pair with this number says the same of the same subject."""

    number: int
    same: bool


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The answer of the model, one verdict for each pair."""

    pairs: tuple[Verdict, ...]


def candidates(one: Kept, other: Kept, similarity: float, bands: Bands, now: datetime) -> Candidates | None:
    """The pre-filters (B §4): whether two memories are worth a comparison. None if not.

    A model is asked about those in the band from `fallback_low` to `check_low`, at most 90 days old, that share a word
    or differ in a number alone.
    """
    earlier, later = sorted((one, other), key=lambda kept: (kept.updated_at, kept.memory.memory_id))
    older, newer = earlier.memory, later.memory
    if not comparable(older, newer) or similarity < bands.fallback_low or now - earlier.updated_at > OLDEST:
        return None
    band = judged(bands, similarity, older, newer.content.text, newer.identity)
    means_the_same = one_subject(older, newer.identity) and difference(older.content.text, newer.content.text) is None
    if means_the_same or band in (Band.AUTO, Band.UPDATE, Band.RECREATE):
        return Candidates(older, newer, similarity, same=True)
    stepped = is_numeric_step(older, newer)
    if not stepped and (similarity >= bands.check_low or not mergeable(older, newer)):
        return None
    overlaps = bool(_words(older) & _words(newer))
    return Candidates(older, newer, similarity, same=False) if stepped or overlaps else None


def comparable(one: Memory, other: Memory) -> bool:
    """Whether two memories may be merged at all: same owner, kind, category and key, and not both pinned."""
    if not (one.visible and other.visible) or one.memory_id == other.memory_id:
        return False
    place = (one.scope, one.agent_id, one.kind, one.content.category, one.origin.external)
    alike = place == (other.scope, other.agent_id, other.kind, other.content.category, other.origin.external)
    keys = {one.identity.key, other.identity.key} - {""}
    pinned = one.content.pinned and other.content.pinned
    return alike and one.kind in KINDS and len(keys) < 2 and not pinned


def mergeable(one: Memory, other: Memory) -> bool:
    """Whether two memories differ in wording alone: nothing merges across a negation, a number, a date or a name."""
    return difference(one.content.text, other.content.text) in (None, Difference.WORDING)


def says(survivor: Memory, absorbed: Memory) -> bool:
    """Whether nothing is lost but wording: they differ in nothing else, or the survivor adds to the other.

    A name or a number that only the absorbed one has would be lost.
    """
    kept, dropped = survivor.content.text, absorbed.content.text
    return adds_to(dropped, kept) or (mergeable(survivor, absorbed) and names_said(dropped, [kept]))


def is_numeric_step(one: Memory, other: Memory) -> bool:
    """Whether two memories differ in a number alone, such as a weight that changed."""
    texts = (one.content.text, other.content.text)
    return difference(*texts) is Difference.NUMBER and one_frame(*texts)


def batches(pairs: Sequence[Candidates]) -> Sequence[Sequence[Candidates]]:
    """The pairs in requests of 5 to 10, as even as possible; fewer only if there are fewer in all."""
    count = math.ceil(len(pairs) / MOST_BATCH)
    size, rest = divmod(len(pairs), count) if count else (0, 0)
    found, at = list[Sequence[Candidates]](), 0
    for number in range(count):
        end = at + size + (1 if number < rest else 0)
        found.append(pairs[at:end])
        at = end
    return found


def _words(memory: Memory) -> frozenset[str]:
    """Without the first one, which is mostly the subject: what two memories of one person have in common anyway."""
    return frozenset(map(normalize_name, search_terms(memory.content.text)[1:])) - _COMMON
