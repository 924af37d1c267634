"""An embedder that computes the vector while a write becomes durable."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mnemolog.adapters.minilm.caching import digest_of
from mnemolog.adapters.minilm.process import PORTION
from mnemolog.domain.calibration import Calibration
from mnemolog.domain.errors import EngineError
from mnemolog.projections.vectors.embedder import Embedder, Vectors

# Faster writers gain nothing from more: a vector that is not ready in time would be computed twice.
PREFETCHED = 64
# A vector that another process projects, or that of a failed write, is never requested.
FORGET_SECONDS = 5.0
# A failure that took longer is not tried again: a model that hangs would be waited for twice.
AGAIN_SECONDS = 1.0


@dataclass(slots=True)
class Expected:
    """A prefetched text that was not requested yet; `done` and dropped once its vector is cached or failed.

    `fault`: a failure that its request gets as well, instead of meeting it again.
    """

    text: str
    at: float
    done: asyncio.Event = field(default_factory=asyncio.Event)
    fault: EngineError | None = None


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
            if expected.fault:
                raise expected.fault
        return await self._embedder.embed(texts)

    async def _work(self) -> None:
        begun: list[Expected] = []
        fault: EngineError | None = None
        time = asyncio.get_running_loop().time
        try:
            while self._waiting and not fault:
                begun, at = [self._waiting.popleft() for _ in range(min(PORTION, len(self._waiting)))], time()
                try:
                    await self._embedder.embed([expected.text for expected in begun])
                except EngineError as error:
                    fault = error if time() - at > AGAIN_SECONDS else None
                except Exception:  # noqa: BLE001  The request will meet the same error and raise it.
                    pass
                _end(begun, fault)
            if fault:
                self._expected.clear()  # Only whoever waits for it now gets the fault.
        finally:
            _end([*begun, *self._waiting], fault)
            self._waiting.clear()


def _end(expected: Sequence[Expected], fault: EngineError | None) -> None:
    for one in expected:
        one.text, one.fault = "", fault
        one.done.set()
