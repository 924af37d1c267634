"""The last known head of each stream: committed by this process, or anchored (X08).

Kept for every stream, so it is small: about 130 bytes each. Eight bytes of a hash stand for the stream's name, and
eight of the link for the link; what is asked of the database is then compared in full.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from hashlib import blake2b

from mnemolog.adapters.verify.anchor import AnchoredHead
from mnemolog.events.envelope import StreamId

_HALF = 64

# What other processes know about streams.
Ask = Callable[[Sequence[StreamId]], Awaitable[Iterable[AnchoredHead]]]


class LatestHeads:
    """Implements `mnemolog.adapters.postgres.chained.LatestHeads`.

    A process that did not read the anchors when it started passes `ask`, and knows them all once `complete` is called.
    """

    def __init__(self, ask: Ask | None = None) -> None:
        self._heads: dict[int, int] = {}
        self._ask, self._asked = ask, set[int]()

    async def learn(self, streams: Collection[StreamId]) -> None:
        """Ask others about each stream once."""
        new = [stream for stream in streams if _place(stream) not in self._asked] if self._ask else []
        if self._ask and new:
            self.take(await self._ask(new))
            self._asked.update(map(_place, new))

    def complete(self) -> None:
        """Every anchored head is known: there is nothing more to ask."""
        self._ask, self._asked = None, set()

    def seq(self, stream: StreamId) -> int:
        return self._heads.get(_place(stream), 0) >> _HALF

    def take(self, heads: Iterable[AnchoredHead]) -> None:
        """The later head counts."""
        for head in heads:
            place, packed = _place(head.stream), _packed(head)
            if packed >> _HALF > self._heads.get(place, 0) >> _HALF:
                self._heads[place] = packed

    def of(self, stream: StreamId) -> AnchoredHead:
        """The last known head, with half of its link; seq 0 if nothing is known."""
        packed = self._heads.get(_place(stream), 0)
        return AnchoredHead(stream, packed >> _HALF, (packed & (1 << _HALF) - 1).to_bytes(8, "big"))

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
