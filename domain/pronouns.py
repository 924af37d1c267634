"""Pronouns and elliptic questions, such as "and her brother?", in several languages (A §6.1)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import UNSPACED


class Meant(StrEnum):
    """What a pronoun may stand for. `someone` is a person of any gender."""

    HE = "he"
    SHE = "she"
    SOMEONE = "someone"
    THEY = "they"
    IT = "it"
    THERE = "there"


@dataclass(frozen=True, slots=True)
class Forms:
    """The words of one language, in lower case, with their accents: `él` is a pronoun and `el` is not.

    `questions` are words that a complete question begins with. A text is elliptic that begins with one of `openings`,
    or ends with one of `endings`; after a single short word such as "and" only if it is a question without a question
    word. `not_there` are the phrases in which a pronoun stands for nothing, as in "what time is it".
    """

    he: tuple[str, ...] = ()
    she: tuple[str, ...] = ()
    someone: tuple[str, ...] = ()
    they: tuple[str, ...] = ()
    it: tuple[str, ...] = ()
    there: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    openings: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    not_there: tuple[str, ...] = ()

    def pronouns(self) -> Iterator[tuple[str, Meant]]:
        for meant in Meant:
            yield from ((form, meant) for form in getattr(self, meant))


def _forms(**words: str) -> Forms:
    """Each list as words; phrases are separated by slashes."""
    return Forms(**{name: tuple(one.split("/") if "/" in one else one.split()) for name, one in words.items()})


DEFAULT_FORMS: Mapping[str, Forms] = {
    "en": _forms(
        he="he him his himself",
        she="she her hers herself",
        they="they them their theirs themselves",
        it="it its itself",
        there="there",
        questions="who whom whose what where when why which how is are was were do does did has have had can could will"
        " would should may might isn't aren't doesn't don't didn't",
        openings="and/or/but/what about/how about/and what about/and how about/what else/anything else",
        not_there="what time is it/how is it going/how's it going/is it raining/is it snowing/is it cold/is it hot"
        "/is it late/is it true/is it possible/is it ok/it is raining/it's raining/is there/are there/was there"
        "/were there/there is/there are/there's/there was/there were/there any/hi there/hello there",
    ),
    "de": _forms(
        he="er ihn ihm sein seine seinen seinem seiner seines",
        she="sie ihr ihre ihren ihrem ihrer ihres",
        they="ihnen",
        there="dort dorthin",
        questions="wer wen wem wessen was wo wohin woher wann warum wieso welche welcher welches wie ist sind war waren"
        " hat haben hatte kann kannst weißt macht",
        openings="und/oder/aber/was ist mit/und was ist mit/wie ist es mit/und wie ist es mit/was noch",
    ),
    "es": _forms(
        he="él",
        she="ella",
        someone="su sus suyo suya",
        they="ellos ellas",
        there="allí allá ahí",
        questions="quién quiénes qué dónde adónde cuándo cuál cuáles cómo cuánto cuántos por es está son fue tiene vive"
        " puede",
        openings="y/o/pero/qué hay de/y qué hay de/qué pasa con/y qué pasa con/qué más",
    ),
    "ja": _forms(
        he="彼",
        she="彼女",
        they="彼ら 彼女たち",
        there="そこ あそこ",
        questions="誰 何 どこ いつ なぜ どう どの",
        openings="じゃあ それじゃあ では ほかに",
        endings="は?",
        not_there="彼氏 彼岸 そこで そこそこ",
    ),
    "pl": _forms(
        he="on jego jemu mu niego nim niemu",
        she="ona jej ją nią niej",
        they="oni one ich im nimi nich",
        there="tam stamtąd",
        questions="kto kogo komu co gdzie dokąd skąd kiedy dlaczego czemu jak jaki jaka jakie który która czy jest są"
        " był była ma może",
        openings="a/i/ale/a co z/co z/a jak z/co jeszcze",
    ),
    "ru": _forms(
        he="он его ему него нему ним нём нем",
        she="она её ее ей неё нее ней ею",
        they="они их ими них ними",
        there="там туда оттуда",
        questions="кто кого кому что где куда откуда когда почему зачем как какой какая какие который чей чья ли есть"
        " был была может",
        openings="а/и/но/а что насчёт/а что насчет/а как насчёт/а как насчет/что насчёт/что насчет/как насчёт"
        "/как насчет/что ещё/что еще",
    ),
}

ENGLISH = "en"
LONGEST_ELLIPSIS = 8
"""Words. A longer text is complete, whatever it begins with."""
_ALSO_ENGLISH = frozenset(["a", "i", "on", "one", "was"])
_READ = 2000
_CONJUNCTION = 3  # letters
_WORD = lazy_compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A pronoun, and where it stands in its text."""

    text: str
    start: int
    meant: Meant

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Found:
    """What in a text cannot be understood without the conversation. `opening`: how an elliptic text begins or ends."""

    pronouns: Sequence[Pronoun] = ()
    opening: str = ""

    def __bool__(self) -> bool:
        return bool(self.pronouns or self.opening)


@dataclass(frozen=True)
class Pronouns:
    """The configured forms, by language."""

    forms: Mapping[str, Forms] = field(default_factory=lambda: DEFAULT_FORMS)

    def found_in(self, text: str) -> Found:
        """The pronouns of a text, and whether it is elliptic, in the language that most of its words belong to."""
        read = text[:_READ].replace("？", "?").replace("’", "'")
        words = [word[0].lower() for word in _WORD.finditer(read)]
        # A single word tells no language, nor do several that are English, too: "Am I on a diet?" is not Polish.
        known = {name: _known(words, read, vocabulary) for name, vocabulary in self._vocabulary.items()}
        counts = {
            name: len(found)
            for name, found in known.items()
            if (found and name == ENGLISH)
            or (not _ALSO_ENGLISH.issuperset(found) and (len(found) > 1 or not "".join(found).isascii()))
        }
        language = max(counts, key=lambda name: (counts[name], name == ENGLISH), default="")
        if not language:
            return Found()
        found = [
            Pronoun(text[match.start() : match.end()], match.start(), self._meant[language][match[0].lower()])
            for match in self._patterns[language].finditer(read)
            if match["form"]
        ]
        return Found(found, _opening(read.strip(), words, self.forms[language]))

    def as_dict(self) -> dict[str, Any]:
        """The languages that differ from the built-in ones, in the format of the policy file."""
        return {
            name: asdict(one) for name, one in sorted(self.forms.items()) if one != DEFAULT_FORMS.get(name, Forms())
        }

    @cached_property
    def _meant(self) -> Mapping[str, Mapping[str, Meant]]:
        return {name: dict(one.pronouns()) for name, one in self.forms.items()}

    @cached_property
    def _vocabulary(self) -> Mapping[str, frozenset[str]]:
        return {
            name: frozenset((*self._meant[name], *one.questions, *one.endings, *" ".join(one.openings).split()))
            for name, one in self.forms.items()
        }

    @cached_property
    def _patterns(self) -> Mapping[str, re.Pattern[str]]:
        """What stands for nothing is matched first, and is no `form`. The longest form wins."""
        return {
            name: re.compile("|".join([*_longest_first(one.not_there), f"(?P<form>{_any(self._meant[name])})"]), re.I)
            for name, one in self.forms.items()
        }


def _longest_first(forms: Iterable[str]) -> Sequence[str]:
    return [_bounded(one) for one in sorted(forms, key=len, reverse=True)]


def _any(forms: Iterable[str]) -> str:
    return "|".join(_longest_first(forms)) or "(?!)"


def _known(words: Sequence[str], text: str, vocabulary: frozenset[str]) -> Sequence[str]:
    unspaced = [one for one in vocabulary if UNSPACED.search(one) and one in text] if UNSPACED.search(text) else []
    return [*unspaced, *(word for word in words if word in vocabulary)]


def _bounded(form: str) -> str:
    return re.escape(form) if UNSPACED.search(form) else rf"(?<![\w']){re.escape(form)}(?!\w)"


def _opening(text: str, words: Sequence[str], forms: Forms) -> str:
    # Three letters of a script without spaces are about a word.
    if not 1 < len(words) + len(UNSPACED.findall(text)) // 3 <= LONGEST_ELLIPSIS:
        return ""
    if ending := next((one for one in forms.endings if text.endswith(one)), ""):
        return ending
    said = " ".join(words)
    for opening in sorted(forms.openings, key=len, reverse=True):
        if UNSPACED.search(opening):
            if text.startswith(opening):
                return opening
        elif said == opening or said.startswith(f"{opening} "):
            conjunction = " " not in opening and len(opening) <= _CONJUNCTION
            rest = words[len(opening.split())] if len(words) > len(opening.split()) else ""
            if not conjunction or (text.endswith("?") and rest not in forms.questions):
                return opening
    return ""
