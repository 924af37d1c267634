"""An embedder that computes the vector while a write becomes durable."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from mnemolog.adapters.minilm.caching import digest_of
from mnemolog.adapters.minilm.process import PORTION
from mnemolog.domain.calibration import Calibration
from mnemolog.projections.vectors.embedder import Embedder, Vectors

# Who writes faster than that has no use for it: what is asked for late would be made twice.
PREFETCHED = 64
# Nobody asks any more for a vector that another process projects, or for one of a write that failed.
FORGET_SECONDS = 5.0


@dataclass(slots=True)
class Expected:
    """A text that nobody asked for yet; `done` and forgotten when its vector is remembered, or cannot be made."""

    text: str
    at: float
    done: asyncio.Event = field(default_factory=asyncio.Event)


class PrefetchingEmbedder:
    """`embedder` remembers what it made."""

    def __init__(self, embedder: Embedder) -> None:
        self.model, self.dimensions = embedder.model, embedder.dimensions
        self.calibration: Calibration = embedder.calibration
        self._embedder = embedder
        self._expected: OrderedDict[bytes, Expected] = OrderedDict()
        self._waiting: deque[Expected] = deque()
        self._working: asyncio.Task[None] | None = None

    def expect(self, texts: Sequence[str]) -> None:
        """Begin with texts that will be asked for in a moment; with a few, the others come in their time."""
        now = asyncio.get_running_loop().time()
        while self._expected and next(iter(self._expected.values())).at < now - FORGET_SECONDS:
            self._expected.popitem(last=False)
        for text in texts[: PREFETCHED - len(self._expected)]:
            expected = Expected(text, now)
            self._expected[digest_of(text)] = expected
            self._waiting.append(expected)
        if self._waiting and (self._working is None or self._working.done()):
            self._working = asyncio.create_task(self._work())

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """Those that are made; they count as expected no longer."""
        found = self._embedder.cached(texts)
        for text in found:
            self._expected.pop(digest_of(text), None)
        return found

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1, in the order given."""
        begun = [self._expected.pop(digest, None) for digest in map(digest_of, texts)]
        for expected in filter(None, begun):
            await expected.done.wait()
        return await self._embedder.embed(texts)

    async def _work(self) -> None:
        begun: list[Expected] = []
        try:
            while self._waiting:
                begun = [self._waiting.popleft() for _ in range(min(PORTION, len(self._waiting)))]
                with suppress(Exception):  # Who asks for it meets it again, and is told.
                    await self._embedder.embed([expected.text for expected in begun])
                _end(begun)
        finally:
            _end([*begun, *self._waiting])
            self._waiting.clear()


def _end(expected: Sequence[Expected]) -> None:
    for one in expected:
        one.text = ""
        one.done.set()
