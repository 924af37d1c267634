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

# Faster writers gain nothing from more: a vector that is not ready in time would be computed twice.
PREFETCHED = 64
# A vector that another process projects, or that of a failed write, is never requested.
FORGET_SECONDS = 5.0


@dataclass(slots=True)
class Expected:
    """A prefetched text that was not requested yet; `done` and dropped once its vector is cached or failed."""

    text: str
    at: float
    done: asyncio.Event = field(default_factory=asyncio.Event)


class PrefetchingEmbedder:
    """`embedder` caches its vectors."""

    def __init__(self, embedder: Embedder) -> None:
        self.model = embedder.model
        self.calibration: Calibration = embedder.calibration
        self._embedder = embedder
        self._expected: OrderedDict[bytes, Expected] = OrderedDict()
        self._waiting: deque[Expected] = deque()
        self._working: asyncio.Task[None] | None = None

    def expect(self, texts: Sequence[str]) -> None:
        """Start to embed texts that will be requested soon; all but a few of them wait their turn."""
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
        """The vectors that are ready; they no longer count as expected."""
        found = self._embedder.cached(texts)
        for text in found:
            self._expected.pop(digest_of(text), None)
        return found

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, of length 1, in the given order."""
        begun = [self._expected.pop(digest, None) for digest in map(digest_of, texts)]
        for expected in filter(None, begun):
            await expected.done.wait()
        return await self._embedder.embed(texts)

    async def _work(self) -> None:
        begun: list[Expected] = []
        try:
            while self._waiting:
                begun = [self._waiting.popleft() for _ in range(min(PORTION, len(self._waiting)))]
                with suppress(Exception):  # The request will meet the same error and raise it.
                    await self._embedder.embed([expected.text for expected in begun])
                _end(begun)
        finally:
            _end([*begun, *self._waiting])
            self._waiting.clear()


def _end(expected: Sequence[Expected]) -> None:
    for one in expected:
        one.text = ""
        one.done.set()
