"""Importance: one float in [0, 1], and the scale that each specification speaks (design §2)."""

from mnemolog.domain.errors import InvalidInput

DEFAULT = 0.5


def checked(value: float, field: str = "importance") -> float:
    """The value itself when it lies in [0, 1]; InvalidInput otherwise."""
    if not 0.0 <= value <= 1.0:
        raise InvalidInput(f"{value!r:.60} is outside 0 to 1", field=field, fix="give a number from 0 to 1")
    return float(value)


def to_five(value: float) -> int:
    """The scale 1 to 5 of B: n = 1 + 4 x importance, rounded."""
    return 1 + round(4 * value)


def from_five(level: float, field: str = "importance") -> float:
    """From the scale 1 to 5 of B: (n - 1) / 4."""
    if not 1 <= level <= 5:
        raise InvalidInput(f"{level} is outside 1 to 5", field=field, fix="give a number from 1 to 5")
    return (level - 1) / 4


def to_level(value: float) -> int:
    """The levels 0 to 3 of D: n = 3 x importance, rounded."""
    return round(3 * value)


def from_level(level: int, field: str = "importance") -> float:
    """From the levels 0 to 3 of D: n / 3."""
    if not 0 <= level <= 3:
        raise InvalidInput(f"{level} is outside 0 to 3", field=field, fix="give a whole number from 0 to 3")
    return level / 3
