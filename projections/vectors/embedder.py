"""What turns text into vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """`embed` gives an array of shape (number of texts, dimensions), rows of length 1. Safe to call in a thread."""

    @property
    def model(self) -> str: ...
    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors: ...
