"""Corroboration: what it does to a memory that it is said, or used, again (D13; the rule is ours, ADR 0025).

Confidence goes a part of the way to 1 that grows with the confidence of what is said: c' = 1 - (1 - c)(1 - 0.3 q).
Importance grows by C's step of 0.05, up to 0.95: 1.0 is for what is pinned.
"""

from dataclasses import replace

from mnemolog.domain.memory import Content

TRUST = 0.3
STEP = 0.05  # C ❹
HIGHEST = 0.95
USES = 10
"""So many recalls since a memory last grew count as one observation."""


def confidence(now: float, observed: float = 1.0) -> float:
    """The confidence, in [0, 1], after an observation of a confidence in [0, 1]. It never falls."""
    return min(1.0, max(now, 1 - (1 - now) * (1 - TRUST * observed)))


def importance(now: float) -> float:
    """The importance, in [0, 1], after an observation. It never falls."""
    return max(now, min(HIGHEST, now + STEP))


def corroborated(content: Content, observed: float = 1.0) -> Content:
    """The content after an observation of a confidence in [0, 1]."""
    return replace(
        content,
        confidence=confidence(content.confidence, observed),
        importance=importance(content.importance),
    )
