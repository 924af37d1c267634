"""An embedder whose model runs in threads of this process."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from mnemolog.domain.calibration import Calibration
from mnemolog.projections.vectors.embedder import Vectors

EACH = 40
"""A text takes as long as so many characters, however short it is."""


class Model(Protocol):
    """`embed` returns an array of shape (number of texts, dimensions), rows of length 1. Safe to call in a thread."""

    @property
    def model(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def calibration(self) -> Calibration: ...
    @property
    def at_once(self) -> int:
        """So many characters may be embedded without a thread: it takes less than a millisecond."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors: ...


class InThread:
    """For a process that embeds little or does nothing else: the loop and the threads share one interpreter lock.

    Also for long texts of the lexical model: one of 64 KiB would block the loop for 34 ms.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.dimensions, self.calibration = model.model, model.dimensions, model.calibration
        self._embed, self._at_once = model.embed, model.at_once

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """It caches nothing, but what the model embeds at once is as good as cached."""
        if not texts or sum(map(len, texts)) + EACH * len(texts) > self._at_once:
            return {}
        return dict(zip(texts, self._embed(texts), strict=True))

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.to_thread(self._embed, texts)
