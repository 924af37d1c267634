"""What decisions read lately, so that the next command of the same stream need not read it again (ADR 63)."""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Protocol

from mnemolog.commands.decider import Evolve, Placed
from mnemolog.events.envelope import NewEvent, Receipt, StreamId
from mnemolog.events.log import Guard

# Events of one stream, and of all: most streams have the few that concern one speaker.
EVENTS = 4096
# What there is of something else is folded with what is remembered of a stream, if that is not much.
FEW_EVENTS = 64
ALL_EVENTS = 65_536
STREAMS = 1024
# What another process erased is forgotten after this long, even if the stream is not written to again.
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Read:
    """The events of a stream up to `seq` with one of these tags, and what each decider folded from them."""

    tags: frozenset[str] = frozenset()
    seq: int = 0
    history: tuple[Placed, ...] = ()
    until: float = 0.0
    states: dict[Evolve, Any] = field(default_factory=dict)


class Decided(Protocol):
    """A draft as far as it is remembered: what was read, under which guard, and what is appended."""

    @property
    def guard(self) -> Guard: ...
    @property
    def history(self) -> Sequence[Placed]: ...
    @property
    def states(self) -> Mapping[Evolve, Any]: ...
    @property
    def whole(self) -> bool: ...
    @property
    def events(self) -> Sequence[NewEvent]: ...


class ReadMemory:
    """Remembers one read per stream. It may be out of date: the guard of an append that relies on it finds that out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._reads: OrderedDict[StreamId, Read] = OrderedDict()
        self._clock, self._events = clock, 0

    def find(self, stream: StreamId) -> Read:
        """What is remembered of this stream, if anything."""
        now = self._clock()
        while self._reads and next(iter(self._reads.values())).until <= now:
            self._drop_oldest()
        return self._reads.get(stream) or Read()

    def knows(self, stream: StreamId) -> bool:
        return bool(self.find(stream).tags)

    def keep(self, stream: StreamId, draft: Decided, fresh: frozenset[str], receipt: Receipt) -> None:
        """After the append of a draft: its guard held, so what it read is all that there is before the append.

        Without the tags that were new, unless the append changed what was read: then they are its own.
        """
        before, events = self._reads.get(stream), draft.events
        tags = draft.guard.all_tags - fresh
        if any(event.payload.shreds() for event in events):
            self.forget(stream)
        elif fresh and tags and draft.whole:
            self.forget(stream)
            doubtful = fresh - draft.guard.unwritten  # Of what is unwritten, the history has nothing.
            if doubtful and any(not doubtful.isdisjoint(event.payload.tags()) for _, event in draft.history):
                return
            states = before.states if before and before.history is draft.history else dict(draft.states)
            read = Read(tags, receipt.first_seq - 1, tuple(draft.history), states=states)
            self._keep(stream, _extended(read, events, fresh))
        elif before and before.seq == receipt.first_seq - 1:
            self.forget(stream)
            self._keep(stream, _extended(before, events, frozenset()))

    def forget(self, stream: StreamId) -> None:
        if read := self._reads.pop(stream, None):
            self._events -= len(read.history)

    def _keep(self, stream: StreamId, read: Read | None) -> None:
        if read is None or len(read.history) > EVENTS:
            return
        self._reads[stream] = replace(read, until=self._clock() + SECONDS)
        self._events += len(read.history)
        while len(self._reads) > STREAMS or self._events > ALL_EVENTS:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self.forget(next(iter(self._reads)))


def _extended(read: Read, events: Sequence[NewEvent], fresh: frozenset[str]) -> Read | None:
    """What was read, up to the end of the append behind it. No earlier event has one of the `fresh` tags.

    None if some of these events belong to it and others do not: those may have tags that are not in it.
    """
    belong = [not read.tags.isdisjoint(event.tags) for event in events]
    if not any(belong):
        return replace(read, seq=read.seq + len(events))
    if not all(belong):
        return None
    carried = frozenset().union(*(event.tags for event in events))
    history = (*read.history, *enumerate(events, read.seq + 1))
    states = {evolve: reduce(evolve, events, state) for evolve, state in read.states.items()}
    return Read(read.tags | (fresh & carried), read.seq + len(events), history, states=states)
