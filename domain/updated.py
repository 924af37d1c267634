"""Mappings of states that are folded event by event: an update costs as much as its changes, not as all it holds.

The newest version of a mapping has the dict; an older one knows the next newer version, and what it had instead. Who
reads an older one turns that around, step by step (Baker, Shallow binding makes functional arrays fast, 1991).
"""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from enum import Enum
from typing import Any, Final, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class _Missing(Enum):
    GONE = "It was taken out."
    NEVER = "It was never set."


_GONE: Final = _Missing.GONE
_NEVER: Final = _Missing.NEVER


def updated(before: Mapping[K, V], changes: Mapping[K, V]) -> Mapping[K, V]:
    """Like `{**before, **changes}`. Neither is changed; `before` must not be changed by others either."""
    if not changes:
        return before
    return (before if isinstance(before, _Version) else _Version(dict(before))).updated(changes)


def without(before: Mapping[K, V], keys: Iterable[K]) -> Mapping[K, V]:
    """The mapping without these keys. One that is set again returns to its former place."""
    gone: dict[K, V | _Missing] = {key: _GONE for key in keys if key in before}
    if not gone:
        return before
    return (before if isinstance(before, _Version) else _Version(dict(before))).updated(gone)


class _Version(Mapping[K, V]):
    """An immutable mapping in the order in which its keys were first set. For one thread."""

    __slots__ = ("_former", "_held", "_newer", "_size")

    def __init__(self, held: Any, size: int | None = None) -> None:
        # Of this version or a newer one; keys that are gone remain, so that the others keep their order.
        self._held: dict[K, V | _Missing] = held
        self._size = len(held) if size is None else size
        # Of an older version, whose dict another has: that one, and what this one has instead.
        self._newer: _Version[K, V] | None = None
        self._former: Mapping[K, V | _Missing] = {}

    def updated(self, changes: Mapping[K, V | _Missing]) -> "_Version[K, V]":
        held = self._dict()
        former = {key: held.get(key, _NEVER) for key in changes}
        grown = sum(isinstance(one, _Missing) for one in former.values())
        grown -= sum(one is _GONE for one in changes.values())
        held.update(changes)
        self._newer, self._former = _Version(held, self._size + grown), former
        return self._newer

    def _dict(self) -> dict[K, V | _Missing]:
        """The dict, which this version has from now on."""
        path: list[_Version[K, V]] = []
        version = self
        while version._newer is not None:
            path.append(version)
            version = version._newer
        for older in reversed(path):
            version._turn_around(older)
            version = older
        return self._held

    def _turn_around(self, older: "_Version[K, V]") -> None:
        held, former = self._held, older._former
        self._newer, self._former = older, {key: held.get(key, _NEVER) for key in former}
        for key, one in former.items():
            if one is _NEVER:
                del held[key]
            else:
                held[key] = one
        older._newer, older._former = None, {}

    def __getitem__(self, key: K) -> V:
        found = self._dict()[key]
        if isinstance(found, _Missing):
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        held: Mapping[Any, object] = self._dict()
        return held.get(key, _GONE) is not _GONE

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return iter(self._copy())

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: V | D) -> V | D: ...
    def get(self, key: K, default: Any = None) -> Any:
        found = self._dict().get(key, _GONE)
        return default if found is _GONE else found

    def keys(self) -> KeysView[K]:
        return self._copy().keys()

    def values(self) -> ValuesView[V]:
        return self._copy().values()

    def items(self) -> ItemsView[K, V]:
        return self._copy().items()

    def __repr__(self) -> str:
        return repr(self._copy())

    def _copy(self) -> dict[K, V]:
        """For who iterates: meanwhile another version may be read, or made."""
        return {key: one for key, one in self._dict().items() if not isinstance(one, _Missing)}
