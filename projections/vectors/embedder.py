"""What turns text into vectors."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mnemolog.domain.calibration import Calibration

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """`embed` returns an array of shape (number of texts, dimensions), rows of length 1. It may be called concurrently.

    If the model does not answer, it raises an EngineError, which is never taken for an event's fault.
    """

    @property
    def model(self) -> str: ...
    @property
    def calibration(self) -> Calibration:
        """How its similarities are interpreted."""
        ...

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """The vectors that are cached, possibly none: one row each, of length 1."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors: ...


class Uncached:
    """A part of an embedder that caches nothing."""

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        return {}
