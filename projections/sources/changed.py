"""Puts a message above an earlier one that it changes or corrects."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from mnemolog.domain import hydration
from mnemolog.domain.answers import tells, tells_place, told_by
from mnemolog.domain.asked import AnswerKind, answer_kind, asks_why
from mnemolog.domain.change import Change, changes, corrects_name, is_correction
from mnemolog.domain.extraction.times import DAY, MONTH
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.sources.graph import FACT
from mnemolog.projections.sources.messages import tells_something, was_told_before
from mnemolog.projections.sources.source import ENOUGH, Asked

CORRECTED_WITHIN = timedelta(days=14)
"""How long after a message another one corrects it."""

_TIMES = hydration.stems(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august"
    " september october november december today tomorrow yesterday sorry wait meant mean wrong correction actually"
)

CHANGED = 0.6
"""The part of a message's score from which a later one by the same speaker that tells of a change answers it."""

DENIED = 0.4
"""That part if it says of what the other answers that it is not or no longer so."""

NEARLY_EQUAL = 0.8
"""That part if it has half of what the other has of the question."""

CHANGED_THING = 0.35
"""That part if it says of just the thing that is asked for that it changed."""


def changes_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """A message that something changed above an earlier one of the same speaker that has the same of the question.

    `The exam was pushed to 9 May` above `The exam is on 2 May`, also if it has fewer of the question's words; and above
    a fact that the rules found in what was said before.
    """
    if not asked.stems or (asked.past and not asked.past.last) or asks_why(asked.text):
        return hits
    of_change, now = _OF_CHANGE.match(asked.text), _OF_NOW.search(asked.text) and not asked.past
    found = list(hits)
    for later in [hit for hit in hits if tells_something(hit)]:
        told = [one for one in changes(later.row["text"]) if of_change or one.over or (now and not one.firm)]
        told = [one for one in told if one.off or one.over or _of_kind(asked, later, one)]
        if not told:
            continue
        before = (hit for hit in found[: found.index(later)] if was_told_before(hit, later))
        if _is_over(asked, told):
            above = found[: found.index(later)]
            changed = next((hit for hit in above if was_told_before(hit, later) or not _names_place(asked, hit)), None)
        else:
            changed = next((hit for hit in before if _is_changed_by(asked, hit, later, told)), None)
        if changed and _WHETHER.match(asked.text):
            changed = _best_of_same_names(asked, changed, found[: found.index(later)])
        if changed:
            found.remove(later)
            found.insert(found.index(changed), replace(later, score=changed.score))
    return found


def _is_over(asked: Asked, told: Sequence[Change]) -> bool:
    """Whether it says that a place is given up of which a question asks that: `Am I still moving to Rome?`"""
    places = _places(asked)
    return _WHETHER.match(asked.text) is not None and any(not places.isdisjoint(one.over) for one in told)


def _names_place(asked: Asked, hit: Hit) -> bool:
    return not _places(asked).isdisjoint(hydration.stems(hit.text))


def _places(asked: Asked) -> frozenset[str]:
    return hydration.stems(" ".join(_WHITHER.findall(asked.text)))


def _best_of_same_names(asked: Asked, changed: Hit, before: Sequence[Hit]) -> Hit:
    """The best hit with those places of the question that what changed has: one who backed out of a house in Cork does
    not move to Cork, of which another message may tell.
    """
    named = _places(asked) & hydration.stems(changed.text)
    alike = (hit for hit in before if named and named <= hydration.stems(hit.text))
    return next(alike, changed)


def corrections_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """A message that only corrects a time, a number or a place, above what it corrects, and a fact found in that.

    If it does not say what it is about, as `*Friday`, the other stays, with the correction named behind it.
    """
    tells_it = _told_kind(asked.text)
    if tells_it is None:
        return hits
    found = {hit.id: hit for hit in hits}
    for later in [hit for hit in hits if _corrects(tells_it, hit)]:
        told_of = hydration.question_stems(later.row["text"])
        topic = told_of - _TIMES
        before = [hit for hit in hits if _was_just_told(hit, later) and tells_it(hit.text)]
        same = [hit for hit in before if not topic.isdisjoint(hydration.stems(hit.text))]
        latest = max((hit.date for hit in same if hit.kind == MESSAGE), default=None)
        for wrong in [hit for hit in same if hit.kind == FACT or hit.date == latest]:
            found[later.id] = replace(later, score=max(wrong.score, found[later.id].score))
            found[wrong.id] = replace(wrong, current=False, superseded_by=later.id)
        said = [hit for hit in before if hit.kind == MESSAGE]
        if said and not same and len(topic) <= 1:
            # "Not 10 April, 17 April" repeats what was wrong.
            shared = {hit.id: len(told_of & hydration.stems(hit.text)) for hit in said}
            wrong = found[max(said, key=lambda hit: (shared[hit.id], hit.date)).id]
            found[wrong.id] = replace(wrong, row={**wrong.row, "former": f"corrected: {later.row['text']}"})
    return sorted(found.values(), key=lambda hit: (-hit.score, not hit.current))


def _told_kind(question: str) -> Callable[[str], bool] | None:
    """What tells whether a text has what a question asks for, if that is a time, a number or a place."""
    if kind := answer_kind(question):
        return partial(tells, kind)
    return _tells_place if told_by(question) is tells_place else None


def _tells_place(text: str) -> bool:
    return tells_place(text) or corrects_name(text)


def _corrects(tells_it: Callable[[str], bool], hit: Hit) -> bool:
    if not tells_something(hit):
        return False
    text = hit.row["text"]
    return (is_correction(text) or (tells_it is _tells_place and corrects_name(text))) and tells_it(text)


def _was_just_told(hit: Hit, later: Hit) -> bool:
    """Whether it is a message of the same speaker, or a fact found in one, from the days before."""
    if hit.kind == FACT and "extractor" in hit.row["details"]["metadata"]:
        told: datetime = max(hit.row["details"]["known_from"], hit.date)
        return timedelta() < later.date - told <= CORRECTED_WITHIN
    return hit.kind == MESSAGE and was_told_before(hit, later) and later.date - hit.date <= CORRECTED_WITHIN


# A place, and nobody: what somebody gave up says nothing of all else that has their name.
_WHITHER = lazy_compile(r"\b(?:to|in|into|from) ([A-Z][\w'-]+)")
_WHETHER = lazy_compile(
    r"\W*(?:what did (?:i|we) do with|what became of"
    r"|(?:(?:when|how often|(?:on )?(?:what|which) (?:day|time)s?) )?(?:am|is|are|do|does|did|have|has|will))\b",
    re.IGNORECASE,
)
_OF_NOW = lazy_compile(
    r"(?:\b(?:is|are|am|do|does|s|re|m)\b|^\W*who \w+s\b)(?!.*\b(?:used to|before|previous\w*|first|ever)\b)",
    re.IGNORECASE,
)


def _is_changed_by(asked: Asked, hit: Hit, later: Hit, told: Sequence[Change]) -> bool:
    stems = hydration.stems(hit.text)
    words = stems & asked.stems
    of_kind = answer_kind(asked.text) is not None
    thing = (asked.stems | hydration.alike(asked.stems)) & (stems | hydration.alike(stems))
    if _TRAVELS.search(asked.text) and not _OTHER_PLACE.search(later.row["text"]):
        thing |= _TRAVEL  # "They changed the flights" names no trip: it is the one that is asked for.
    return any(
        (one.about(thing, stems | asked.stems) and later.score >= CHANGED_THING * hit.score)
        or (one.over and later.score >= DENIED * hit.score and _denies(asked, hit, later, one))
        or (not one.over and later.score >= CHANGED * hit.score and _says_the_same(asked, words, one))
        or (of_kind and later.score >= NEARLY_EQUAL * hit.score and _says_half(words, one))
        for one in told
    )


_TRAVELS = lazy_compile(
    r"\b(?:trips?|holidays?|fly|flight|leav(?:e|es|ing) for|go(?:ing)? to [A-Z]|travel\w*|cruise)\b"
)
_OTHER_PLACE = lazy_compile(rf"\b(?:to|in|for) (?!(?i:{MONTH}|{DAY})\b)[A-Z]")
_TRAVEL = hydration.stems("trip holiday flight flights cruise ferry booking")


def _says_the_same(asked: Asked, words: frozenset[str], told: Change) -> bool:
    """Whether it has most of these words of the question, or all of several if it only tells how something is now."""
    same = words & told.stems
    if told.firm:
        return len(same) > ENOUGH * len(words)
    return len(same) == len(words) and (len(words) > 1 or words == asked.stems)


def _says_half(words: frozenset[str], told: Change) -> bool:
    """Whether it has half of these words, and does not name what changed: `it's Monday evenings now`."""
    return not told.over and not told.things and 2 * len(words & told.stems) >= len(words) > 0


def _denies(asked: Asked, hit: Hit, later: Hit, told: Change) -> bool:
    """Whether it says that something is not or no longer so which the other says where it answers the question.

    Or which it says of `it`. What the question itself names is asked about, whatever became of it, unless it asks
    whether or when that is so.
    """
    if _WHETHER.match(asked.text) and told.over & asked.stems & hydration.stems(hit.text):
        return True
    over = told.over - asked.stems
    if not over or hit.kind == FACT:
        return not over.isdisjoint(hydration.stems(hit.text))
    parts = [hydration.stems(part) for part in re.split(r"(?<=[.!?])\s+", hit.row["text"])]
    if told.of_it or not asked.stems.isdisjoint(hydration.stems(later.row["text"])):
        return any(not over.isdisjoint(part) for part in parts)
    return any(not over.isdisjoint(part) and not asked.stems.isdisjoint(part) for part in parts)


def _of_kind(asked: Asked, hit: Hit, told: Change) -> bool:
    question, text = asked.text, hit.row["text"]
    if (tells_it := told_by(question)) is not None and not tells_it(text, question):
        return False
    kind = answer_kind(question)
    return kind is None or ((kind is AnswerKind.NUMBER or not told.priced) and tells(kind, text))


# Who somebody is and where they live does not change with a date.
_OF_CHANGE = lazy_compile(
    r"\W*(?:when|how (?:much|many|long)|(?:what|which) (?:day|date|time)|what happened"
    r"|what did (?:i|we) do with|what became of"
    r"|is|are|am|do|does|did|will|ha[sv]e?)\b",
    re.IGNORECASE,
)
