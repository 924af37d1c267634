"""Procedures: how something is done, as numbered steps (B §12, B12)."""

import re

from mnemolog.domain.category import PROCEDURAL
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Kind
from mnemolog.domain.memory_key import Source

DETECTED = 0.8
"""Of this confidence is a procedure that nobody asked to keep; the figure is ours, B says "high"."""


def kind_and_category(kind: Kind, category: str) -> tuple[Kind, str]:
    """The kind and the category go together: either makes both."""
    if kind is Kind.PROCEDURE or category == PROCEDURAL:
        return Kind.PROCEDURE, PROCEDURAL
    return kind, category


def require_steps(text: str, field: str = "text") -> None:
    """InvalidInput unless its lines are steps `1. ...` to `n. ...`, in order; what is indented belongs to its step."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    numbered = [found and int(found[1]) for found in map(_STEP.match, lines)]
    if not lines or numbered != list(range(1, len(lines) + 1)):
        raise InvalidInput(
            "is no procedure", field=field, fix="write one numbered step a line, each as an order: 1. Open the door"
        )


def require_wanted(source: Source, confidence: float) -> None:
    """InvalidInput for a procedure that was only overheard, and that not clearly (B §12)."""
    if source is Source.SHADOW_EXTRACTION and confidence < DETECTED:
        raise InvalidInput(
            f"a procedure was detected with confidence {confidence:g}",
            field="confidence",
            fix=f"keep procedures that are asked for, or of {DETECTED:g} and above",
        )


_STEP = re.compile(r"(\d{1,3})[.)]\s+\S")
