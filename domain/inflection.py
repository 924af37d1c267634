"""Names in other cases than the one in which they are known: "Что ты знаешь о Марте?" is about Марта.

Endings only, without a dictionary: what comes of them counts if somebody is called so.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from mnemolog.domain.lazy_regex import lazy_compile

# Ending by ending, that of the nominative: Марты and Марту of Марта, Игоря of Игорь, Сергеем of Сергей, Иваном of Иван.
_RUSSIAN: Mapping[str, Collection[str]] = {
    "а": ("",),
    "е": ("", "а", "я", "й", "ь"),
    "ей": ("а", "я"),
    "ем": ("", "й", "ь"),
    "ею": ("а", "я"),
    "и": ("а", "я", "й", "ь"),
    "ой": ("а",),
    "ом": ("",),
    "ою": ("а",),
    "у": ("", "а"),
    "ы": ("а",),
    "ым": ("",),
    "ю": ("я", "й", "ь"),
    "я": ("й", "ь"),
}
# Of a Polish text: Martę, Martą, Marty and Marcie of Marta, Adamowi and Adamem of Adam, Marka of Marek.
_POLISH: Mapping[str, Collection[str]] = {
    "a": ("",),
    "ą": ("a",),
    "cie": ("ta", "t"),
    "dzie": ("da", "d"),
    "em": ("",),
    "ę": ("a",),
    "ego": ("y", "i"),
    "i": ("a", "ia"),
    "ie": ("a", ""),
    "iem": ("",),
    "ka": ("ek",),
    "kiem": ("ek", "k"),
    "kowi": ("ek", "k"),
    "ku": ("ek", "k"),
    "le": ("ła", "ł"),
    "owi": ("",),
    "rze": ("ra", "r"),
    "y": ("a",),
}
_LEAST = 2  # letters of a stem
_LONGEST = max(map(len, _POLISH))
_CYRILLIC = lazy_compile(r"[а-яё]+", re.IGNORECASE)
_POLISH_LETTER = lazy_compile(r"[ąęłńśźż]", re.IGNORECASE)
# Of Czech, Slovak, Croatian, Hungarian, Turkish, Lithuanian and Latvian.
# Not by IGNORECASE, which takes the Turkish ı for any i.
_OTHER_LETTER = lazy_compile(r"[ěščřůťďňľĺŕđćőűğışāēģīķļņūėįųĚŠČŘŮŤĎŇĽĹŔĐĆŐŰĞİŞĀĒĢĪĶĻŅŪĖĮŲ]")
# Words that are none of English or German, as `kim`, `jest` and `sie` are.
_POLISH_WORD = lazy_compile(
    r"\b(?:co robi|cz(?:y|yj|yja)|dlaczego|gdzie|jaka|jaki|jakie|kiedy|kogo|komu|kto|lubi|mieszka|nazywa|pracuje"
    r"|studiuje|wiem|wiesz|znam|znasz)\b",
    re.IGNORECASE,
)


def is_polish(text: str) -> bool:
    """
    >>> is_polish("Co wiesz o Marcie?"), is_polish("Spotkałem ją"), is_polish("Does Kim know Marty?")
    (True, True, False)
    """
    return _POLISH_LETTER.search(text) is not None or _POLISH_WORD.search(text) is not None


def declines(text: str) -> bool:
    """Whether it is in a language in which a name that nobody bears may be another case of one that somebody does.

    Not Russian, whose cases are known by their endings. German is not told by its letters, and declines no names.

    >>> declines("Ayşe'nin evi nerede?"), declines("Co wiesz o Marcie?"), declines("Where is Zoltan?")
    (True, True, False)
    """
    return _OTHER_LETTER.search(text) is not None or is_polish(text)


def nominatives(word: str, *, polish: bool = False) -> frozenset[str]:
    """The names that an inflected word may be of, in Russian, or in Polish if the text is; without the word itself.

    >>> sorted(nominatives("Марту")), sorted(nominatives("Martę", polish=True)), sorted(nominatives("Marta"))
    (['Март', 'Марта'], ['Marta'], [])
    """
    if polish:
        return frozenset(_with_other_ending(word, _POLISH)) - {word}
    if _CYRILLIC.fullmatch(word):
        return frozenset(_with_other_ending(word, _RUSSIAN)) - {word}
    return frozenset()


def cases_of(name: str) -> frozenset[str]:
    """The names that the words of a Russian one may be other cases of."""
    return frozenset[str]().union(*map(nominatives, name.split()))


def _with_other_ending(word: str, endings: Mapping[str, Collection[str]]) -> Iterator[str]:
    for length in range(1, min(_LONGEST, len(word) - _LEAST) + 1):
        for ending in endings.get(word[-length:].lower(), ()):
            yield f"{word[:-length]}{ending}"
