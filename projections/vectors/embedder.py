"""What turns text into vectors."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mnemolog.domain.calibration import Calibration

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """`embed` gives an array of shape (number of texts, dimensions), rows of length 1. Several may call it at once.

    One that does not answer raises an EngineError, which is never taken for an event's fault.
    """

    @property
    def model(self) -> str: ...
    @property
    def calibration(self) -> Calibration:
        """What its similarities mean."""
        ...

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """The vectors of those that it need not make, maybe none: a row each, of length 1."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors: ...
