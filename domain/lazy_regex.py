"""Regular expressions that are compiled at their first use.

The rules have more than 700. To compile them took a quarter of the processor time that a program needs before its first
search, and most programs use few.
"""

import re
from functools import cached_property
from typing import cast

_CAPITALS = "".join(one for one in map(chr, range(0xC0, 0x180)) if one.isupper())
"""Those of Latin scripts that are not in `A-Z`: Ágnes, Øyvind and Łódź are names as well."""
_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _LazyPattern:
    """As fast as a compiled pattern after its first use: its methods are that one's."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> object:
        return getattr(self.compiled, name)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Once: `re` keeps no more than 512 patterns, and compiles the rest again."""
        found = re.compile(self.pattern.replace("[A-Z", f"[{_CAPITALS}A-Z"), self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(found, method))
        return found


_made: list[_LazyPattern] = []


def lazy_compile(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern like that of `re.compile`, for modules: it is kept. A mistake in it raises `re.error` at its first use.

    `A-Z` at the beginning of a set stands for the capitals of all Latin scripts.

    >>> lazy_compile("ana|bo").search("bob")
    <re.Match object; span=(0, 2), match='bo'>
    """
    made = _LazyPattern(pattern, flags)
    _made.append(made)
    return cast("re.Pattern[str]", made)


def compile_lazy() -> None:
    """Compile all patterns that there are by now, and have not been compiled."""
    for one in _made:
        _ = one.compiled
