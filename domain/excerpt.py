"""Excerpts: of a text that is longer than its place allows, the sentences that answer a question."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence

from mnemolog.domain import hydration
from mnemolog.domain.extract import corrects, sentences_in
from mnemolog.domain.summary import shortened
from mnemolog.domain.text import CountTokens

_GAP = "…"
_BEFORE = 60
"""Characters before the first word of the question in a sentence that is too long itself."""
_PER_TOKEN = 20
"""No tokenizer makes one token of so many characters, on average."""


def excerpt(text: str, stems: Collection[str], limit: int, count_tokens: CountTokens) -> str:
    """The sentences with most words of a question, and those nearest to the best of them, in their order.

    A word counts more the fewer sentences have it. `stems` are those of the question, and `limit` is in tokens. An
    ellipsis stands for what is left out. It is the whole text if that is short enough, and its beginning if it has no
    word of the question.

    >>> from mnemolog.domain.text import count_tokens
    >>> said = "It rained all day. We moved to Lisbon in May! The flat is small. I miss the cat."
    >>> excerpt(said, {"lisbon"}, 16, count_tokens)
    '… We moved to Lisbon in May! The flat is small. …'
    """
    if count_tokens(text) <= limit:
        return text
    sentences = list[str]()
    for one in filter(None, sentences_in(text)):
        if sentences and corrects(one):
            sentences[-1] += f" {one}"
        else:
            sentences.append(one)
    shared = [hydration.stems(one).intersection(stems) for one in sentences]
    spread = Counter(stem for one in shared for stem in one)
    weights = [sum(1 / spread[stem] for stem in one) for one in shared]
    best = weights.index(max(weights))
    # Of two as near, what follows: it goes on with the same.
    in_order = sorted(range(len(sentences)), key=lambda place: (-weights[place], abs(place - best), place < best))
    kept, left = list[int](), limit
    for place in in_order:
        left -= count_tokens(sentences[place])
        if left < 0:
            break
        kept.append(place)
    if not kept:
        return _around(sentences[best], stems, limit, count_tokens)
    return _joined(sentences, sorted(kept))


def _joined(sentences: Sequence[str], kept: Sequence[int]) -> str:
    parts = [] if kept[0] == 0 else [_GAP]
    for place, last in zip(kept, [kept[0] - 1, *kept], strict=False):
        parts += [sentences[place]] if place == last + 1 else [_GAP, sentences[place]]
    return " ".join(parts if kept[-1] == len(sentences) - 1 else [*parts, _GAP])


def _around(sentence: str, stems: Collection[str], limit: int, count_tokens: CountTokens) -> str:
    """A part of one sentence, from shortly before its first word of the question."""
    words = (found for found in re.finditer(r"\S+", sentence) if not hydration.stems(found[0]).isdisjoint(stems))
    first = next((found.start() for found in words), 0)
    begin = 0 if first <= _BEFORE else sentence.find(" ", first - _BEFORE) + 1
    rest = sentence[begin : begin + _PER_TOKEN * limit]
    longest = bisect_left(range(len(rest)), limit, key=lambda length: count_tokens(rest[:length]))
    return f"{f'{_GAP} ' if begin else ''}{shortened(rest, longest)}"
