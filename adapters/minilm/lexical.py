"""An embedder without a model, for fast tests: texts are similar if they share words or parts of words."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

from mnemolog.domain.bands import Bands
from mnemolog.domain.calibration import Calibration
from mnemolog.domain.text import search_document

Vectors = npt.NDArray[np.float32]


class Lexical:
    """Signed feature hashing (Weinberger et al. 2009) of words and their trigrams: the same bytes in every process."""

    model: str = "lexical-384"
    dimensions: int = 384
    # It knows words but not meaning: only texts that share nearly all words count as the same.
    calibration: Calibration = Calibration(
        question_floor=0.10,
        question_gap=0.50,
        link_min=0.40,
        bands=Bands(auto=0.95, check_low=0.70, fallback_low=0.50),
        topic_similarity=0.15,
        recall_floor=0.05,
    )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, of length 1, in the given order."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = _vector(text, self.dimensions)
        return rows


# A shared word says more than a shared trigram; not a whole number, so that the two never cancel out to nothing.
_WORD_WEIGHT = 2.3


def _vector(text: str, dimensions: int) -> npt.NDArray[np.float64]:
    words = search_document(text).split() or [text]
    trigrams = [padded[at : at + 3] for padded in (f"^{word}$" for word in words) for at in range(len(padded) - 2)]
    hashes = np.array([crc32(feature.encode(errors="replace")) for feature in words + trigrams], np.int64)
    weights = np.repeat([_WORD_WEIGHT, 1.0], [len(words), len(trigrams)])
    # Half of the features count down, so that collisions cancel on average.
    signs = np.where(hashes & 1 << 31, -1.0, 1.0)
    vector = np.bincount(hashes % dimensions, weights * signs, minlength=dimensions)
    return vector / np.linalg.norm(vector)
