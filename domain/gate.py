"""The retrieval gate: whether a message calls for a search of episodes and knowledge, and why (A §6.2, A13)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from mnemolog.domain.anaphora import Reference
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.text import UNSPACED, normalize_name


class Signal(StrEnum):
    """Why a message calls for a search. All but `entity` are found by phrases.

    `asking` calls for a search of knowledge alone, if the agent's library tells of what is asked (A §2.4).
    """

    CONTINUITY = "continuity"
    PROGRESS = "progress"
    REFLECTION = "reflection"
    LOGGING = "logging"
    ASKING = "asking"
    ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class Signals:
    """The phrases of one language. A word that ends with `*` matches any ending."""

    continuity: tuple[str, ...] = ()
    progress: tuple[str, ...] = ()
    reflection: tuple[str, ...] = ()
    logging: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """A signal, and what it was found by: a phrase, the name of an entity, or a word of the library.

    `language`: the languages that have the phrase, such as `de, en`.
    """

    signal: Signal
    found: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to search, with the reasons: none if the message shows no signal."""

    reasons: tuple[Reason, ...] = ()

    @property
    def search(self) -> bool:
        return bool(self.reasons)

    @property
    def episodes(self) -> bool:
        """Whether to search episodes, too, and not knowledge alone."""
        return any(reason.signal is not Signal.ASKING for reason in self.reasons)

    @property
    def signals(self) -> tuple[Signal, ...]:
        return tuple(dict.fromkeys(reason.signal for reason in self.reasons))


DEFAULT_SIGNALS: Mapping[str, Signals] = {
    "de": Signals(
        continuity=(
            "erinner*", "weißt du noch", "letztes mal", "letzte woche", "neulich", "wieder", "nochmal", "noch einmal",
            "wie besprochen", "früher", "damals", "zuletzt", "gestern", "stehen geblieben", "dir erzählt", "dir gesagt",
            "ich gesagt", "hast du gesagt", "haben wir besprochen", "vergessen",
        ),
        progress=("plan", "pläne", "fortschritt*", "ziel", "ziele", "wie läuft", "wie steht", "nächster schritt"),
        reflection=("ich fühle mich", "ich frage mich", "nachdenk*", "warum mache ich", "hilf mir zu verstehen"),
        logging=("ich habe gegessen", "ich hatte zum", "gefrühstückt", "kalorien", "ich wiege", "trag ein", "notier*"),
        asking=(
            "erklär*", "erzähl*", "sag mir", "beschreib*", "wie", "was", "welche*", "warum",
            "wann", "wo", "wer", "darf ich", "soll ich",
        ),
    ),
    "en": Signals(
        continuity=(
            "remember*", "last time", "last week", "last month", "again", "as before", "like before", "as usual",
            "last night", "last weekend", "last year", "yesterday", "the other day", "back then", "previously",
            "earlier", "recall*", "i forgot", "we talked about", "we spoke about", "we discussed", "we said",
            "we agreed", "we decided", "you said", "did you say", "you told me", "did you tell me", "i said",
            "did i say", "i told you", "did i tell", "have i told", "i mentioned", "did i mention", "remind me",
            "left off", "where were we", "pick up where",
        ),
        progress=(
            "plan", "plans", "progress", "goal", "goals", "milestone*", "on track", "next step", "next steps",
            "how far", "so far", "coming along", "how is my", "how's my", "how are my", "how did my", "how am i doing",
            "to-do", "todo*", "do next", "what's next", "what is next",
        ),
        reflection=(
            "i feel", "i'm feeling", "i felt", "reflect*", "help me understand", "why do i", "i keep thinking",
            "i struggle", "what does it say about me", "i wonder why",
        ),
        logging=(
            "i ate", "i had for breakfast", "i had for lunch", "i had for dinner", "for breakfast", "for lunch",
            "for dinner", "i have eaten", "i've eaten", "i just had", "calories", "i weigh", "i weighed", "log my",
            "log this", "log that", "log a", "log an", "track this", "i drank", "i ran", "i slept",
        ),
        asking=(
            "tell me", "explain*", "describe", "show me", "how", "what", "which", "why", "when",
            "where", "who", "should i", "can i", "may i",
        ),
    ),
    "es": Signals(
        continuity=(
            "recuerda*", "recuerdas", "te acuerdas", "la última vez", "la semana pasada", "otra vez", "de nuevo",
            "como antes", "ayer", "te dije", "te conté", "dijiste", "mencioné", "hablamos de", "donde lo dejamos",
        ),
        progress=("plan", "planes", "progreso", "avance*", "meta", "metas", "objetivo*", "próximo paso", "cómo voy"),
        reflection=("me siento", "me pregunto", "reflexion*", "ayúdame a entender", "por qué siempre"),
        logging=("comí", "desayuné", "almorcé", "cené", "bebí", "calorías", "peso", "anota", "registra*"),
        asking=(
            "explica*", "explícame", "dime", "cuéntame", "cómo", "qué", "cuál*", "por qué",
            "cuándo", "dónde", "quién", "puedo", "debo",
        ),
    ),
    "ja": Signals(
        continuity=("覚えて", "前回", "この前", "先週", "昨日", "また", "もう一度", "前に話", "前に言", "いつもの"),
        progress=("計画", "予定", "進捗", "目標", "次のステップ", "どこまで"),
        reflection=("気持ち", "感じて", "振り返", "なぜ私は", "悩んで"),
        logging=("食べた", "食べまし", "飲んだ", "飲みまし", "カロリー", "体重", "記録して"),
        asking=("教えて", "説明", "何", "どう", "なぜ", "いつ", "どこ", "誰", "ですか", "ますか"),
    ),
    "pl": Signals(
        continuity=(
            "pamięta*", "przypomn*", "ostatnim razem", "ostatnio", "w zeszłym tygodniu", "znowu", "jeszcze raz",
            "jak wcześniej", "wczoraj", "mówił*", "powiedział*", "rozmawialiśmy", "skończyliśmy",
        ),
        progress=("plan", "plany", "planie", "planu", "postęp*", "cel", "cele", "następny krok", "jak mi idzie"),
        reflection=("czuję", "czuje się", "zastanawiam się", "refleksj*", "pomóż mi zrozumieć", "dlaczego ja"),
        logging=("zjadł*", "wypił*", "na śniadanie", "na obiad", "na kolację", "kalori*", "ważę", "zapisz", "zanotuj"),
        asking=(
            "powiedz mi", "wyjaśnij*", "opisz", "jak", "co", "który*", "dlaczego", "kiedy",
            "gdzie", "kto", "czy mogę", "czy powin*",
        ),
    ),
    "ru": Signals(
        continuity=(
            "помни*", "вспомн*", "напомни*", "в прошлый раз", "прошлый раз", "на прошлой неделе", "снова", "опять",
            "ещё раз", "как раньше", "вчера", "ты говорил*", "ты сказал*", "мы говорили", "мы обсуждали", "я говорил*",
            "я рассказывал*", "остановились",
        ),
        progress=("план", "планы", "плану", "плана", "прогресс*", "цель", "цели", "следующий шаг", "как у меня дела"),
        reflection=("я чувствую", "чувствую себя", "рефлекси*", "помоги понять", "почему я", "мне кажется, что я"),
        logging=("я съел*", "съел*", "я выпил*", "на завтрак", "на обед", "на ужин", "калори*", "я вешу", "запиши"),
        asking=(
            "расскажи*", "объясни*", "скажи*", "опиши", "как", "что", "какой", "какая", "какие",
            "почему", "когда", "где", "кто", "можно ли",
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Gate:
    """The configured phrases by language. Case and accents do not matter."""

    phrases: Mapping[str, Signals] = field(default_factory=lambda: DEFAULT_SIGNALS)

    def __post_init__(self) -> None:
        for signal, language, phrase in self._each():
            if not normalize_name(phrase).strip("* "):
                raise InvalidInput("a phrase is empty", field=f"gate.{language}.{signal}", fix="remove it")

    def decide(self, text: str, mentioned: Sequence[str] = (), meant: Sequence[Reference] = ()) -> Decision:
        """Whether a message calls for a search. `mentioned`: the names of the known entities that it mentions.

        `meant`: what its pronouns refer to, which mention an entity too, or the topic that it continues.
        """
        plain = normalize_name(text[:_READ])
        names = dict.fromkeys([*mentioned, *(one.name for one in meant if one.name)])
        reasons = [Reason(Signal.ENTITY, name) for name in names]
        reasons += [Reason(Signal.CONTINUITY, one.text) for one in meant if one.topic]
        phrases: dict[tuple[Signal, str], list[str]] = {}
        for (signal, language), pattern in self._patterns.items():
            if signal is not Signal.ASKING and (found := pattern.search(plain)):
                phrases.setdefault((signal, found[0]), []).append(language)
        reasons += [Reason(*said, ", ".join(languages)) for said, languages in phrases.items()]
        order = list(Signal)
        return Decision(tuple(sorted(reasons, key=lambda one: order.index(one.signal))))

    def asks(self, text: str) -> bool:
        """Whether a message asks for something: then the agent's library may tell of it."""
        plain = normalize_name(text[:_READ])
        asking = (one for (signal, _), one in self._patterns.items() if signal is Signal.ASKING)
        return any(mark in plain for mark in _QUESTION_MARKS) or any(one.search(plain) for one in asking)

    def as_dict(self) -> dict[str, Any]:
        """The phrases in the format of the policy file."""
        return {language: asdict(one) for language, one in sorted(self.phrases.items())}

    def _each(self) -> Iterator[tuple[Signal, str, str]]:
        for language, phrases in self.phrases.items():
            for name, listed in asdict(phrases).items():
                for phrase in listed:
                    yield Signal(name), language, phrase

    @cached_property
    def _patterns(self) -> Mapping[tuple[Signal, str], re.Pattern[str]]:
        of: dict[tuple[Signal, str], list[str]] = {}
        for signal, language, phrase in self._each():
            of.setdefault((signal, language), []).append(_pattern(normalize_name(phrase)))
        return {key: re.compile("|".join(found)) for key, found in of.items()}


# The beginning of a long message says what it wants.
_READ = 4000
_QUESTION_MARKS = "?？؟¿"


def _pattern(phrase: str) -> str:
    """A phrase as whole words, except in scripts without spaces."""
    if UNSPACED.search(phrase):
        return re.escape(phrase.strip("*"))
    spaced = re.escape(phrase).replace(r"\*", r"\w*").replace(r"\ ", " ")
    return rf"(?<!\w){spaced}(?!\w)"
