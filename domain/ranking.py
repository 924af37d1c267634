"""Ranking: fuse the two parts of a search, cut to a budget, and render hits as bullets (B §6)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from mnemolog.domain import message
from mnemolog.domain import text as texts
from mnemolog.domain.contradiction import contradiction_of

Id = TypeVar("Id")
Hit = TypeVar("Hit")

# A min-max sum keeps score differences, unlike reciprocal rank fusion (see docs/explanation/retrieval.md).
VECTOR_WEIGHT = 0.5
TEXT_WEIGHT = 0.5


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


def bullet(found: Mapping[str, Any], *, former: bool = False) -> str:
    """A bullet with the day it was said: `[tasks] ... (2026-03-01)` (B §6) or `[message] Ana: ... (2026-03-01)`.

    A newer memory that contradicts it is named after the day, or else `former` marks what is no longer current. `when`
    is for what holds or is due at a time.
    """
    label = message.KIND if found["kind"] == message.KIND else found["category"]
    return f"[{label}] {dated(found, former=former)}"


def dated(found: Mapping[str, Any], *, former: bool = False) -> str:
    """The text of a bullet without its label."""
    note = contradiction_of(found) or ("former" if former else "")
    when = "; ".join(filter(None, (found.get("when") or f"{found['occurred_at']:%Y-%m-%d}", note)))
    return f"{found['line' if found['kind'] == message.KIND else 'text']} ({when})"


def within_budget(hits: Iterable[Hit], budget_tokens: int | None, text_of: Callable[[Hit], str]) -> Sequence[Hit]:
    """The hits, in order, whose texts together stay within the budget; the first that does not fit ends the list."""
    kept: list[Hit] = []
    left = float("inf") if budget_tokens is None else budget_tokens
    for hit in hits:
        left -= texts.count_tokens(text_of(hit))
        if left < 0:
            break
        kept.append(hit)
    return kept
