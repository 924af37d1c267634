"""Weighs what the sources found by a ranking profile, and by who said it and when."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mnemolog.domain import hydration
from mnemolog.domain.answers import asked_who, introduces, tells_person, told_by
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.memory import Kind
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.ranking import OUTSIDE, Signals
from mnemolog.domain.text import without_questions
from mnemolog.domain.turn import Role
from mnemolog.projections.retrieval import Hit, by_score
from mnemolog.projections.sources.ahead import ahead_first
from mnemolog.projections.sources.changed import changes_first, corrections_first
from mnemolog.projections.sources.graph import FACT
from mnemolog.projections.sources.messages import no_answer, tells_something
from mnemolog.projections.sources.source import ENOUGH, Asked
from mnemolog.projections.sources.telling import told_first

NEARLY = 0.75
"""The part of the best similarity from which a hit answers, too."""

IMAGINED = 0.6
"""The weight of what somebody only imagined."""

ASKING = 0.6
"""The weight of a message that only asks."""

SAID_TO_USER = 0.6
"""The weight of what an assistant said, if a question is about the user."""
_SAID_BY_AGENT = lazy_compile(
    r"\b(?:you|your|yours|yourself|assistant|agent|we (?:discuss|talk|decid|agree)\w*|our (?:last|previous|earlier))\b",
    re.IGNORECASE,
)

ABOUT_EQUAL = 0.85
"""The part of a message's score from which a later one by the same speaker answers about as well."""


def weighed(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits with their score by the profile and what it was made of, the best first."""
    profile = asked.profile
    named = Counter(one for hit in hits for one in _entities(hit)) if profile.frequency else Counter[object]()
    most = max(named.values(), default=1)
    found = []
    for hit in hits:
        signals = Signals(
            relevance=hit.score,
            similarity=hit.similarity,
            age=asked.point.valid_at - hit.date,
            frequency=max((named[one] for one in _entities(hit)), default=0) / most,
            links=hit.parts.get("links", 0.0),
            insight=hit.kind == Kind.INSIGHT,
        )
        one = replace(hit, score=profile.score(signals), parts={**hit.parts, **profile.parts(signals)})
        found.append(one.lowered("outside", OUTSIDE) if hit.origin.external else one)
    return by_score(found)


def best_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits that the cutoff leaves: what answers first, and the latest of what answers the same."""
    answering = users_first(asked, answers_first(asked, relevant(asked, hits)))
    in_earnest = earnest_first(asked, tellings_first(asked, answering))
    newest = corrections_first(asked, newest_first(asked, in_earnest))
    in_time = ahead_first(asked, changes_first(asked, newest))
    return introduced_first(asked, told_first(asked, in_time))


def introduced_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Asked who somebody is, the first message that says it above the others: `my brother's wife Eva came`."""
    name = asked_who(asked.text)
    if name is None or not hits or hits[0].kind != MESSAGE:
        return hits
    found = [hit for hit in hits if tells_something(hit) and introduces(name, hit.row["text"])]
    if not found:
        return hits
    first = min(found, key=lambda hit: hit.date)
    return [replace(first, score=hits[0].score), *(hit for hit in hits if hit.id != first.id)]


def users_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What an assistant said counts less for a question about the user, unless it asks what the assistant said.

    `You could live in Spain` does not tell where somebody lives.
    """
    if not asked.about_user or _SAID_BY_AGENT.search(asked.text):
        return hits

    def is_by_agent(hit: Hit) -> bool:
        return hit.row.get("role") == Role.ASSISTANT

    return by_score(hit.lowered("assistant", SAID_TO_USER) if is_by_agent(hit) else hit for hit in hits)


def earnest_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What is only imagined counts less, unless the question asks for that: `If I won I would buy a Jaguar`."""
    if _IMAGINED_QUESTION.search(asked.text):
        return hits

    def is_imagined(hit: Hit) -> bool:
        return hit.kind == MESSAGE and _IMAGINED.match(hit.row["text"]) is not None

    return by_score(hit.lowered("imagined", IMAGINED) if is_imagined(hit) else hit for hit in hits)


def tellings_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What the user asked counts less, unless the question is about that: `Is it too late to change my topic?`"""
    if _OF_ASKING.search(asked.text):
        return hits
    return by_score(hit.lowered("asks", ASKING) if _only_asks(hit) else hit for hit in hits)


def _only_asks(hit: Hit) -> bool:
    """Whether it is a message of one sentence, which is a question."""
    return hit.kind == MESSAGE and _QUESTION.fullmatch(hit.row["text"]) is not None


_OF_ASKING = lazy_compile(r"\b(?:ask\w*|question\w*|wonder\w*|want to know|idea|advice|help)\b", re.IGNORECASE)
_QUESTION = lazy_compile(r"[^.!?\n]+\?+\s*")
_IMAGINED_QUESTION = lazy_compile(
    r"\b(?:if|would|could|imagine|wish|dream|think\w*|consider\w*|plan\w*|idea|want)\b", re.IGNORECASE
)


# The whole message is one sentence. What somebody only thinks about is not so.
_IMAGINED = lazy_compile(
    r"\W*(?:imagine(?: if)? (?:i|we)\b|(?:if (?:i|we) (?:ever )?(?:won|had|were|was|could|got|bought|[a-z]+ed)"
    r"|(?:were|had) (?:i|we))\b[^.!?]*\b(?:i|we)(?:'d| would| should|d)\b"
    r"|(?:if (?:i|we) (?:ever|win)|one day|(?:(?:i|we) )?wish (?:i|we))\b"
    r"|(?:(?:i'm|im|i am|i've been|been|we're) )?think(?:ing|in) (?:about|of|abt) (?:maybe )?\w+in(?:g|')?\b)"
    r"[^.!?]*[.!]*$",
    re.IGNORECASE,
)


def answers_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """A message that tells no place counts less if the question is where, and one that names nobody if it is who.

    So does a fact that is a date, if the question is who: that of a trip may tell where.
    """
    question = asked.text
    if (tells_it := told_by(question)) is None:
        return hits

    def may_answer(hit: Hit) -> bool:
        if hit.kind == FACT:
            return tells_it is not tells_person or not hit.row["details"]["predicate"].endswith("_date")
        return hit.kind != MESSAGE or tells_it(hit.row["text"], question)

    return by_score(hit if may_answer(hit) else no_answer(hit) for hit in hits)


def newest_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Of messages of one speaker that answer a question about the present about equally well, the newest first.

    They have the same words of the question, most of it: `The choir is on Tuesdays`, `The choir is on Thursdays now`.
    """
    question = asked.text
    latest = _LATEST.search(question) is not None
    stems = asked.stems - _OF_LATEST if latest else asked.stems
    if not stems or (not latest and (not asked.present or asked.past)):
        return hits
    alike = dict[tuple[object, ...], list[int]]()
    for place, hit in enumerate(hits):
        told = without_questions(hit.row["text"]) if tells_something(hit) else ""
        words = hydration.stems(told) & stems
        if len(words) > ENOUGH * len(stems):
            alike.setdefault((hit.row["speaker"], hit.row["role"], words), []).append(place)
    found = list(hits)
    for places in alike.values():
        equal = [place for place in places if hits[place].score >= ABOUT_EQUAL * hits[places[0]].score]
        newest = sorted((hits[place] for place in equal), key=lambda hit: hit.date, reverse=True)
        for place, hit in zip(equal, newest, strict=True):
            found[place] = replace(hit, score=hits[place].score)
    return found


_LATEST = lazy_compile(r"\b(?:latest|newest|most recent)\b", re.IGNORECASE)
_OF_LATEST = hydration.stems("latest newest most recent")


def trusted_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What comes from outside below all that answers the question and does not, however well it matches (X21)."""
    own = [hit for hit in hits if not hit.origin.external]
    best = max((hit.similarity for hit in own if hit.similarity is not None), default=0.0)
    floor = max(asked.question.calibration.nothing_below, NEARLY * best)
    answers = {hit.id for hit in own if is_answer(asked, hit, floor)}
    last = max((place for place, hit in enumerate(hits) if hit.id in answers), default=-1)
    above, below = hits[: last + 1], hits[last + 1 :]
    inside = [hit for hit in above if not hit.origin.external]
    return [*inside, *(hit for hit in above if hit.origin.external), *below]


def is_answer(asked: Asked, hit: Hit, floor: float) -> bool:
    """Whether it is similar to the question, has half of its words, or was found for other reasons, as a fact is."""
    if hit.similarity is None or hit.similarity >= floor:
        return True
    return len(hydration.stems(hit.text) & asked.stems) >= max(1.0, ENOUGH * len(asked.stems))


def relevant(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits that the cutoff leaves. One without a similarity, such as a fact, was found for other reasons."""
    # What comes from outside sets no measure for the rest.
    inside = [hit for hit in hits if not hit.origin.external] or hits
    best = max((hit.similarity for hit in inside if hit.similarity is not None), default=0.0)
    above = (asked.cutoff or asked.profile.cutoff).above(asked.question.calibration, best)
    return [hit for hit in hits if hit.similarity is None or hit.similarity > above]


def _entities(hit: Hit) -> Iterator[object]:
    """The entities that it is about: ids, and references of memories."""
    about = hit.row.get("details", hit.row)
    ids = (*about.get("entity_ids", ()), *about.get("entity_refs", ()))
    ends = (about.get(name) for name in ("subject_id", "object_id", "entity_id", "speaker_entity_id"))
    yield from {*ids, *filter(None, ends)}
