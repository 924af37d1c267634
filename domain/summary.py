"""Summaries: their forms (D §SessionSummary, E §3), and a writer that needs no model.

The writer extracts: it chooses sentences that were said, and changes none. What it writes begins with "Extract:", and
the events that keep it name `EXTRACTIVE` as the model. The same messages give the same summary.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from heapq import nsmallest

from mnemolog.domain.text import normalize_name, search_terms
from mnemolog.domain.turn import Role


class SummaryKind(StrEnum):
    """What a summary is of: the current session, in at most 600 characters."""

    ROLLING = "rolling"


EXTRACTIVE = "extractive-1"
"""The name of this writer, with the version of its rules."""
MARK = "Extract:"
ROLLING_LIMIT = 600
"""Characters of a rolling summary (D §SessionState)."""


@dataclass(frozen=True, slots=True)
class Message:
    """What was said in a conversation, by whom and when."""

    role: Role
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in brief, for the beginning of the next one (D §SessionSummary)."""

    one_liner: str
    what_mattered: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()
    commitments: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    tone: str = ""


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """What may be worth remembering, and its confidence from 0 to 1."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class ArtifactNote:
    """An artifact that was shown or sent, and what was said of it."""

    artifact_id: str
    note: str


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """The `summary_json` of an episode (E §3)."""

    topic: str
    decisions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    facts_candidates: tuple[FactCandidate, ...] = ()
    entities: tuple[str, ...] = ()
    artifacts: tuple[ArtifactNote, ...] = ()
    open_questions: tuple[str, ...] = ()


def extracted(messages: Sequence[Message], limit: int = ROLLING_LIMIT) -> str:
    """The most central sentences, in the order in which they were said; at most `limit` characters. "" of nothing.

    >>> ana = Message(Role.USER, "Ana", "Hi! I moved to Lisbon.", datetime(2026, 5, 1))
    >>> extracted([ana])
    'Extract: Ana: I moved to Lisbon.'
    """
    chosen: list[_Sentence] = []
    for sentence in _by_weight(_sentences(messages)):
        if len(_told([*chosen, sentence])) <= limit:
            chosen.append(sentence)
    if not chosen and (first := next(_by_weight(_sentences(messages)), None)):
        return shortened(_told([first]), limit)
    return _told(chosen) if chosen else ""


def extracted_session(messages: Sequence[Message], names: Collection[str] = ()) -> SessionSummary:
    """Without a tone, which rules cannot determine. `people`: users who speak, and mentioned `names`."""
    sentences = _sentences(messages)
    best = [_named(one) for one, _ in zip(_by_weight(sentences), range(LISTED), strict=False)]
    speakers = [one.speaker for one in messages if one.speaker and one.role is Role.USER]
    return SessionSummary(
        one_liner=shortened(f"{MARK} {best[0]}", ONE_LINE) if best else "",
        what_mattered=tuple(best),
        open_loops=_unanswered(sentences),
        commitments=_matching(sentences, PROMISES),
        people=tuple(dict.fromkeys([*speakers, *_mentioned(messages, names)])),
    )


def extracted_episode(messages: Sequence[Message], names: Collection[str] = ()) -> EpisodeSummary:
    """Without candidates for facts, which rules cannot judge. `entities` are the mentioned `names`."""
    sentences = _sentences(messages)
    first = next(_by_weight(sentences), None)
    return EpisodeSummary(
        topic=shortened(f"{MARK} {first.text}", ONE_LINE) if first else "",
        decisions=_matching(sentences, DECISIONS),
        todos=_matching(sentences, NEEDS),
        entities=_mentioned(messages, names),
        artifacts=tuple(
            ArtifactNote(found["id"], found["note"].strip())
            for one in messages
            for found in _SURROGATE.finditer(one.text)
        ),
        open_questions=_unanswered(sentences),
    )


LISTED = 5
CONSIDERED = 200
ONE_LINE = 160
# Greetings and assent: sentences with fewer meaningful words are only chosen if there is nothing else.
WORDS = 2
# A sentence that shares more of its words with a chosen one says the same.
SAME = 0.6
# What users say counts for more than what assistants say; tools and instructions do not count.
ROLES = {Role.USER: 1.0, Role.ASSISTANT: 0.5}


def _forms(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns[:-1])})\b|{patterns[-1]}")


# English, Russian, Polish, Spanish, German; Japanese last, without limits of words. As `normalize_name` leaves them.
PROMISES = _forms(
    "i ?(?:will|'ll)|i(?: am|'m) going to|i promise",
    "обещаю|я (?:сделаю|буду)|собираюсь",
    "obiecuje|zrobie|zamierzam",
    "voy a|prometo",
    "ich werde|ich verspreche",
    "約束|つもり",
)
NEEDS = _forms(
    "(?:need|needs|have|has|ought) to|must|should|remind me|don't forget",
    "нужно|надо|должен|должна|должны|напомни(?:те)?|не забыть",
    "musze|musimy|trzeba|powinienem|powinnam|przypomnij",
    "tengo que|tenemos que|hay que|necesito|recuerdame",
    "muss|mussen|soll|sollte|sollten|erinnere mich",
    "なければ|忘れない|必要",
)
DECISIONS = _forms(
    "(?:decided|agreed|chose|settled on)|let's",
    "решил[аи]?|договорились|выбрал[аи]?|давай(?:те)?",
    "zdecydowal\\w*|postanowil\\w*|ustalil\\w*|umowil\\w*",
    "decidi|decidimos|decidido|acordamos|quedamos",
    "entschieden|beschlossen|vereinbart|abgemacht",
    "決め|決定|ことにし",
)
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|\s*\n+\s*")
_ASKING = ("?", "？", "؟")
_SURROGATE = re.compile(r"\[(?:image|file|audio|video|link)#(?P<id>[\w-]+)\](?P<note>[^\[\n]*)")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """`place` is that of its message and its own within it; `terms` are its meaningful words."""

    place: tuple[int, int]
    role: Role
    speaker: str
    text: str
    terms: frozenset[str]


def _sentences(messages: Sequence[Message]) -> Sequence[_Sentence]:
    return [
        _Sentence((at, number), message.role, message.speaker, text, frozenset(search_terms(text)))
        for at, message in enumerate(messages)
        if message.role in ROLES
        for number, text in enumerate(" ".join(one.split()) for one in _END.split(message.text))
        if any(character.isalnum() for character in text)
    ]


def _by_weight(sentences: Sequence[_Sentence]) -> Iterator[_Sentence]:
    """The most central sentences first, which share words with many messages; none that repeats an earlier one."""
    spread = Counter(term for _, term in {(one.place[0], term) for one in sentences for term in one.terms})

    def weight(sentence: _Sentence) -> float:
        shared = sum(spread[term] for term in sentence.terms) / (len(sentence.terms) + WORDS)
        asks = 0.5 if sentence.text.endswith(_ASKING) else 1.0
        return shared * asks * ROLES[sentence.role]

    chosen: list[_Sentence] = []
    worth = [one for one in sentences if len(one.terms) >= WORDS] or sentences
    for sentence in nsmallest(CONSIDERED, worth, key=lambda one: (-weight(one), one.place)):
        if not any(_same(sentence, one) for one in chosen):
            chosen.append(sentence)
            yield sentence


def _same(one: _Sentence, other: _Sentence) -> bool:
    return len(one.terms & other.terms) > SAME * min(len(one.terms), len(other.terms)) or one.text == other.text


def _told(sentences: Sequence[_Sentence]) -> str:
    """As text: the speaker is named whenever it changes."""
    said, speaker = [MARK], ""
    for sentence in sorted(sentences, key=lambda one: one.place):
        said.append(_named(sentence) if sentence.speaker != speaker else sentence.text)
        speaker = sentence.speaker
    return " ".join(said)


def _named(sentence: _Sentence) -> str:
    return f"{sentence.speaker}: {sentence.text}" if sentence.speaker else sentence.text


def shortened(text: str, limit: int) -> str:
    """At most so long, cut at the end of a word if there is one in the last fifth."""
    if len(text) <= limit:
        return text
    cut = text[: max(0, limit - 1)]
    words = cut.rpartition(" ")[0]
    return f"{words if len(words) > 0.8 * len(cut) else cut}…"[:limit]


def _unanswered(sentences: Sequence[_Sentence]) -> tuple[str, ...]:
    """The questions after which nobody else said anything."""
    last = {speaker: at for at, speaker in enumerate((one.role, one.speaker) for one in sentences)}
    return tuple(
        dict.fromkeys(
            _named(one)
            for at, one in enumerate(sentences)
            if one.text.endswith(_ASKING)
            and all(spoke < at for speaker, spoke in last.items() if speaker != (one.role, one.speaker))
        )
    )[-LISTED:]


def _matching(sentences: Sequence[_Sentence], markers: re.Pattern[str]) -> tuple[str, ...]:
    """The latest sentences that contain a marker and are not questions."""
    stated = (one for one in sentences if not one.text.endswith(_ASKING))
    found = (one for one in stated if markers.search(normalize_name(one.text.replace("’", "'"))))
    return tuple(dict.fromkeys(_named(one) for one in found))[-LISTED:]


def _mentioned(messages: Sequence[Message], names: Collection[str]) -> tuple[str, ...]:
    """The names that occur in the messages as whole words."""
    said = f" {' '.join(' '.join(search_terms(one.text)) for one in messages)} "
    return tuple(name for name in names if (terms := " ".join(search_terms(name))) and f" {terms} " in said)
