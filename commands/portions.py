"""What is too large for one event, in portions: no message on JetStream grows too large."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

TEXT_BYTES = 64 * 1024


def portions(items: Iterable[T], bytes_of: Callable[[T], int]) -> Iterator[Sequence[T]]:
    """The items in order, in portions of at most `TEXT_BYTES`; one that is larger is alone."""
    portion: list[T] = []
    size = 0
    for one in items:
        bytes_ = bytes_of(one)
        if portion and size + bytes_ > TEXT_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(one)
        size += bytes_
    if portion:
        yield portion
