"""Versions of a mapping read like copies of it, whichever of them is read, and cost only what changes."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.updated import updated, without

KEYS = st.integers(0, 9)
# Which earlier version is changed, and how: by other values, or without some keys.
STEPS = st.lists(st.tuples(st.integers(0, 30), st.dictionaries(KEYS, st.integers()) | st.frozensets(KEYS)), max_size=30)


@given(st.dictionaries(KEYS, st.integers()), STEPS, st.lists(st.integers(0, 30), max_size=20))
def test_every_version_reads_as_a_copy_would(
    first: dict[int, int], steps: list[tuple[int, dict[int, int] | frozenset[int]]], reads: list[int]
) -> None:
    versions: list[Mapping[int, int]] = [first]
    copies: list[dict[int, int | None]] = [{**first}]  # A key that was taken out keeps its place.
    for which, change in steps:
        place = which % len(versions)
        before, copy = versions[place], copies[place]
        if isinstance(change, dict):
            versions.append(updated(before, change))
            copies.append({**copy, **change})
        else:
            versions.append(without(before, change))
            copies.append({key: None if key in change else one for key, one in copy.items()})
    for which in [*reads, *range(len(versions))]:
        place = which % len(versions)
        version = versions[place]
        copy = {key: one for key, one in copies[place].items() if one is not None}
        assert list(version.items()) == list(copy.items())
        assert (list(version), list(version.keys()), list(version.values())) == (
            list(copy),
            list(copy.keys()),
            list(copy.values()),
        )
        assert (version, len(version), repr(version)) == (copy, len(copy), repr(copy))
        assert [(key in version, version.get(key), version.get(key, -1)) for key in range(10)] == [
            (key in copy, copy.get(key), copy.get(key, -1)) for key in range(10)
        ]
        with pytest.raises(KeyError):
            version[10]


def test_what_is_iterated_over_may_be_updated_meanwhile() -> None:
    version = updated({}, {1: "a", 2: "b"})
    later = version
    for key, one in version.items():
        later = updated(later, {key + 10: one})
    for key in version:
        later = updated(later, {key + 20: "c"})
    assert version == {1: "a", 2: "b"}
    assert later == {1: "a", 2: "b", 11: "a", 12: "b", 21: "c", 22: "c"}


def test_an_update_touches_what_it_changes_and_nothing_else() -> None:
    hashed = 0

    class Key:
        def __hash__(self) -> int:
            nonlocal hashed
            hashed += 1
            return id(self)

    counts = []
    for size in (10, 1000):
        version: Mapping[Key, int] = updated({}, {Key(): number for number in range(size)})
        hashed = 0
        for number in range(100):
            version = updated(version, {Key(): number})
        counts.append(hashed)
    assert counts[0] == counts[1]
