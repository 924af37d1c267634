"""Insights: what a conversation shows about the user's feelings and the relationship (B §3)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from mnemolog.domain.extraction.proposals import names_said
from mnemolog.domain.extraction.validation import Fault, checked

EVERY = timedelta(hours=24)
ACTIVITIES, SEMANTIC_ITEMS, SNIPPET = 5, 3, 1000
"""What the model reads: at most so many activities and semantic memories, and characters of the conversation."""
MOST, TOKENS, IMPORTANCE, MOST_TAGS = 3, 220, 2, 5
CATEGORY = "relationship_dynamic"


@dataclass(frozen=True, slots=True)
class Insight:
    """One insight, as the model answers it. `importance` is 1 to 5."""

    summary: str
    tags: tuple[str, ...] = ()
    importance: int = IMPORTANCE


@dataclass(frozen=True, slots=True)
class Insights:
    """The answer of the model; empty if nothing shows."""

    insights: tuple[Insight, ...]


def judge(answer: Insights, heard: Sequence[str]) -> tuple[Sequence[Insight], Sequence[Fault]]:
    """The first three insights that are sentences in the third person of at most 280 characters, with no name or number
    that was not in what the model read; and why the others are left out. None is more important than 2.
    """
    kept, faults = list[Insight](), list[Fault]()
    for one in answer.insights[:MOST]:
        summary = checked(one.summary)
        if isinstance(summary, Fault):
            faults.append(summary)
        elif not names_said(summary, heard):
            faults.append(Fault.UNGROUNDED)
        else:
            importance = min(IMPORTANCE, max(1, one.importance))
            kept.append(replace(one, summary=summary, importance=importance, tags=one.tags[:MOST_TAGS]))
    faults += [Fault.OVER_LIMIT] * max(0, len(answer.insights) - MOST)
    return kept, faults
