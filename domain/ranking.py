"""Ranking: fuse the two parts of a search, weigh hits by a profile, cut to a budget, and render bullets (B §6)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

from mnemolog.domain import message
from mnemolog.domain import text as texts
from mnemolog.domain.calibration import Calibration
from mnemolog.domain.contradiction import contradiction_of
from mnemolog.domain.origin import Origin, quoted

Id = TypeVar("Id")
Hit = TypeVar("Hit")

# A min-max sum keeps score differences, unlike reciprocal rank fusion (see docs/explanation/retrieval.md).
FORMER = "former"
"""The mark of what no longer holds."""
VECTOR_WEIGHT = 0.5
TEXT_WEIGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What a profile weighs of a hit, each in [0, 1]. `similarity`: None if the hit has no cosine.

    `relevance`: how well it answers; `frequency`: how often its entities occur among the hits, compared with the one
    that occurs most; `links`: the strength of its strongest link.
    """

    relevance: float
    similarity: float | None = None
    age: timedelta = timedelta()
    frequency: float = 0.0
    links: float = 0.0
    insight: bool = False


class Cutoff(StrEnum):
    """Which of the hits that have a similarity are left out.

    `relative`: those far below the best one, or below the model's floor for questions (A §6.3). `floor`: those below
    the model's floor for what comes to mind (C §Recall Flow).
    """

    NONE = "none"
    RELATIVE = "relative"
    FLOOR = "floor"

    def above(self, known: Calibration, best: float) -> float:
        """The similarity that a hit must exceed, if the best one has `best`."""
        match self:
            case Cutoff.RELATIVE:
                return known.relevant_above(best)
            case Cutoff.FLOOR:
                return known.recall_floor
            case Cutoff.NONE:
                return -2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A way to rank. The weights of `match`, `recency` and `frequency` make 1; `links` is a boost on top (B §2).

    `match` is the similarity, or the relevance for hits without one and if `by_meaning` is off. `insights` is a factor.
    """

    name: str
    by_meaning: bool = True
    match: float = 1.0
    recency: float = 0.0
    frequency: float = 0.0
    links: float = 0.0
    insights: float = 0.5
    half_life: timedelta = timedelta(days=14)
    cutoff: Cutoff = Cutoff.NONE

    def parts(self, of: Signals) -> Mapping[str, float]:
        """What each weighted signal adds to the score, by name; those of weight 0 are left out."""
        similar = self.by_meaning and of.similarity is not None
        match = max(0.0, of.similarity or 0.0) if similar else of.relevance
        recency = 0.5 ** max(0.0, of.age / self.half_life)
        weighed = (
            ("similarity" if similar else "relevance", self.match, match),
            ("recency", self.recency, recency),
            ("frequency", self.frequency, of.frequency),
            ("links", self.links, of.links),
        )
        factor = self.insights if of.insight else 1.0
        return {name: factor * weight * value for name, weight, value in weighed if weight}

    def score(self, of: Signals) -> float:
        """In [0, 1]."""
        return min(1.0, sum(self.parts(of).values()))


# B §2 and §3 give no figure for `w_rel` and for the "low weight" of insights. The link boost is "small": it decides
# between hits that are nearly equal. Insights count half in every profile.
DEFAULT = Profile(name="default", by_meaning=False, links=0.05)
PROFILES: Mapping[str, Profile] = {
    one.name: one
    for one in (
        DEFAULT,
        Profile(name="twin", cutoff=Cutoff.RELATIVE),  # A §6.3: by similarity alone.
        Profile(name="delta", links=0.1),  # B §2.
        Profile(name="being", cutoff=Cutoff.FLOOR),  # C §Recall Flow: by similarity alone.
        Profile(name="persona", match=0.4, recency=0.3, frequency=0.3),  # D §Memory Retrieval.
    )
}


def min_max(scores: Mapping[Id, float]) -> dict[Id, float]:
    """Scores normalized to [0, 1]; all 1.0 if they are equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def fuse(vector: Mapping[Id, float], text: Mapping[Id, float]) -> dict[Id, float]:
    """The weighted sum of min-max normalized scores, in [0, 1]; a hit that is missing in one part counts 0 there."""
    legs = ((VECTOR_WEIGHT, min_max(vector)), (TEXT_WEIGHT, min_max(text)))
    fused: dict[Id, float] = {}
    for weight, leg in legs:
        for key, score in leg.items():
            fused[key] = fused.get(key, 0.0) + weight * score
    return fused


def nothing_known(question: str, within: Sequence[str] = ()) -> str:
    """Says that nothing is known of a question, by what it was looked for, and within what."""
    terms = ", ".join(texts.search_terms(question)) or "no word"
    only = f"; restricted by {', '.join(within)}" if within else ""
    return f'Nothing is known about "{question}" (searched by meaning, and for the words {terms}{only}).'


def over_budget(budget_tokens: int, taken: int = 0) -> str:
    """Says that what was found is not shown, because the best of it does not fit beside what is always shown.

    >>> over_budget(30)
    'Something was found, but the best of it takes more than 30 tokens (budget_tokens).'

    `taken`: the tokens of critical facts and the delta header.
    """
    room = f"{budget_tokens} tokens"
    if taken:
        room = f"the {max(0, budget_tokens - taken)} of {room} that critical facts and the header leave"
    return f"Something was found, but the best of it takes more than {room} (budget_tokens)."


def bullet(found: Mapping[str, Any], *, former: bool = False) -> str:
    """A bullet with the day it was said: `[tasks] ... (2026-03-01)` (B §6) or `[message] Ana: ... (2026-03-01)`.

    A newer memory that contradicts it is named after the day, or else `former` marks what is no longer current; a row
    may have a mark of its own. `when` is for what holds or is due at a time.
    """
    label = message.KIND if found["kind"] == message.KIND else found.get("label") or found["category"]
    return f"[{label}] {dated(found, former=former)}"


def dated(found: Mapping[str, Any], *, former: bool = False) -> str:
    """The text of a bullet without its label, dated in its first line. What comes from outside is quoted, and says so
    (X21).
    """
    note = contradiction_of(found) or found.get("former") or (FORMER if former else "")
    origin = Origin(found["origin"])
    when = "; ".join(filter(None, (found.get("when") or f"{found['occurred_at']:%Y-%m-%d}", note, origin.label)))
    text = found.get("line") or found["text"]
    first, *rest = (quoted(text) if origin.external else text).strip().split("\n")
    heading = ":" if rest and first.endswith(":") else ""
    return "\n".join([f"{first.removesuffix(heading)} ({when}){heading}", *rest])


ANYWAY, RELATED = 20, 0.3
"""So many messages are in a context if there are any, and more only with this share of the best score (measured)."""
UNRELATED = 10
"""So many messages are in a context if none answers. On two lives of tests/bench/told no answer was lost, and the
contexts of small talk had two fifths fewer tokens."""


def related(scores: Sequence[float]) -> Sequence[int]:
    """The places of the messages that a context shows, of their scores in the order of a search.

    >>> len(related([0.6] + [0.1] * 49)), len(related([0.6] + [0.2] * 49))
    (20, 50)
    """
    least = RELATED * max(scores, default=0.0)
    return [place for place, score in enumerate(scores) if place < ANYWAY or score >= least]


OUTSIDE = 0.5
"""What a match counts if it comes from outside: whoever wrote it may have written it to be found."""


def within_budget(
    hits: Iterable[Hit], budget_tokens: int | None, text_of: Callable[[Hit], str], count_tokens: texts.CountTokens
) -> Sequence[Hit]:
    """The hits, in order, whose texts together stay within the budget; the first that does not fit ends the list."""
    if budget_tokens is None:
        return list(hits)
    kept, left = list[Hit](), budget_tokens
    for hit in hits:
        left -= count_tokens(text_of(hit))
        if left < 0:
            break
        kept.append(hit)
    return kept
