"""An embedder with a cache of its latest vectors: a text is looked up before a write and projected shortly after."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np

from mnemolog.domain.calibration import Calibration
from mnemolog.projections.vectors.embedder import Embedder, Vectors

# Some seconds of writes, in 6 MB: a text evicted before it is projected is embedded twice, which is slower.
REMEMBERED = 4096


class CachingEmbedder:
    """Caches the vectors of recent texts, by hash, so that no text is kept."""

    def __init__(self, embedder: Embedder) -> None:
        self.model = embedder.model
        self.calibration: Calibration = embedder.calibration
        self._embedder = embedder
        self._known: OrderedDict[bytes, Vectors] = OrderedDict()

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        return {text: self._known[digest] for text in texts if (digest := digest_of(text)) in self._known}

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, of length 1, in the given order."""
        hashes = list(map(digest_of, texts))
        new = {digest: text for digest, text in zip(hashes, texts, strict=True) if digest not in self._known}
        found = {digest: self._known[digest] for digest in hashes if digest not in new}
        if new:
            found |= dict(zip(new, await self._embedder.embed(list(new.values())), strict=True))
        self._remember(found)
        if not texts:
            return await self._embedder.embed([])
        return np.stack([found[digest] for digest in hashes])

    def _remember(self, found: dict[bytes, Vectors]) -> None:
        for digest, vector in found.items():
            self._known[digest] = vector
            self._known.move_to_end(digest)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def digest_of(text: str) -> bytes:
    """Identifies a text without keeping it."""
    return sha256(text.encode()).digest()
