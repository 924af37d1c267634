"""What is looked for by meaning."""

from dataclasses import dataclass, field

from mnemolog.domain.calibration import Calibration
from mnemolog.projections.vectors.embedder import Embedder, Vectors


@dataclass(frozen=True, slots=True)
class Question:
    """A query: its text, and its vector in a model's space."""

    text: str
    model: str
    calibration: Calibration
    vector: Vectors = field(repr=False)


async def question_of(text: str, embedder: Embedder) -> Question:
    """Calls the model, which takes time, before a connection is taken."""
    [vector] = await embedder.embed([text])
    return Question(text, embedder.model, embedder.calibration, vector)
