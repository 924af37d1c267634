"""What a model proposes to remember, and the check that each proposal passes before it is decided on (B09, B13, E06)."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from mnemolog.domain.entity import ME
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.extraction.candidate import MOST_CANDIDATES, Action, Candidate
from mnemolog.domain.extraction.times import absolute, is_to_come, moment, precisions_of
from mnemolog.domain.extraction.validation import Fault, checked, is_small_talk, is_speculation, valid
from mnemolog.domain.extraction.windows import Utterance
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.predicates import predicate_name
from mnemolog.domain.procedure import require_steps
from mnemolog.domain.profile import place_of
from mnemolog.domain.summary import FactCandidate
from mnemolog.domain.text import normalize_name, search_terms

LEAST_CONFIDENCE = 0.6
"""What a model is less sure of is speculation; the figure is ours."""
STANDARD, MOST_CITED = 2, 5
SUBJECTS = ("", "me", "user", "the user")


class Sort(StrEnum):
    """What a proposal is."""

    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    EVENT = "event"
    PROCEDURE = "procedure"
    TODO = "todo"


CATEGORIES = {Sort.PREFERENCE: "preferences", Sort.EVENT: "event", Sort.DECISION: "note", Sort.FACT: "note"}
"""The category of a memory whose proposal names none that the policy knows."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One thing worth remembering, as the model answers it. `messages` are the numbers of those that state it.

    A fact or preference about one subject also has a `subject`, a `predicate` and an `object`; others leave them empty.
    `change`: whether the messages only state it, tell of a change, of an end, or correct what was said before. `since`
    and `until` are in the words of the message.
    """

    sort: Sort
    text: str
    messages: tuple[int, ...]
    confidence: float
    importance: int
    category: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    single: bool = False
    change: Literal["states", "changes", "ends", "corrects"] = "states"
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The answer of the model; empty if nothing is worth remembering."""

    candidates: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A proposal that passed. `said_by` are the messages that state it, the user's last one first.

    `fact`: it is one about a subject, else its text is remembered. `about`: the name of whom or what a text tells, ""
    for the user. `due`: until when a todo is to be done.
    """

    sort: Sort
    text: str
    said_by: tuple[Utterance, ...]
    category: str
    importance: int
    confidence: float
    fact: Candidate | None = None
    about: str = ""
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What passed, and why the rest did not."""

    accepted: tuple[Accepted, ...]
    faults: tuple[Fault, ...]


def judge(
    proposals: Sequence[Proposal],
    window: Sequence[Utterance],
    before: Sequence[Utterance],
    *,
    categories: Collection[str],
    profile_fields: Collection[str],
) -> Judged:
    """Check the first five proposals about the messages of a window. `before` are the messages that precede it."""
    accepted, faults = list[Accepted](), list[Fault]()
    for one in proposals[:MOST_CANDIDATES]:
        found = _judged(one, window, before, categories, profile_fields)
        if isinstance(found, Fault):
            faults.append(found)
        else:
            accepted.append(found)
    faults += [Fault.OVER_LIMIT] * max(0, len(proposals) - MOST_CANDIDATES)
    return Judged(tuple(accepted), tuple(faults))


def _judged(
    one: Proposal,
    window: Sequence[Utterance],
    before: Sequence[Utterance],
    categories: Collection[str],
    profile_fields: Collection[str],
) -> Accepted | Fault:
    cited = [window[number - 1] for number in dict.fromkeys(one.messages) if 0 < number <= len(window)]
    of_user = [message for message in cited if message.of_user]
    if not of_user:
        return Fault.UNSTATED
    main = max(of_user, key=lambda message: message.seq)
    text = one.text.strip() if one.sort is Sort.PROCEDURE else checked(one.text, episodic=one.sort is Sort.EVENT)
    if isinstance(text, Fault):
        return text
    if not LEAST_CONFIDENCE <= one.confidence <= 1 or is_speculation(text) or _only_imagined(one.object, of_user):
        return Fault.SPECULATION
    if is_small_talk(text) or _is_chatter(one):
        return Fault.FILLER
    heard = [message.text for message in (*before, *window)] + [message.speaker for message in window]
    # What is to be done begins with a verb, anything else may begin with a name.
    plain = f"{text[0].lower()}{text[1:]}" if one.sort is Sort.TODO else text
    whole = f"{plain} {one.object} {one.subject}"
    # Of a fact, the object is recorded: who "went vegetarian" need not have said that they "follow a diet".
    of_object = one.predicate.strip() and one.object.strip() and names_said(whole, heard)
    if not grounded(whole, heard) and not (of_object and grounded(f"{one.object} {one.subject}", heard)):
        return Fault.UNGROUNDED
    if one.sort is Sort.PROCEDURE:
        try:
            require_steps(text)
        except MnemologError:
            return Fault.NOT_STEPS
    else:
        text = absolute(text, main.at, once=one.sort is Sort.EVENT)
    category = one.category if one.category in categories else CATEGORIES.get(one.sort, "note")
    fact = _fact(one, main, profile_fields) if one.sort in (Sort.FACT, Sort.PREFERENCE) else None
    if fact and not valid(fact, main.at):
        return Fault.IMPLAUSIBLE
    return Accepted(
        sort=one.sort,
        text=text,
        said_by=(main, *(message for message in cited if message is not main)),
        category=category,
        importance=min(5, max(1, one.importance)),
        confidence=one.confidence,
        fact=fact,
        about="" if fact or _is_user(one.subject) else one.subject.strip(),
        due=moment(one.until, main.at, future=True) if one.until and one.sort is Sort.TODO else None,
    )


def _fact(one: Proposal, main: Utterance, profile_fields: Collection[str]) -> Candidate | None:
    """The fact about a subject; None if the proposal has none, and its text is remembered instead."""
    ends = one.change == "ends"
    if not one.predicate.strip() or not (one.object.strip() or ends):
        return None
    try:
        predicate = predicate_name(one.predicate)
    except MnemologError:
        return None
    author = main.speaker or ME
    subject = author if _is_user(one.subject) else one.subject.strip()
    action = {"ends": Action.END, "corrects": Action.CORRECT}.get(one.change, Action.STATE)
    if subject == ME and place_of(predicate) in profile_fields and action is not Action.END:
        action = Action.PROPOSE
    return Candidate(
        predicate=predicate,
        object=one.object.strip() or None,
        subject=subject,
        action=action,
        single=one.single,
        changes=one.change in ("changes", "ends"),
        since=moment(one.since, main.at, future=_is_to_come(one.since, main.text)) if one.since else None,
        precisions={**precisions_of(one.since, main.at), **precisions_of(one.until, main.at)},
        until=moment(one.until, main.at, future=_is_to_come(one.until, main.text)) if one.until else None,
        confidence=one.confidence,
    )


def _is_user(subject: str) -> bool:
    return subject.strip().lower() in SUBJECTS


def _is_chatter(one: Proposal) -> bool:
    """Whether the model itself holds that what happened or was said does not matter: of the least importance (E06)."""
    return one.sort in (Sort.FACT, Sort.EVENT) and one.change == "states" and one.importance <= 1


def _is_to_come(phrase: str, text: str) -> bool:
    """Whether the sentence with a phrase of time tells of what is to come: "she's changing schools in January"."""
    told = (one for one in _SENTENCE_END.split(text) if phrase.lower() in one.lower())
    return any(is_to_come(one) or (_BEGINS.search(one) and not _PAST.search(one)) for one in told)


def _only_imagined(thing: str, said: Sequence[Utterance]) -> bool:
    """Whether each sentence that names a thing is about what is not so: "if I won the lottery I'd buy a farm in Wales"."""
    name = normalize_name(thing)
    naming = [
        one for message in said for one in _SENTENCE_END.split(message.text) if name and name in normalize_name(one)
    ]
    return bool(naming) and all(map(_IMAGINED.search, naming))


def judge_summary(candidates: Sequence[FactCandidate], messages: Sequence[Utterance]) -> Judged:
    """Check what a final summary of these messages proposes (E03). The sources are the messages with its words."""
    accepted, faults = list[Accepted](), list[Fault]()
    for one in candidates:
        cited = cite(one.text, messages)
        proposal = Proposal(Sort.FACT, one.text, tuple(range(1, len(cited) + 1)), one.confidence, STANDARD)
        found = judge([proposal], cited, (), categories=(), profile_fields=())
        accepted += found.accepted
        faults += found.faults
    return Judged(tuple(accepted), tuple(faults))


def cite(text: str, messages: Sequence[Utterance]) -> Sequence[Utterance]:
    """The user's messages that have the words of a text: at most five, each with words that the others lack."""
    wanted = {normalize_name(term)[:4] for term in search_terms(_OF_THE_USER.sub(" ", text))}
    words = {one: wanted & _stems([one.text]) for one in messages if one.of_user}
    cited = list[Utterance]()
    while words and len(cited) < MOST_CITED:
        best = max(words, key=lambda one: len(words[one]))
        if not (new := words.pop(best)):
            break
        cited.append(best)
        words = {one: rest - new for one, rest in words.items()}
    return cited


def _stems(texts: Sequence[str]) -> set[str]:
    return {word[:4] for word in re.findall(r"\w+", normalize_name(" ".join(texts)))}


def grounded(text: str, heard: Sequence[str]) -> bool:
    """Whether all names and numbers of a text, and half of its other words, were said; dates are not compared.

    >>> grounded("The user moved to Lisbon.", ["I moved to Lisbon last week"])
    True
    >>> grounded("The user moved to Madrid.", ["I moved to Lisbon last week"])
    False
    """
    if not names_said(text, heard):
        return False
    said, stems = normalize_name(" ".join(heard)), _stems(heard)
    rest = _DATE.sub(" ", _OF_THE_USER.sub(" ", text))
    terms = list(map(normalize_name, search_terms(rest)))
    first = {normalize_name(word) for word in _FIRST.findall(rest)}.intersection(terms)
    known = [term for term in terms if term in said or term[:4] in stems]
    return first.issubset(known) and len(known) * 2 >= len(terms)


def names_said(text: str, heard: Sequence[str]) -> bool:
    """Whether all names and numbers of a text were said; what begins a sentence counts as any word."""
    said, rest = normalize_name(" ".join(heard)), _DATE.sub(" ", _OF_THE_USER.sub(" ", text))
    return all(normalize_name(name) in said for name in _NAME_OR_NUMBER.findall(rest))


_SENTENCE_END = lazy_compile(r"(?<=[.!?])\s+|\n+")
_BEGINS = lazy_compile(
    r"\b(?:starts?|starting|begins?|beginning|(?:first|last|start) (?:day|date)(?: is|'s|:))\b", re.IGNORECASE
)
_PAST = lazy_compile(r"\b(?:did|didn't|used to|was|were|would|had)\b", re.IGNORECASE)
_IMAGINED = lazy_compile(
    r"\bif (?:i|we) (?:ever |only |just )?(?:won|win|were|was|had|could|got)\b|\bi wish\b|\b(?:as|for) a joke\b"
    r"|(?<!not )(?<!n't )\bjoking\b|(?<!no )(?<!not )\bkidding\b|\bpretend(?:ed|ing|s)?\b|\bhypothetical(?:ly)?\b"
    r"|\b(?:dream(?:t|ed|ing)|dreams?) (?:that|of|about)\b|\bimagin(?:e|ing) (?:if|being|having|living)\b",
    re.IGNORECASE,
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = lazy_compile(
    rf"\b\d{{4}}(?:-\d\d(?:-\d\d)?)?\b|\b\d{{1,2}} (?:{_MONTHS})\b|\b(?:{_MONTHS})(?: \d{{1,2}})?\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
)
_OF_THE_USER = lazy_compile(r"\b(?:the )?user(?:'s)?\b", re.IGNORECASE)
# What begins a sentence may be a name or any other word.
_FIRST = lazy_compile(r"(?:^|[.!?]\s)\s*([A-Z][\w-]+)")
_NAME_OR_NUMBER = lazy_compile(r"(?<![.!?]\s)(?<!^)(?<!^\s)\b(?:[A-Z][\w-]+|\d[\d.,]*\d|\d)(?!\w)")
