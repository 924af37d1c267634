"""The keys of working memory, in parts that a Redis Cluster keeps on one node each.

One script changes the sessions and the progress of a stream, and reaches a single node. So all keys of a stream have
the same hash tag in a cluster, one of 64; on a single node they have none, and there is one part.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from zlib import crc32

from mnemolog.events.envelope import StreamId

COUNT = 64
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slot:
    """`prefix` begins the name of every key in it."""

    prefix: str
    version: int

    @property
    def progress(self) -> str:
        return self._own("progress")

    @property
    def stopped(self) -> str:
        return self._own("stopped")

    @property
    def skipped(self) -> str:
        return self._own("skipped")

    @property
    def index(self) -> str:
        """The sorted set of the names of all sessions and affects, without the prefix."""
        return self._own("keys")

    @property
    def total(self) -> str:
        return self._own("total")

    @property
    def quiet(self) -> str:
        """While this key exists, nothing is written."""
        return self._own("quiet")

    def _own(self, name: str) -> str:
        return f"{self.prefix}mnemolog:working:{self.version}:{name}"


class Slots:
    """All parts of a store."""

    def __init__(self, prefix: str, version: int, *, clustered: bool) -> None:
        tags = [f"{{w{number}}}" for number in range(COUNT)] if clustered else [""]
        self.every: Sequence[Slot] = [Slot(prefix + tag, version) for tag in tags]

    def of(self, stream: StreamId) -> Slot:
        return self.every[crc32(str(stream).encode()) % len(self.every)]

    def grouped(self, ones: Iterable[T], stream_of: Callable[[T], StreamId]) -> Mapping[Slot, list[T]]:
        """The ones of each part that has any."""
        found: dict[Slot, list[T]] = {}
        for one in ones:
            found.setdefault(self.of(stream_of(one)), []).append(one)
        return found
