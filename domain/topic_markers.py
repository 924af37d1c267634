"""Phrases with which a user announces another topic, in several languages (E §Episode Lifecycle)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import UNSPACED, normalize_name


class MarkerKind(StrEnum):
    """`change` announces another topic and starts an episode alone; `aside` does so only with a change of topic."""

    CHANGE = "change"
    ASIDE = "aside"


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker that was found, and its language."""

    kind: MarkerKind
    language: str


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of one language."""

    change: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


DEFAULT_PHRASES: Mapping[str, Phrases] = {
    "de": Phrases(
        change=(
            "anderes thema",
            "neues thema",
            "themenwechsel",
            "wechseln wir das thema",
            "lass uns das thema wechseln",
            "lass uns über etwas anderes reden",
            "lass uns über was anderes reden",
            "lasst uns über etwas anderes reden",
            "reden wir über etwas anderes",
            "reden wir über was anderes",
            "können wir über etwas anderes reden",
            "können wir das thema wechseln",
            "mal was ganz anderes",
            "themawechsel",
            "lass uns über etwas anderes sprechen",
            "lass uns über was anderes sprechen",
            "reden wir von etwas anderem",
        ),
        aside=("übrigens", "nebenbei", "apropos", "noch etwas", "noch eine frage", "was anderes"),
    ),
    "en": Phrases(
        change=(
            "let's talk about something else",
            "can we talk about something else",
            "could we talk about something else",
            "let's change the subject",
            "let's change the topic",
            "can we change the subject",
            "can we change the topic",
            "could we change the subject",
            "could we change the topic",
            "let's switch topics",
            "changing the subject",
            "change of subject",
            "change of topic",
            "new topic",
            "different topic",
            "unrelated question",
            "on another note",
            "on a different note",
            "on an unrelated note",
            "on a completely different note",
            "let's move on to something else",
            "i want to change the subject",
            "i'd like to change the subject",
            "i want to talk about something else",
            "i'd like to talk about something else",
            "switching gears",
            "switching topics",
        ),
        aside=("by the way", "btw", "incidentally", "another thing", "one more thing", "another question"),
    ),
    "es": Phrases(
        change=(
            "cambiemos de tema",
            "podemos cambiar de tema",
            "podemos hablar de otra cosa",
            "cambiando de tema",
            "cambio de tema",
            "hablemos de otra cosa",
            "vamos a hablar de otra cosa",
            "hablemos de algo diferente",
            "quiero hablar de otra cosa",
            "pasando a otro tema",
            "pasemos a otra cosa",
            "nuevo tema",
            "otro tema",
        ),
        aside=("por cierto", "a propósito", "otra cosa", "otra pregunta", "una cosa más"),
    ),
    "ja": Phrases(
        change=(
            "話は変わ",
            "話が変わ",
            "話変わ",
            "話題を変え",
            "別の話",
            "違う話",
            "別件",
            "全然関係ない",
            "それはさておき",
        ),
        aside=("ところで", "そういえば", "ちなみに", "それはそうと"),
    ),
    "pl": Phrases(
        change=(
            "zmieńmy temat",
            "zmiana tematu",
            "zmieniając temat",
            "możemy zmienić temat",
            "chciałbym zmienić temat",
            "chciałabym zmienić temat",
            "porozmawiajmy o czymś innym",
            "pogadajmy o czymś innym",
            "możemy porozmawiać o czymś innym",
            "z innej beczki",
            "inny temat",
            "nowy temat",
        ),
        aside=("a propos", "przy okazji", "swoją drogą", "nawiasem mówiąc", "tak w ogóle", "jeszcze jedno"),
    ),
    "ru": Phrases(
        change=(
            "давай про другое",
            "давайте про другое",
            "давай о другом",
            "давайте о другом",
            "поговорим о другом",
            "поговорим про другое",
            "давай поговорим о другом",
            "давайте поговорим о другом",
            "давай поговорим про другое",
            "давайте поговорим про другое",
            "можем поговорить о другом",
            "хочу поговорить о другом",
            "давай о чем-то другом",
            "давайте о чем-то другом",
            "поговорим о чем-нибудь другом",
            "давай поговорим о чем-нибудь другом",
            "давайте поговорим о чем-нибудь другом",
            "перейдем к другой теме",
            "давай сменим тему",
            "давайте сменим тему",
            "сменим тему",
            "другая тема",
            "новая тема",
            "не по теме",
        ),
        aside=("кстати", "между прочим", "к слову", "и еще", "еще вопрос", "другой вопрос"),
    ),
}


@dataclass(frozen=True)
class TopicMarkers:
    """The configured phrases by language. Case and accents do not matter."""

    phrases: Mapping[str, Phrases] = field(default_factory=lambda: DEFAULT_PHRASES)

    def __post_init__(self) -> None:
        for kind, language, phrase in self._each():
            if not normalize_name(phrase):
                raise InvalidInput(
                    "a phrase is empty", field=f"conversation.markers.{language}.{kind}", fix="remove it"
                )

    def found_in(self, text: str) -> Marker | None:
        """The marker that a clause of the text begins with; a `change` before an `aside`."""
        clauses = [normalize_name(clause) for clause in _CLAUSES.split(text[:_READ])]
        for kind in MarkerKind:
            for number, clause in enumerate(clauses):
                for language, pattern in self._patterns[kind].items():
                    found = pattern.match(clause)
                    # An aside at the end, as in "thanks, by the way", is about what was said before.
                    if found and (kind is MarkerKind.CHANGE or any([clause[found.end() :], *clauses[number + 1 :]])):
                        return Marker(kind, language)
        return None

    def only_in(self, text: str) -> bool:
        """Whether a text says no more than that another topic follows, as "Okay, new topic." does."""
        clauses = [clause for one in _CLAUSES.split(text[:_READ]) if (clause := normalize_name(one))]
        patterns = [pattern for languages in self._patterns.values() for pattern in languages.values()]
        rest = [one for one in clauses if not any(pattern.fullmatch(one) for pattern in patterns)]
        return len(rest) < len(clauses) and all(" " not in one for one in rest)

    def _each(self) -> Iterator[tuple[MarkerKind, str, str]]:
        for language, phrases in self.phrases.items():
            for kind in MarkerKind:
                for phrase in getattr(phrases, kind):
                    yield kind, language, phrase

    @cached_property
    def _patterns(self) -> Mapping[MarkerKind, Mapping[str, re.Pattern[str]]]:
        of: dict[MarkerKind, dict[str, list[str]]] = {kind: {} for kind in MarkerKind}
        for kind, language, phrase in self._each():
            of[kind].setdefault(language, []).append(normalize_name(phrase))
        return {
            kind: {language: _pattern(phrases, LEADS.get(language, _SHORT)) for language, phrases in languages.items()}
            for kind, languages in of.items()
        }


LEADS: Mapping[str, str] = {
    "de": "aber also dann hey ja jetzt mal na nun ok okay so und ganz kurz",
    "en": "actually also and anyway but hey now ok okay right so then well",
    "es": "ahora bueno e entonces hey oye ok pero pues y",
    "pl": "a ale dobra i no ok sluchaj tak to wiec",
    "ru": "а вот да и но ну ок слушай так",
}
"""Words of a language that may come before a phrase, up to two of them, as `normalize_name` leaves them."""
# In other languages, any word of one or two letters.
_SHORT = r"\w{1,2}"
INTERJECTIONS = "ach ah aha ay eh er hm oh oj ooh oy uh um а ах о ой ох эх"
# A marker is at or near the beginning of a message.
_READ = 2000
# A comma separates clauses, too: "okay, by the way, ...".
_CLAUSES = lazy_compile(r"[.,:;!?¡¿…。、，！？\n—–()]+")
# "Let's" as people write it.
_LETS, _LETS_WRITTEN = lazy_compile(r"\blet's\b"), "(?:let's|lets|let us)"


def _pattern(phrases: Sequence[str], leads: str) -> re.Pattern[str]:
    """One of the phrases at the beginning of a clause, or after words that lead up to it, such as "oh" and "and"."""
    spaced = [_LETS.sub(_LETS_WRITTEN, re.escape(one)) for one in phrases if not UNSPACED.search(one)]
    alternatives = [rf"\w{{0,4}}?{re.escape(one)}" for one in phrases if UNSPACED.search(one)]
    if spaced:
        before = "|".join(f"{leads} {INTERJECTIONS}".split())
        alternatives.append(rf"(?:(?:{before}) ){{0,2}}(?:{'|'.join(spaced)})(?!\w)")
    return re.compile("|".join(alternatives))
