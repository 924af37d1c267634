"""Contradiction: how two similar statements differ, so that different statements are never merged (B §4, D04).

The check is strict: two statements are the same only if they differ at most in inflections, articles or numbers written
as words. Any other word that only one of them has makes them different, whether or not it is a known marker.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from mnemolog.domain import markers
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import DENSE, normalize_name, same_text

RELATED, CONTRADICTS = "related_to", "contradicts"
"""The types of links that the engine creates between similar memories (B §2)."""

MOST_COMPARED = 2000
"""Maximum length in characters; longer texts are never considered the same."""


class Difference(StrEnum):
    """How two statements differ. `wording` alone is not a contradiction, because it is inconclusive."""

    NEGATION = "negation"
    NUMBER = "number"
    DATE = "date"
    WEEKDAY = "weekday"
    POLARITY = "polarity"
    NAME = "name"
    WORDING = "wording"


def difference(one: str, other: str) -> Difference | None:
    """How two statements differ; None if they mean the same."""
    if same_text(one) == same_text(other):
        return None
    if max(len(one), len(other)) > MOST_COMPARED:
        return Difference.WORDING
    first, second = _tokens(one), _tokens(other)
    left, right = _only(first, second), _only(second, first)
    if not left and not right:
        return None if first == second else _turned_round(first)
    kinds = _kinds(left, right)
    return next((kind for kind in Difference if kind in kinds), Difference.WORDING)


def contradict(one: str, other: str) -> bool:
    """Whether two similar statements may contradict each other: they differ in more than wording."""
    return difference(one, other) not in (None, Difference.WORDING)


def opposed(one: str, other: str) -> bool:
    """Whether two statements deny each other whatever else they say.

    A word such as "last" or "often" in only one of them keeps the two apart, but denies nothing: "I moved to Lisbon
    last spring", "Lisbon is lovely in spring".
    """
    kind = difference(one, other)
    if kind is not Difference.POLARITY:
        return kind not in (None, Difference.WORDING)
    first, second = _tokens(one), _tokens(other)
    left, right = _only(first, second), _only(second, first)
    said = [_polar(side) - markers.DIRECTIONS for side in (left, right)]
    return not (left or right) or all(said) or not markers.ENDED.isdisjoint(said[0] | said[1])


def one_frame(one: str, other: str) -> bool:
    """Whether two statements differ only in markers: a "not", a number, a weekday or a name."""
    if max(len(one), len(other)) > MOST_COMPARED:
        return False
    first, second = _tokens(one), _tokens(other)
    apart = {*_only(first, second), *_only(second, first)}
    frame = [token for token in first if token not in apart]
    marked = all(_kind(token) is not Difference.WORDING for token in apart)
    return bool(frame) and marked and frame == [token for token in second if token not in apart]


def another_value(one: str, other: str) -> bool:
    """Whether two statements give another value to what has only one, in whatever words.

    >>> another_value("Ana's favourite colour is green", "Ana's favourite colour is blue")
    True
    >>> another_value("Ana's favourite colour is green", "Ana's favourite colour is a green like the sea's")
    False
    """
    first, second = _ONE_VALUE.fullmatch(one), _ONE_VALUE.fullmatch(other)
    if not first or not second or _tokens(first["of"]) != _tokens(second["of"]):
        return False
    left, right = ({token.plain for token in _tokens(found["value"])} for found in (first, second))
    return not left <= right and not right <= left


def adds_to(old: str, new: str) -> bool:
    """Whether a new statement is the old one with something appended."""
    if max(len(old), len(new)) > MOST_COMPARED:
        return False
    first, second = _tokens(old), _tokens(new)
    added = second[len(first) :]
    plain = all(_kind(token) is Difference.WORDING for token in added[1:])
    return second[: len(first)] == first and len(added) > 1 and added[0].plain in markers.ADDING and plain


@dataclass(frozen=True, slots=True)
class _Token:
    """A word in its form for comparison and in its marker form, and whether it is written like a name."""

    form: str
    plain: str = field(compare=False)
    name: bool = field(default=False, compare=False)


_LISTED = (
    (Difference.NEGATION, markers.NEGATIONS),
    (Difference.NUMBER, markers.QUANTITIES),
    (Difference.DATE, markers.TIMES),
    (Difference.POLARITY, markers.POLARITIES | {"?"}),
    (Difference.POLARITY, markers.DIRECTIONS),
    (Difference.NAME, markers.PRONOUNS),
)
_DENSE = tuple(
    (kind, lazy_compile("|".join(patterns)))
    for kind, patterns in (
        (Difference.WEEKDAY, markers.DENSE_WEEKDAYS),
        (Difference.NEGATION, markers.DENSE_NEGATIONS),
        (Difference.POLARITY, markers.DENSE_POLARITIES),
        (Difference.DATE, markers.DENSE_TIMES),
        (Difference.NUMBER, markers.DENSE_NUMBERS),
        (Difference.NAME, ("[\u30a1-\u30fa\u30fc]+",)),  # Katakana is used for foreign words, including names.
    )
)
_DENSE_TOKEN = lazy_compile("|".join([*(pattern.pattern for _, pattern in _DENSE), "."]), re.DOTALL)
_TOKEN = lazy_compile(
    rf"(?P<dense>[{DENSE}]+)"
    r"|(?P<number>(?:(?<![\w.])[-\u2212])?(?:(?<!\w)[.,])?\d+(?:[.,:/\u2044]\d+)*)"
    rf"|(?P<word>(?:(?![{DENSE}])[^\W\d_][\u0300-\u036f]*)+)"
    r"|(?P<end>[.!:;\n])"
    r"|(?P<sign>[^\w\s,()\[\]{}\"'`\u2018-\u201f\u00ab\u00bb\u2026/\u2010-\u2015\u3001\u3002\u300c\u300d-])"
)
_ONE_VALUE = lazy_compile(
    r"(?!.*\b(?:one|some|two|three) of\b)(?P<of>.*\b(?:favou?rite|preferred)(?: \w+){1,3}) is (?P<value>.+)",
    re.IGNORECASE,
)
CONTRACTED_NOT = lazy_compile(r"(?<=\w)n[’']t\b", re.IGNORECASE)
_POSSESSIVE = lazy_compile(r"(?<=\w)[’']s\b", re.IGNORECASE)
_NUMBER = "0"
"""The placeholder for a number if only the kind of a word counts."""
_NEGATING = ("un", "in", "im", "ir", "il", "dis", "non", "anti", "nie", "не", "без", "des")
_ON_BOTH_SIDES = frozenset({Difference.NUMBER, Difference.DATE, Difference.WEEKDAY, Difference.NAME})
"""One of these in only one statement is an addition; different ones in both contradict each other."""


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[_Token, ...]:
    """The significant words of a statement."""
    text = CONTRACTED_NOT.sub(" not", unicodedata.normalize("NFKC", text))
    return tuple(token for token in _read(_POSSESSIVE.sub("", text)) if token.plain not in markers.EMPTY)


def _read(text: str) -> Iterator[_Token]:
    start = True
    for found in _TOKEN.finditer(text):
        kind, word = found.lastgroup, found[0]
        if kind == "dense":
            yield from (_Token(one, one) for one in _DENSE_TOKEN.findall(word))
        elif kind == "number":
            yield _Token(
                "".join("-" if one == "\u2212" else str(unicodedata.decimal(one, one)) for one in word), _NUMBER
            )
        elif kind == "sign":
            yield _Token(word.replace("¿", "?"), word.replace("¿", "?"))
        elif kind == "word":
            yield _word(word, start=start)
        start = kind == "end"


def _word(word: str, *, start: bool) -> _Token:
    plain, form = normalize_name(word), word.casefold()
    if plain in markers.NUMBERS:
        return _Token(markers.NUMBERS[plain], _NUMBER)
    capital = word[0].isupper()
    form = form if capital and not start else _uninflected(form)
    # The first word is always capitalized, so there only a word without a verb ending is taken for a name.
    return _Token(form, plain, name=capital and not (start and form.endswith("+s")))


def _uninflected(word: str) -> str:
    """`lives` and `living` count as one form in English; `live`, `lived` and a noun's singular are other forms."""
    if not word.isascii() or len(word) < 4:
        return word
    if word.endswith("ing") and len(word) > 5:
        stem = word[:-3]
        return f"{stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in 'lsz' else stem}+s"
    if word.endswith("ies"):
        return f"{word[:-3]}y+s"
    if word.endswith("es"):
        return f"{word[:-2]}+s"
    return f"{word[:-1]}+s" if word.endswith("s") and not word.endswith("ss") else word


def _only(one: Sequence[_Token], other: Sequence[_Token]) -> Collection[_Token]:
    """The words that the other lacks or has less often."""
    return (Counter(one) - Counter(other)).keys()


def _kinds(left: Collection[_Token], right: Collection[_Token]) -> set[Difference]:
    found = [{_kind(token) for token in side} for side in (left, right)]
    kinds = {kind for kind in found[0] | found[1] if kind not in _ON_BOTH_SIDES or all(kind in side for side in found)}
    for kind, patterns in ((Difference.WEEKDAY, markers.WEEKDAYS), (Difference.DATE, markers.MONTHS)):
        if kind in kinds and _same_of(patterns, left, right):
            kinds.discard(kind)
    if Difference.POLARITY in kinds and _harmless(left, right):
        kinds.discard(Difference.POLARITY)
    if any(_negated(one, other) for one in left for other in right):
        kinds.add(Difference.NEGATION)
    return kinds


def _harmless(left: Collection[_Token], right: Collection[_Token]) -> bool:
    """Opposite likings, or a direction that only one of the two has."""
    one, other = _polar(left), _polar(right)
    if one and other:
        return one | other <= markers.FAVOURABLE
    return one | other <= markers.DIRECTIONS


def _polar(tokens: Collection[_Token]) -> set[str]:
    return {token.plain for token in tokens if _kind(token) is Difference.POLARITY}


def _same_of(patterns: Sequence[re.Pattern[str]], left: Collection[_Token], right: Collection[_Token]) -> bool:
    """Whether both have the same weekdays or months, in any form."""
    named = [{place for token in side for place in _places(patterns, token.plain)} for side in (left, right)]
    return bool(named[0]) and named[0] == named[1]


def _places(patterns: Sequence[re.Pattern[str]], word: str) -> list[int]:
    return [place for place, pattern in enumerate(patterns) if pattern.fullmatch(word)]


def _negated(one: _Token, other: _Token) -> bool:
    """Whether one word is the other with a negative prefix: happy and unhappy."""
    short, long = sorted((one.plain, other.plain), key=len)
    return len(short) > 2 and any(long == f"{prefix}{short}" for prefix in _NEGATING)


def _kind(token: _Token) -> Difference:
    """The kind of marker that a word is."""
    return _marker(token.plain) or (Difference.NAME if token.name else Difference.WORDING)


@lru_cache(maxsize=4096)
def _marker(plain: str) -> Difference | None:
    if plain in (_NUMBER, *"%$€£¥₽°+=<>≤≥≈~±"):
        return Difference.NUMBER
    if _places(markers.WEEKDAYS, plain):
        return Difference.WEEKDAY
    if _places(markers.MONTHS, plain):
        return Difference.DATE
    listed = next((kind for kind, words in _LISTED if plain in words), None)
    return listed or next((kind for kind, pattern in _DENSE if pattern.fullmatch(plain)), None)


def _turned_round(tokens: Sequence[_Token]) -> Difference:
    """The same words in another order, which may swap subject and object or the sides of a comparison."""
    kinds = Counter(_kind(token) for token in tokens if token.plain not in markers.PRONOUNS)
    twofold = (Difference.NUMBER, Difference.DATE, Difference.WEEKDAY, Difference.NAME)
    if kinds[Difference.NEGATION]:
        return Difference.NEGATION
    turned = next((kind for kind in twofold if kinds[kind] > 1), Difference.WORDING)
    return Difference.POLARITY if turned is Difference.WORDING and kinds[Difference.POLARITY] else turned


def marked(memory: Mapping[str, Any]) -> str:
    """The text of a memory, with the newest contradicting memory if that is newer."""
    note = contradiction_of(memory)
    return f"{memory['text']} ({note})" if note else str(memory["text"])


def contradiction_of(memory: Mapping[str, Any]) -> str:
    """The newest memory that contradicts a memory, as a note on it; "" if none is newer."""
    return f"contradicted by a newer memory of {at:%Y-%m-%d}" if (at := memory.get("contradicted_at")) else ""
