"""Importance: one float in [0, 1], and the scales of the specifications (design §2)."""

from enum import StrEnum
from math import ceil, floor

from mnemolog.domain.errors import InvalidInput

PINNED = 1.0
"""Pinned memories have the highest importance (D §pinned)."""


class Scale(StrEnum):
    """`unit` is 0 to 1 (A, C), `level3` 0 to 3 (D), `level5` 1 to 5 (B)."""

    UNIT = "unit"
    LEVEL3 = "level3"
    LEVEL5 = "level5"


def of_scale(value: float, scale: Scale) -> float:
    """Convert a value on an explicitly given scale to a float in [0, 1]."""
    match scale:
        case Scale.LEVEL3:
            return from_level(value)
        case Scale.LEVEL5:
            return from_five(value)
        case Scale.UNIT:
            return checked(value)


def checked(value: float, field: str = "importance") -> float:
    """The value if it is in [0, 1]; raises InvalidInput otherwise."""
    if not 0.0 <= value <= 1.0:
        raise InvalidInput(f"{value!r:.60} is outside 0 to 1", field=field, fix="give a number from 0 to 1")
    return float(value)


def to_five(value: float) -> int:
    """The scale 1 to 5 of B: n = 1 + 4 x importance, to the nearest; halves count up."""
    return 1 + floor(4 * value + 0.5)


def shows_at_least(level: float, field: str = "importance") -> float:
    """The least importance that shows this level of B or more."""
    return (ceil(_of_five(level, field)) - 1.5) / 4


def shows_more_than(level: float, field: str = "importance") -> float:
    """The least importance that shows more than this level of B."""
    return (floor(_of_five(level, field)) - 0.5) / 4


def from_five(level: float) -> float:
    """From the scale 1 to 5 of B: (n - 1) / 4."""
    return (_of_five(level, "importance") - 1) / 4


def _of_five(level: float, field: str) -> float:
    if not 1 <= level <= 5:
        raise InvalidInput(f"{level!r:.60} is outside 1 to 5", field=field, fix="give a number from 1 to 5")
    return level


def to_level(value: float) -> int:
    """The levels 0 to 3 of D: n = 3 x importance, rounded."""
    return round(3 * value)


def from_level(level: float) -> float:
    """From the levels 0 to 3 of D: n / 3."""
    if level not in (0, 1, 2, 3):
        raise InvalidInput(f"{level!r:.60} is not a level", field="importance", fix="give a whole number from 0 to 3")
    return level / 3


STANDARD = from_level(1)
"""The level between trivial and significant (D §importance)."""
