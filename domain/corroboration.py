"""Corroboration: how repeated statements and use strengthen a memory (D13; the rule is ours, ADR 0025).

Confidence moves towards 1, depending on the statement's confidence: c' = 1 - (1 - c)(1 - 0.3 q). Importance grows by
C's step of 0.05 up to 0.95, since 1.0 is for pinned memories.
"""

from dataclasses import replace

from mnemolog.domain.memory import Content

TRUST = 0.3
STEP = 0.05  # C ❹
HIGHEST = 0.95
USES = 10
"""This many recalls since a memory last grew count as one observation."""


def confidence(now: float, observed: float = 1.0) -> float:
    """The confidence in [0, 1] after an observation with a confidence in [0, 1]. It never decreases."""
    return min(1.0, max(now, 1 - (1 - now) * (1 - TRUST * observed)))


def importance(now: float) -> float:
    """The importance in [0, 1] after an observation. It never decreases."""
    return max(now, min(HIGHEST, now + STEP))


def corroborated(content: Content, observed: float = 1.0) -> Content:
    """The content after an observation with a confidence in [0, 1]."""
    return replace(
        content,
        confidence=confidence(content.confidence, observed),
        importance=importance(content.importance),
    )
