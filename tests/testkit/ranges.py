"""Filters whose ranges hold something: others are refused."""

from collections.abc import Collection, Mapping
from typing import Any


def holding_something(
    filters: Mapping[str, Any], ranges: Mapping[str, str], alike: Collection[str] = ()
) -> dict[str, Any]:
    """The filters with the ends of each range in order, and without its end if both are the same.

    `ranges`: the end by the beginning; of those that begin with one of `alike`, both ends may be the same.
    """
    found = dict(filters)
    for first, last in ranges.items():
        if first in found and last in found:
            found[first], found[last] = sorted((found[first], found[last]))
            if found[first] == found[last] and first not in alike:
                del found[last]
    return found
