"""The queue of a projection worker: streams take turns, so that a flood in one of them delays no other."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from mnemolog.events.envelope import StreamId
from mnemolog.projections.rule import Delivered, Unread, seq_of, stream_of


@dataclass(frozen=True, slots=True)
class Batch:
    """What to apply next: events at hand, and those to read."""

    events: Sequence[Delivered]
    unread: Sequence[Unread]

    def __len__(self) -> int:
        return len(self.events) + sum(one.until - one.after for one in self.unread)


class StreamQueue:
    """Holds up to `limit` events; of further ones it keeps only the range of each stream, for up to `limit` streams.

    A batch has at most `size` events: `share` of each stream, or `alone` of the only one. `longest` is for how many
    seconds it waits for more.
    """

    def __init__(self, size: int, share: int, alone: int, limit: int, longest: float) -> None:
        self._size, self._share, self._alone, self._limit, self._longest = size, share, alone, limit, longest
        self._held: OrderedDict[StreamId, deque[Delivered]] = OrderedDict()  # The next stream comes first.
        self._count = 0
        self._unread: dict[StreamId, tuple[int, int]] = {}  # The first and the last seq; held ones come before.
        self._waiting = asyncio.Event()

    def __len__(self) -> int:
        """How many events wait: those held, and the ranges to read."""
        return self._count + sum(last - first + 1 for first, last in self._unread.values())

    def offer(self, delivery: Delivered) -> bool:
        """Take an event; returns whether there was room, at least for its place."""
        stream, seq = stream_of(delivery), seq_of(delivery)
        if stream in self._unread:
            first, last = self._unread[stream]
            self._unread[stream] = min(first, seq), max(last, seq)
        elif self._count < self._limit:
            self._held.setdefault(stream, deque()).append(delivery)
            self._count += 1
        elif len(self._unread) < self._limit:
            self._unread[stream] = seq, seq
            self._held.setdefault(stream, deque())
        else:
            return False
        self._waiting.set()
        return True

    def put_back(self, left: Unread) -> None:
        """Take the rest of a gap, and all that waits of its stream, as a range: it has its turn after the others."""
        held = self._held.setdefault(left.stream, deque())
        first, last = self._unread.get(left.stream, (left.after + 1, left.until))
        self._unread[left.stream] = min(first, left.after + 1), max(last, left.until, *map(seq_of, held))
        self._count -= len(held)
        held.clear()
        self._waiting.set()

    async def take(self) -> Batch:
        """At least one event, after a short wait for more."""
        await self._waiting.wait()
        await asyncio.sleep(self._longest)
        events, unread, room = list[Delivered](), list[Unread](), self._size
        share = self._alone if len(self._held) == 1 else self._share
        for stream in list(islice(self._held, self._size)):
            if room <= 0:
                break
            if taken := self._taken(stream, min(share, room)):
                events += taken
                room -= len(taken)
            else:
                first, last = self._unread.pop(stream)
                until = min(last, first + min(share, room) - 1)
                if until < last:
                    self._unread[stream] = until + 1, last
                unread.append(Unread(stream, first - 1, until))
                room -= unread[-1].until - unread[-1].after
            if self._held[stream] or stream in self._unread:
                self._held.move_to_end(stream)
            else:
                del self._held[stream]
        if not self._held:
            self._waiting.clear()
        return Batch(events, unread)

    def _taken(self, stream: StreamId, most: int) -> Sequence[Delivered]:
        held = self._held[stream]
        taken = [held.popleft() for _ in range(min(most, len(held)))]
        self._count -= len(taken)
        return taken
