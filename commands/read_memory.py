"""What decisions read lately, so that the next command of the same stream need not read it again (ADR 63)."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mnemolog.events.envelope import NewEvent, Recorded, StreamId
from mnemolog.events.log import Guard

# Streams, and events of each: mostly the few that concern one speaker.
STREAMS = 1024
EVENTS = 64
# What another process erased is forgotten after this long, even if the stream is not written to again.
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Read:
    """The events of a stream up to `seq` with one of these tags, and what each decider folded from them."""

    tags: frozenset[str] = frozenset()
    seq: int = 0
    history: tuple[Recorded, ...] = ()
    until: float = 0.0
    states: dict[Any, Any] = field(default_factory=dict)


class Decided(Protocol):
    """A draft as far as it is remembered: what was read, under which guard, and what is appended."""

    @property
    def guard(self) -> Guard: ...
    @property
    def history(self) -> Sequence[Recorded]: ...
    @property
    def events(self) -> Sequence[NewEvent]: ...


class ReadMemory:
    """Remembers one read per stream. It may be out of date: the guard of an append that relies on it finds that out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._reads: OrderedDict[StreamId, Read] = OrderedDict()
        self._clock = clock

    def find(self, stream: StreamId) -> Read:
        """What is remembered of this stream, if anything."""
        now = self._clock()
        while self._reads and next(iter(self._reads.values())).until <= now:
            self._reads.popitem(last=False)
        return self._reads.get(stream) or Read()

    def knows(self, stream: StreamId) -> bool:
        """Whether anything is remembered of this stream."""
        return bool(self.find(stream).tags)

    def keep(self, stream: StreamId, draft: Decided, fresh: frozenset[str], seq: int) -> None:
        """After the append of a draft, which ended at `seq`: its guard held, so this is all there is up to there.

        Only what the next command needs, too: without the tags that were new, and if the append changed none of it.
        """
        tags = draft.guard.all_tags - fresh
        if any(event.payload.shreds() for event in draft.events):
            self.forget(stream)
        if not fresh or not tags:
            return
        before = self._reads.pop(stream, None)
        changed = any(not tags.isdisjoint(event.tags) for event in draft.events)
        repeated = any(not fresh.isdisjoint(event.payload.tags()) for event in draft.history)
        if changed or repeated or len(draft.history) > EVENTS:
            return
        states = before.states if before and before.history is draft.history else {}
        self._reads[stream] = Read(tags, seq, tuple(draft.history), self._clock() + SECONDS, states)
        while len(self._reads) > STREAMS:
            self._reads.popitem(last=False)

    def forget(self, stream: StreamId) -> None:
        self._reads.pop(stream, None)
