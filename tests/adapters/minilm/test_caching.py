"""Vectors of what was embedded lately are not reckoned twice, and are the same."""

from collections.abc import Sequence

import numpy as np

from mnemolog.adapters.minilm import InThread, Lexical
from mnemolog.adapters.minilm.caching import REMEMBERED, CachingEmbedder
from mnemolog.projections.vectors.embedder import Vectors


class Counted(InThread):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(Lexical())
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        return await super().embed(texts)


async def test_a_text_is_embedded_once_and_reads_the_same_in_any_order() -> None:
    plain, counted = InThread(Lexical()), Counted()
    recent = CachingEmbedder(counted)

    first = await recent.embed(["tea", "rain", "tea"])
    second = await recent.embed(["rain", "cake", "tea"])

    assert counted.asked == [["tea", "rain"], ["cake"]]
    assert np.array_equal(first, await plain.embed(["tea", "rain", "tea"]))
    assert np.array_equal(second, await plain.embed(["rain", "cake", "tea"]))
    assert (await recent.embed([])).shape == (0, plain.dimensions)


async def test_what_was_embedded_lately_is_at_hand_and_nothing_is_made_for_it() -> None:
    counted = Counted()
    recent = CachingEmbedder(counted)
    [tea] = await recent.embed(["tea"])

    found = recent.cached(["rain", "tea"])

    assert found.keys() == {"tea"}
    assert np.array_equal(found["tea"], tea)
    assert counted.asked == [["tea"]]


async def test_only_the_last_ones_are_remembered() -> None:
    counted = Counted()
    recent = CachingEmbedder(counted)
    await recent.embed(["first"])
    for number in range(REMEMBERED):
        await recent.embed([str(number)])

    await recent.embed([str(REMEMBERED - 1)])
    await recent.embed(["first"])

    assert counted.asked[-1] == ["first"]
    assert len(counted.asked) == REMEMBERED + 2
