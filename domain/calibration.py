"""Thresholds on similarity belong to an embedding model, not to the code: what one model's figures mean (design §2)."""

from dataclasses import dataclass

from mnemolog.domain.bands import Bands


@dataclass(frozen=True, slots=True)
class Calibration:
    """Cosine similarities, in [-1, 1], as measured on one model. The specs' own figures are those of another."""

    question_floor: float
    """A question's best memory below this is no answer (A §6.3's 0.65)."""
    question_gap: float
    """How far below the best memory another may stand (A §6.3's 0.12)."""
    link_min: float
    """From here on, two memories are linked when one of them is written (B §2)."""
    bands: Bands
    """Which of two statements says the same (B §4, §13)."""
