"""An embedder with a cache of its latest vectors: a text is looked up before a write and projected shortly after."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np

from mnemolog.domain.calibration import Calibration
from mnemolog.projections.vectors.embedder import Embedder, Vectors

# Some seconds of writes, and 6 MB: what falls out before it is projected is made twice, which takes longer still.
REMEMBERED = 4096


class CachingEmbedder:
    """Of a text that was embedded lately the vector comes from memory; by its hash, so that no text is kept."""

    def __init__(self, embedder: Embedder) -> None:
        self.model, self.dimensions = embedder.model, embedder.dimensions
        self.calibration: Calibration = embedder.calibration
        self._embedder = embedder
        self._known: OrderedDict[bytes, Vectors] = OrderedDict()

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """Those of its last texts."""
        return {text: self._known[digest] for text in texts if (digest := digest_of(text)) in self._known}

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1, in the order given."""
        hashes = list(map(digest_of, texts))
        new = {digest: text for digest, text in zip(hashes, texts, strict=True) if digest not in self._known}
        found = {digest: self._known[digest] for digest in hashes if digest not in new}
        if new:
            found |= dict(zip(new, await self._embedder.embed(list(new.values())), strict=True))
        self._remember(found)
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return np.stack([found[digest] for digest in hashes])

    def _remember(self, found: dict[bytes, Vectors]) -> None:
        for digest, vector in found.items():
            self._known[digest] = vector
            self._known.move_to_end(digest)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def digest_of(text: str) -> bytes:
    """What stands for a text that is not kept."""
    return sha256(text.encode()).digest()
