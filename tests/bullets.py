"""The bullets of an answer without the day that each one ends with."""

import re

_BULLET = re.compile(r"(.*) \(\d{4}-\d\d-\d\d(?:; ([^()]*))?\)", re.DOTALL)


def undated(bullet: str) -> str:
    """The text of a bullet, which must say when it was said."""
    found = _BULLET.fullmatch(bullet)
    assert found, f"{bullet!r} has no day"
    return found[1]
