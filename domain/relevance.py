"""How well a text answers a question: by meaning, by words, and by its place in a conversation (B §6).

Chosen on LoCoMo, conversations 26, 30, 41, and on half of LongMemEval; `tests.bench.recall` measures it,
docs/explanation/retrieval.md explains it.
"""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from math import log
from typing import Generic, TypeVar

from mnemolog.domain.asked import AnswerKind, Span, answer_kind, periods
from mnemolog.domain.text import normalize_name

Id = TypeVar("Id", bound=Hashable)

K1, B = 1.5, 0.75  # Robertson and Zaragoza, The Probabilistic Relevance Framework (2009)

MEANING = 2.0
WORDS = 0.7
WINDOW = 0.7
"""The words of a message with those of its neighbours; without any, its own meaning and words."""
ANSWER = 0.5
"""The relevance of a question that somebody else has just asked."""
SUBSTANCE = 0.6
SPEAKER = 0.2
"""A speaker whom the question names, if it names no other."""
ASKS = -0.2
"""A message of at most `BRIEF` different words that ends as a question tells little."""
SESSION = 0.2
"""The best of the same session."""
KIND = {AnswerKind.TIME: 0.9, AnswerKind.NUMBER: 0.3}
"""A text that tells a time or a number, if the question asks for one."""
RECENT = 0.3
"""The part of its score that the newest of the best few gains, if the question is about the present.

Half as much for each `HALF_AS_RECENT` before it.
"""
PERIOD = 2.0
"""A text of a period that the question names; less after it, as much is told afterwards, and much less before it."""

SIMILAR = 0.7
"""The part of a model's floor for questions from which the most similar text counts as similar in full."""
FEW, BRIEF = 5, 10
CLOSE = 0.7
PERFECT = (1 + SESSION) * (MEANING + WORDS + WINDOW + 2 * ANSWER + SUBSTANCE + SPEAKER)
HALF_SUBSTANCE = 6  # different words
SILENCE = timedelta(hours=8)  # As between episodes (E §Episode Lifecycle).
HALF_BEFORE, HALF_AFTER = timedelta(days=2), timedelta(days=7)
HALF_AS_RECENT = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Document:
    """A text: its number of different words, and how often it has each word of the question.

    `at`: when it was said. `of_kind`: whether it tells a time or a number, if the question asks for one.
    """

    length: int
    words: Mapping[str, int]
    at: datetime | None = None
    of_kind: bool = False


@dataclass(frozen=True, slots=True)
class Collection:
    """What BM25 knows of the texts that may be found: how many, how long on average, and the idf of each word."""

    length: float = 1.0
    idf: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: int, length: float, having: Mapping[str, int]) -> "Collection":
        """`having`: how many texts have each word. The idf is never negative."""
        idf = {word: log(1 + (max(texts, n) - n + 0.5) / (n + 0.5)) for word, n in having.items()}
        return cls(max(length, 1.0), idf)

    def score(self, texts: Sequence[Document]) -> float:
        """BM25 of some texts as if they were one, among texts of as many parts."""
        counts: Mapping[str, int] = texts[0].words
        for one in texts[1:]:
            if one.words:
                counts = {word: counts.get(word, 0) + one.words.get(word, 0) for word in counts.keys() | one.words}
        if not counts:
            return 0.0
        length = sum(one.length for one in texts) / (len(texts) * self.length)
        norm = K1 * (1 - B + B * length)
        return sum(self.idf.get(word, 0.0) * count * (K1 + 1) / (count + norm) for word, count in counts.items())


@dataclass(frozen=True, slots=True)
class Said(Generic[Id]):
    """A message where it stands in its thread."""

    id: Id
    thread: Hashable
    seq: int
    at: datetime
    speaker: str
    asks: bool


@dataclass(frozen=True, slots=True)
class Found(Generic[Id]):
    """What a search found. `runs` are stretches of threads around its messages, in order; `documents` covers them.

    `similar`: the similarity that a good match has at least; where the best has less, it is not taken for one.
    """

    near: Mapping[Id, float]
    collection: Collection
    documents: Mapping[Id, Document]
    runs: Sequence[Sequence[Said[Id]]] = ()
    similar: float = 0.0

    def words(self, id_: Id) -> float | None:
        """The BM25 score of a text; None if it has no word of the question."""
        return self.collection.score([self.documents[id_]]) or None


def relevance(
    question: str, found: Found[Id], among: Iterable[Id], asked_at: datetime | None = None, *, present: bool = False
) -> dict[Id, float]:
    """The relevance of each, in [0, 1]. It compares the answers to one question, not those to two.

    Periods that the question names count from `asked_at`; without it they are ignored. `present`: whether it asks for
    what is so now.
    """
    said = {one.id: one for run in found.runs for one in run}
    before, after = _neighbours(found.runs)
    own = {id_: found.collection.score([document]) for id_, document in found.documents.items()}
    meaning, words = _of_best(found.near, found.similar), _of_best(own)
    pool = [(id_, found.documents[id_]) for id_ in among if id_ in found.documents]
    window = dict[Id, float]()
    for id_, document in pool:
        beside = [found.documents.get(one) for one in (before.get(id_), after.get(id_)) if one is not None]
        window[id_] = found.collection.score([document, *filter(None, beside)]) if beside else own[id_]
    window = _of_best(window)
    named = {speaker for speaker in {one.speaker for one in said.values()} if _names(question, speaker)}
    kind, spans = answer_kind(question), periods(question, asked_at) if asked_at else ()
    of_kind = KIND[kind] if kind else 0.0
    scores = dict[Id, float]()
    for id_, document in pool:
        score = MEANING * meaning.get(id_, 0.0) + WORDS * words[id_]
        alone = id_ not in before and id_ not in after
        score += WINDOW * (score / (MEANING + WORDS) if alone else window[id_])
        score += SUBSTANCE * document.length / (document.length + HALF_SUBSTANCE) + of_kind * document.of_kind
        if message := said.get(id_):
            score += ASKS * (message.asks and document.length <= BRIEF) + SPEAKER * (named == {message.speaker})
            asked = said.get(before[id_]) if id_ in before else None
            if asked is not None and asked.asks and asked.speaker != message.speaker:
                score += ANSWER * (meaning.get(asked.id, 0.0) + words.get(asked.id, 0.0))
        scores[id_] = score
    scores = _with_session(scores, said)
    if spans:
        scores = {id_: score + PERIOD * _in_period(spans, found.documents[id_].at) for id_, score in scores.items()}
    if present:
        scores = _newest_first(scores, found.documents)
    perfect = PERFECT + (1 + SESSION) * of_kind + (PERIOD if spans else 0.0)
    return {id_: min(1.0, max(0.0, score / perfect)) for id_, score in scores.items()}


def _newest_first(scores: Mapping[Id, float], documents: Mapping[Id, Document]) -> dict[Id, float]:
    """With the best few in another order, in which it counts to be new: they exchange their scores."""
    dated = [(scores[id_], at, id_) for id_ in scores if (at := documents[id_].at)]
    best = sorted(dated, key=lambda one: (-one[0], one[1], str(one[2])))[:FEW]
    close = [one for one in best if one[0] >= CLOSE * best[0][0]]
    latest = max((at for _, at, _ in close), default=None)
    if latest is None:
        return dict(scores)

    def worth(one: tuple[float, datetime, Id]) -> float:
        score, at, _ = one
        return score * (1 + RECENT * float(0.5 ** ((latest - at) / HALF_AS_RECENT)))

    newest = sorted(close, key=worth, reverse=True)
    return {**scores, **{one[2]: place[0] for one, place in zip(newest, close, strict=True)}}


def _in_period(spans: Sequence[Span], at: datetime | None) -> float:
    """1 for a time in one of the periods, and half as much for each half-life before or after it."""
    if at is None:
        return 0.0
    away = [span.distance(at) for span in spans]
    halves = min(one / HALF_AFTER if one > timedelta() else -one / HALF_BEFORE for one in away)
    return float(0.5**halves)


def _of_best(scores: Mapping[Id, float], least: float = 0.0) -> dict[Id, float]:
    """Each as a part of the best, or of `least`; a negative cosine is none. It keeps the proportions."""
    best = max(least, *scores.values(), 0.0)
    return {id_: max(0.0, score) / best if best > 0 else 0.0 for id_, score in scores.items()}


def _neighbours(runs: Iterable[Sequence[Said[Id]]]) -> tuple[dict[Id, Id], dict[Id, Id]]:
    """The message before and the message after each, unless a silence lies between."""
    before, after = dict[Id, Id](), dict[Id, Id]()
    for run in runs:
        for one, other in pairwise(run):
            if other.at - one.at <= SILENCE:
                before[other.id], after[one.id] = one.id, other.id
    return before, after


def _names(question: str, speaker: str) -> bool:
    """Whether the question contains the name, as whole words."""
    name = normalize_name(speaker)
    return bool(name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", normalize_name(question)))


def _with_session(scores: Mapping[Id, float], said: Mapping[Id, Said[Id]]) -> dict[Id, float]:
    """With what the session of each contributes. Whatever is not a message is a session of its own."""
    sessions = list[list[Id]]()
    last: Said[Id] | None = None
    for one in sorted((said[id_] for id_ in scores if id_ in said), key=lambda one: (str(one.thread), one.seq)):
        if last is None or last.thread != one.thread or one.at - last.at > SILENCE:
            sessions.append([])
        sessions[-1].append(one.id)
        last = one
    told = {id_: (1 + SESSION) * score for id_, score in scores.items()}
    for session in sessions:
        best = max(scores[id_] for id_ in session)
        told |= {id_: scores[id_] + SESSION * best for id_ in session}
    return told
