"""What a search finds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from mnemolog.domain import ranking
from mnemolog.domain.memory import SEMANTIC
from mnemolog.domain.origin import Origin
from mnemolog.domain.text import same_text

CANDIDATES = 50  # D: the top 50 by cosine and by full text; more if requested.


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing in the result. `score` in [0, 1] is the fused rank; `similarity` the cosine.

    `row` is the complete memory or message; of other kinds, what all kinds have in common, with the item as `details`.
    `superseded_by` is the id of what is current instead, if that is known. `parts` are what the score was made of.
    """

    id: str
    kind: str
    category: str
    text: str
    score: float
    similarity: float | None
    text_rank: float | None
    row: Mapping[str, Any] = field(repr=False)
    current: bool = True
    superseded_by: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def date(self) -> datetime:
        """When it was said, or since when it has held."""
        return cast("datetime", self.row["occurred_at"])

    @property
    def origin(self) -> Origin:
        return Origin(self.row["origin"])

    @property
    def bullet(self) -> str:
        return ranking.bullet(self.row, former=not self.current)

    def lowered(self, why: str, weight: float) -> "Hit":
        """With so much of its score; `parts` say why."""
        return replace(self, score=weight * self.score, parts={**self.parts, why: weight})


def by_score(hits: Iterable[Hit]) -> Sequence[Hit]:
    """The best first; those with the same score stay as they are."""
    return sorted(hits, key=lambda hit: -hit.score)


def told_once(memories: Iterable[tuple[Mapping[str, Any], bool]]) -> frozenset[str]:
    """Of memories in order, each with whether it is current, the ids of those that no other one above says already.

    What held twice, or happened on two days, is not the same; nor is an insight and a fact.
    """
    first = dict[object, str]()
    for row, current in memories:
        day = None if row["kind"] in SEMANTIC else row["occurred_at"].date()
        first.setdefault((same_text(row["text"]), row["kind"], current, day), str(row["memory_id"]))
    return frozenset(first.values())
