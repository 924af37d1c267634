"""What a budget has no room for in full, by the sentences of it that answer (B06)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar, cast

from mnemolog.domain.excerpt import excerpt
from mnemolog.domain.memory import Kind
from mnemolog.domain.text import CountTokens
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.sources.summaries import SUMMARY

T = TypeVar("T")

LEAST = 60
"""The tokens that a text may always have."""
SHARES = 6
"""So many texts are to fit into a budget, if so many are found."""


def in_excerpts(
    shown: Sequence[T], stems: Collection[str], budget: int | None, line_of: Callable[[T], str], count: CountTokens
) -> Sequence[T]:
    """Hits and rows with a shorter `line` where the text is too long, if not all of them fit into the budget.

    `stems` are those of the question. Steps of a procedure and summaries stay whole.
    """
    if (
        budget is None
        or not shown
        or not any(used > budget for used in accumulate(count(line_of(one)) for one in shown))
    ):
        return shown
    limit = max(LEAST, budget // min(SHARES, len(shown)))
    return [_in_excerpt(one, stems, limit, count) for one in shown]


def _in_excerpt(one: T, stems: Collection[str], limit: int, count: CountTokens) -> T:
    row = one.row if isinstance(one, Hit) else one
    if not isinstance(row, Mapping) or row["kind"] in (Kind.PROCEDURE, SUMMARY) or count(row["text"]) <= limit:
        return one
    short = excerpt(row["text"], stems, limit, count)
    told = {**row, "line": (row.get("line") or row["text"]).replace(row["text"], short)}
    return replace(one, row=told) if isinstance(one, Hit) else cast("T", told)
