"""An embedder whose model runs in threads of this process."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from mnemolog.domain.calibration import Calibration
from mnemolog.projections.vectors.embedder import Uncached, Vectors


class Model(Protocol):
    """`embed` returns an array of shape (number of texts, dimensions), rows of length 1. Safe to call in a thread."""

    @property
    def model(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def calibration(self) -> Calibration: ...

    def embed(self, texts: Sequence[str]) -> Vectors: ...


class InThread(Uncached):
    """For a process that embeds little or does nothing else: the loop and the threads share one interpreter lock.

    Also for the lexical model: a thread costs 40 µs, but without one a text of 64 KiB would block the loop for 34 ms.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.dimensions, self.calibration = model.model, model.dimensions, model.calibration
        self._embed = model.embed

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.to_thread(self._embed, texts)
