"""What is looked for by meaning."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from mnemolog.domain.calibration import Calibration
from mnemolog.domain.errors import EngineError
from mnemolog.domain.first_person import of_own_parents
from mnemolog.projections.vectors.embedder import Embedder, Vectors

_logger = logging.getLogger("mnemolog.vectors")


@dataclass(frozen=True, slots=True)
class Question:
    """A query: its text, and its vector in a model's space, or the error of a model that gave none."""

    text: str
    model: str
    calibration: Calibration
    vector: Vectors | None = field(repr=False)
    fault: EngineError | None = None

    def meaning(self) -> Vectors:
        """The vector, for what cannot be found without it; raises the fault."""
        if self.vector is None:
            raise self.fault or EngineError()
        return self.vector

    @property
    def skipped(self) -> tuple[str, ...]:
        """What an answer is made without (X12)."""
        return (f"similarity: the embedding model gives no vector ({self.fault.code})",) if self.fault else ()


async def questions_of(texts: Sequence[str], embedder: Embedder) -> Sequence[Question]:
    """Calls the model, which takes time, before a connection is taken."""
    texts = list(map(of_own_parents, texts))
    try:
        vectors = await embedder.embed(texts)
    except EngineError as fault:
        _logger.warning("a search goes by keywords alone: %s", fault.message)
        return [Question(text, embedder.model, embedder.calibration, None, fault) for text in texts]
    return [
        Question(text, embedder.model, embedder.calibration, vector)
        for text, vector in zip(texts, vectors, strict=True)
    ]
