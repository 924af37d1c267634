"""What a process remembers of the threads whose checkpoints it saves and loads. Used by several threads of it."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from mnemolog.adapters.checkpoints.contents import Box, Stored
from mnemolog.adapters.postgres.keys import StreamKeys
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.domain.errors import Conflict
from mnemolog.events.checkpoints import checkpoints_scope
from mnemolog.events.envelope import StreamId

# Maximum number of cached threads, checkpoints per thread and chunks per thread.
THREADS, CHECKPOINTS, CHUNKS = 512, 64, 20_000

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Thread:
    """Where the graph of an agent keeps the checkpoints of a conversation with a user."""

    stream: StreamId
    agent_id: str
    thread_id: str

    @property
    def scope(self) -> str:
        return checkpoints_scope(self.agent_id, self.thread_id)

    @property
    def row(self) -> dict[str, Any]:
        return {"tenant": self.stream.tenant, "stream": self.stream.name, "scope": self.scope}


@dataclass(slots=True)
class KnownThread:
    """What is cached about a thread: its key, how often it was pruned, its chunks, how values are stored.

    `erased`: checkpoints that were erased with an earlier key.
    """

    box: Box
    prunings: int
    erased: Set[Place]
    chunks: set[bytes] = field(default_factory=set)
    values: OrderedDict[Place, Mapping[str, Stored]] = field(default_factory=OrderedDict)

    def note(self, place: Place, values: Mapping[str, Stored], chunks: Collection[bytes]) -> None:
        self.values[place] = values
        self.values.move_to_end(place)
        while len(self.values) > CHECKPOINTS:
            self.values.popitem(last=False)
        if len(self.chunks) > CHUNKS:
            self.chunks.clear()
        self.chunks.update(chunks)

    def require_there(self, place: Place | None) -> None:
        if place in self.erased:
            raise Conflict(
                "the checkpoints of this thread were erased while a graph was running",
                field="thread_id",
                fix="start a new run: it begins with an empty state",
            )


class KnownThreads:
    """The threads that were in use last."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._threads: OrderedDict[Thread, KnownThread] = OrderedDict()
        self._changing = threading.Lock()

    def get(self, thread: Thread) -> KnownThread | None:
        with self._changing:
            if thread in self._threads:
                self._threads.move_to_end(thread)
            return self._threads.get(thread)

    def remember(self, thread: Thread, row: Mapping[str, Any]) -> KnownThread:
        """What is known about a thread. After a prune its cached chunks may be gone; after an erasure they are."""
        with self._changing:
            known, key_id = self._threads.get(thread), bytes(row["key_id"])
            if known is None or (known.box.key_id, known.prunings) != (key_id, row["prunings"]):
                erased = known.erased if known else frozenset[Place]()
                if known and known.box.key_id != key_id:
                    erased |= known.values.keys()
                known = self._threads[thread] = KnownThread(box_of(thread, row, self._roots), row["prunings"], erased)
            self._threads.move_to_end(thread)
            while len(self._threads) > THREADS:
                self._threads.popitem(last=False)
            return known

    def note(self, known: KnownThread, place: Place, values: Mapping[str, Stored], chunks: Collection[bytes]) -> None:
        with self._changing:
            known.note(place, values, chunks)


def box_of(thread: Thread, row: Mapping[str, Any], roots: Roots) -> Box:
    """With the key of a thread, from a row of `find_thread`."""
    keys = StreamKeys(thread.stream, roots)
    keys.load({**row, "scope": thread.scope})
    return Box(thread.stream, thread.scope, keys.data_keys[thread.scope], roots.random_bytes)
