"""Embeddings over the API."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mnemolog.adapters.openai.client import ModelClient, output_invalid
from mnemolog.domain.calibration import Figure, calibration_of
from mnemolog.domain.errors import ModelRequestRefused
from mnemolog.projections.vectors.embedder import Uncached, Vectors

if TYPE_CHECKING:
    from openai.types import CreateEmbeddingResponse

# The default maximum of a TEI server per request.
PORTION = 32
MAX_CHARACTERS = 8192
# A server that refuses such a short text has another reason than its length.
MIN_CHARACTERS = 256
_TOO_MUCH = (400, 413, 422)


async def none_indexed() -> int | None:
    """There are no vectors yet, or nobody looks."""
    return None


class OpenAIEmbedder(Uncached):
    """Implements `Embedder`. Only the beginning of a long text is embedded, as much as the model accepts.

    `indexed` returns the dimensions of the vectors that this model gave before: no others can be compared with them.
    """

    def __init__(
        self,
        client: ModelClient,
        indexed: Callable[[], Awaitable[int | None]] = none_indexed,
        figures: Mapping[str, Mapping[Figure, float]] | None = None,
    ) -> None:
        self.model = client.endpoint.model
        self.calibration = calibration_of(self.model, figures)
        self._client = client
        self._indexed = indexed
        self._dimensions: int | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, of length 1, in the given order."""
        short = [text[:MAX_CHARACTERS] for text in texts]
        portions = [await self._portion(short[at : at + PORTION]) for at in range(0, len(short), PORTION)]
        await self._require_comparable({rows.shape[1] for rows in portions})
        return np.concatenate(portions) if portions else np.zeros((0, 0), np.float32)

    async def _require_comparable(self, dimensions: Collection[int]) -> None:
        """ModelOutputInvalid if another model answers under this name."""
        self._dimensions = self._dimensions or await self._indexed()
        found = sorted({*dimensions, *filter(None, [self._dimensions])})
        if len(found) > 1:
            what = f"gave vectors of {found[0]} and of {found[1]} numbers, which cannot be compared"
            invalid = output_invalid(self._client.endpoint, what)
            invalid.fix = "let the server run the model of before, or set another name in embedding_model"
            raise invalid

    async def _portion(self, texts: Sequence[str]) -> Vectors:
        """A refused request may be too large, so it is repeated in halves."""
        try:
            response = await self._client.call(
                lambda client: client.embeddings.create(model=self.model, input=list(texts)), quick=len(texts) == 1
            )
        except ModelRequestRefused as refused:
            half = len(texts) // 2
            if refused.status not in _TOO_MUCH or (not half and len(texts[0]) <= MIN_CHARACTERS):
                raise
            if half:
                halves = [await self._portion(texts[:half]), await self._portion(texts[half:])]
                await self._require_comparable({rows.shape[1] for rows in halves})
                return np.concatenate(halves)
            return await self._portion([texts[0][: len(texts[0]) // 2]])
        return self._rows(response, len(texts))

    def _rows(self, response: "CreateEmbeddingResponse", count: int) -> Vectors:
        """Normalised to length 1, which not every model does."""
        found = {one.index: one.embedding for one in response.data or ()}
        try:
            rows = np.array([found[at] for at in range(count)], np.float32)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        except (KeyError, ValueError, TypeError):
            raise output_invalid(self._client.endpoint, "gave no vectors, or not one for each text") from None
        if rows.ndim != 2 or not (np.isfinite(rows).all() and lengths.all()):
            raise output_invalid(self._client.endpoint, "gave a vector without a direction")
        return np.asarray(rows / lengths, np.float32)
