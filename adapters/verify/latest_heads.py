"""The last known head of each stream: committed by this process, or anchored (X08).

Kept for every stream, so it is small: about 130 bytes each. Eight bytes of a hash stand for the stream's name, and
eight of the link for the link; what is asked of the database is then compared in full.
"""

from collections.abc import Iterable
from hashlib import blake2b

from mnemolog.adapters.verify.anchor import AnchoredHead
from mnemolog.events.envelope import StreamId

_HALF = 64


class LatestHeads:
    """Implements `mnemolog.adapters.postgres.chained.LatestHeads`."""

    def __init__(self) -> None:
        self._heads: dict[int, int] = {}

    def seq(self, stream: StreamId) -> int:
        return self._heads.get(_place(stream), 0) >> _HALF

    def take(self, heads: Iterable[AnchoredHead]) -> None:
        """The later head counts."""
        for head in heads:
            place, packed = _place(head.stream), _packed(head)
            if packed >> _HALF > self._heads.get(place, 0) >> _HALF:
                self._heads[place] = packed

    def holds(self, head: AnchoredHead) -> bool:
        """Whether this is the last known head of its stream."""
        return self._heads.get(_place(head.stream)) == _packed(head)

    def forget(self, stream: StreamId) -> None:
        """From now on the log counts as it is, because an operator accepted it."""
        self._heads.pop(_place(stream), None)


def _place(stream: StreamId) -> int:
    return int.from_bytes(blake2b(f"{stream.tenant}\0{stream.name}".encode(), digest_size=8).digest(), "big")


def _packed(head: AnchoredHead) -> int:
    return (head.seq << _HALF) | int.from_bytes(head.link[:8], "big")
