"""Which phrases of a text may be names of entities that are mentioned in passing (A07, A12)."""

from collections.abc import Collection, Sequence, Set
from itertools import islice

from mnemolog.domain.inflection import is_polish, nominatives
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import name_key, normalize_name

# Names of more words are not looked for, and no words beyond these.
LONGEST_NAME = 4
WORDS_READ = 2000

WORD = lazy_compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_POSSESSIVE = lazy_compile(r"['’]s$")
# Scripts that do not separate words by spaces.
_UNSPACED = lazy_compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_UNSPACED_NAME = range(2, 7)


def phrases(text: str) -> frozenset[str]:
    """Every run of one to four words; of scripts without spaces, of two to six characters. Compared as names are.

    Capitalised words of Russian and Polish texts are also there as the names that they may be other cases of.
    """
    polish = is_polish(text)
    if not polish and text.isascii():
        return _phrases(text)
    said = (one[0] for one in islice(WORD.finditer(text), WORDS_READ) if one[0][0].isupper())
    named = {name_key(name) for word in said for name in nominatives(word, polish=polish)}
    return _phrases(text) | {one for one in named if len(one) > 1}


def _phrases(text: str) -> frozenset[str]:
    normal = normalize_name(text)
    words = [_POSSESSIVE.sub("", one[0]) for one in islice(WORD.finditer(normal), WORDS_READ)]
    if normal.isascii():  # A shortcut with the same result: of ASCII words, only the hyphens are left to compare.
        return frozenset(one for one in _runs([word.replace("-", " ") for word in words]) if len(one) > 1)
    spaced = _runs(words)
    runs = (run[0] for word in words for run in _UNSPACED.finditer(word))
    unspaced = {
        run[start : start + length]
        for run in runs
        for length in _UNSPACED_NAME
        for start in range(len(run) - length + 1)
    }
    return frozenset(one for one in map(name_key, spaced | unspaced) if len(one) > 1)


def _runs(words: Sequence[str]) -> set[str]:
    return {
        " ".join(words[start : start + length])
        for length in range(1, LONGEST_NAME + 1)
        for start in range(len(words) - length + 1)
    }


def spellings(text: str, names: Collection[str]) -> frozenset[str]:
    """The names as the text spells them.

    >>> sorted(spellings("Does Zoë know ZOE's and Anna-Maria's plans?", ["zoe", "anna maria"]))
    ['Anna-Maria', 'ZOE', 'Zoë']
    """
    keys = frozenset(map(name_key, names))
    words = list(islice(WORD.finditer(text), WORDS_READ))
    runs = (
        _POSSESSIVE.sub("", text[first.start() : last.end()])
        for place, first in enumerate(words)
        for last in words[place : place + LONGEST_NAME]
    )
    return frozenset(one for one in runs if name_key(one) in keys)


def longest(names: Collection[str]) -> Set[str]:
    """The names that are part of no longer one: `new york` and not `york`."""
    return {name for name in names if not any(_within(name, other) for other in names if other != name)}


def _within(name: str, other: str) -> bool:
    return f" {name} " in f" {other} " if " " in other or other.isascii() else name in other
