"""Weighs what the sources found by a ranking profile, and by who said it and when."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from mnemolog.domain import hydration
from mnemolog.domain.ahead import lasts_until
from mnemolog.domain.answers import asked_who, introduces, tells, tells_age, tells_person, tells_place, told_by
from mnemolog.domain.asked import AnswerKind, answer_kind, asks_why
from mnemolog.domain.change import Change, changes, corrects_name, is_correction
from mnemolog.domain.extraction.times import DAY, MONTH
from mnemolog.domain.memory import Kind
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.ranking import OUTSIDE, Signals
from mnemolog.domain.slots import Wanted
from mnemolog.domain.text import name_key, normalize_name, without_questions
from mnemolog.domain.turn import Role
from mnemolog.projections.retrieval import Hit, by_score
from mnemolog.projections.sources.graph import FACT
from mnemolog.projections.sources.source import ENOUGH, Asked

NEARLY = 0.75
"""The part of the best similarity from which a hit answers, too."""

IMAGINED = 0.6
"""The weight of what somebody only imagined."""

NO_ANSWER = 0.8
"""The weight of a message that tells no place or nobody, if the question asks for one."""

OVER = 0.5
"""The weight of what was to come when it was said, and is over, if the question asks for what is to come."""

ASKING = 0.6
"""The weight of a message that only asks."""

SAID_TO_USER = 0.6
"""The weight of what an assistant said, if a question is about the user."""
_SAID_BY_AGENT = re.compile(
    r"\b(?:you|your|yours|yourself|assistant|agent|we (?:discuss|talk|decid|agree)\w*|our (?:last|previous|earlier))\b",
    re.IGNORECASE,
)

CORRECTED_WITHIN = timedelta(days=14)
"""How long after a message another one corrects it."""
_TIMES = hydration.stems(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august"
    " september october november december today tomorrow yesterday sorry wait meant mean wrong correction actually"
)

ABOUT_EQUAL = 0.85
"""The part of a message's score from which a later one by the same speaker answers about as well."""

CHANGED = 0.6
"""The part of a message's score from which a later one by the same speaker that tells of a change answers it."""

DENIED = 0.4
"""That part if it says of what the other answers that it is not or no longer so."""

NEARLY_EQUAL = 0.8
"""That part if it has half of what the other has of the question."""

CHANGED_THING = 0.35
"""That part if it says of just the thing that is asked for that it changed."""


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
    name = asked_who(asked.question.text)
    if name is None or not hits or hits[0].kind != MESSAGE:
        return hits
    found = [hit for hit in hits if _tells(hit) and introduces(name, hit.row["text"])]
    if not found:
        return hits
    first = min(found, key=lambda hit: hit.date)
    return [replace(first, score=hits[0].score), *(hit for hit in hits if hit.id != first.id)]


def users_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What an assistant said counts less for a question about the user, unless it asks what the assistant said.

    `You could live in Spain` does not tell where somebody lives.
    """
    if not asked.about_user or _SAID_BY_AGENT.search(asked.question.text):
        return hits

    def is_by_agent(hit: Hit) -> bool:
        return hit.row.get("role") == Role.ASSISTANT

    return by_score(hit.lowered("assistant", SAID_TO_USER) if is_by_agent(hit) else hit for hit in hits)


def earnest_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What is only imagined counts less, unless the question asks for that: `If I won I would buy a Jaguar`."""
    if _IMAGINED_QUESTION.search(asked.question.text):
        return hits

    def is_imagined(hit: Hit) -> bool:
        return hit.kind == MESSAGE and _IMAGINED.match(hit.row["text"]) is not None

    return by_score(hit.lowered("imagined", IMAGINED) if is_imagined(hit) else hit for hit in hits)


def tellings_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What the user asked counts less, unless the question is about that: `Is it too late to change my topic?`"""
    if _OF_ASKING.search(asked.question.text):
        return hits
    return by_score(hit.lowered("asks", ASKING) if _only_asks(hit) else hit for hit in hits)


def _only_asks(hit: Hit) -> bool:
    """Whether it is a message of one sentence, which is a question."""
    return hit.kind == MESSAGE and _QUESTION.fullmatch(hit.row["text"]) is not None


_OF_ASKING = re.compile(r"\b(?:ask\w*|question\w*|wonder\w*|want to know|idea|advice|help)\b", re.IGNORECASE)
_QUESTION = re.compile(r"[^.!?\n]+\?+\s*")


_IMAGINED_QUESTION = re.compile(
    r"\b(?:if|would|could|imagine|wish|dream|think\w*|consider\w*|plan\w*|idea|want)\b", re.IGNORECASE
)
# The whole message is one sentence. What somebody only thinks about is not so.
_IMAGINED = re.compile(
    r"\W*(?:imagine(?: if)? (?:i|we)\b|(?:if (?:i|we) (?:ever )?(?:won|had|were|was|could|got|bought|moved)"
    r"|(?:were|had) (?:i|we))\b[^.!?]*\b(?:i|we)(?:'d| would| should|d)\b|(?:if (?:i|we) ever|one day)\b"
    r"|(?:(?:i'm|im|i am|i've been|been|we're) )?think(?:ing|in) (?:about|of|abt) \w+in(?:g|')?\b)[^.!?]*[.!]*$",
    re.IGNORECASE,
)


def answers_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """A message that tells no place counts less if the question is where, and one that names nobody if it is who.

    So does a fact that is a date, if the question is who: that of a trip may tell where.
    """
    question = asked.question.text
    if (tells_it := told_by(question)) is None:
        return hits

    def may_answer(hit: Hit) -> bool:
        if hit.kind == FACT:
            return tells_it is not tells_person or not hit.row["details"]["predicate"].endswith("_date")
        return hit.kind != MESSAGE or tells_it(hit.row["text"], question)

    return by_score(hit if may_answer(hit) else _no_answer(hit) for hit in hits)


def _no_answer(hit: Hit) -> Hit:
    return hit.lowered("no_answer", NO_ANSWER)


def newest_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Of messages of one speaker that answer a question about the present about equally well, the newest first.

    They have the same words of the question, most of it: `The choir is on Tuesdays`, `The choir is on Thursdays now`.
    However old somebody was said to be, they are older now.
    """
    question = asked.question.text
    latest, age = _LATEST.search(question) is not None, told_by(question) is tells_age
    stems = asked.stems - _OF_AGE_OR_LATEST if latest or age else asked.stems
    if not stems or (not latest and (not asked.present or asked.past)):
        return hits
    alike = dict[tuple[object, ...], list[int]]()
    for place, hit in enumerate(hits):
        told = without_questions(hit.row["text"]) if _tells(hit) else ""
        words = hydration.stems(told) & stems
        if len(words) > ENOUGH * len(stems) and (not age or tells_age(told)):
            alike.setdefault((hit.row["speaker"], hit.row["role"], words), []).append(place)
    found = list(hits)
    for places in alike.values():
        least = 0.0 if age else ABOUT_EQUAL * hits[places[0]].score
        equal = [place for place in places if hits[place].score >= least]
        newest = sorted((hits[place] for place in equal), key=lambda hit: hit.date, reverse=True)
        for place, hit in zip(equal, newest, strict=True):
            found[place] = replace(hit, score=hits[place].score)
    return found


def changes_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """A message that something changed above an earlier one of the same speaker that has the same of the question.

    `The exam was pushed to 9 May` above `The exam is on 2 May`, also if it has fewer of the question's words; and above
    a fact that the rules found in what was said before.
    """
    if not asked.stems or (asked.past and not asked.past.last) or asks_why(asked.question.text):
        return hits
    of_change, now = _OF_CHANGE.match(asked.question.text), _OF_NOW.search(asked.question.text) and not asked.past
    found = list(hits)
    for later in [hit for hit in hits if _tells(hit)]:
        told = [one for one in changes(later.row["text"]) if of_change or one.over or (now and not one.firm)]
        told = [one for one in told if one.off or one.over or _of_kind(asked, later, one)]
        if not told:
            continue
        before = (hit for hit in found[: found.index(later)] if _was_told_before(hit, later))
        if changed := next((hit for hit in before if _is_changed_by(asked, hit, later, told)), None):
            found.remove(later)
            found.insert(found.index(changed), replace(later, score=changed.score))
    return found


def ahead_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """If a question asks for what is to come, what names a day to come first, and what is over by now as former.

    Of what is next, the soonest, unless a later message moves it.
    """
    if asked.ahead is None:
        return hits
    in_time = [_by_now(asked, hit) for hit in hits]
    coming = [hit for hit in in_time if is_ahead(asked, hit)]
    moved = [hit for hit in in_time if _is_to_come(asked, hit) and any(one.firm for one in changes(hit.row["text"]))]
    anew = {one.id: [hit for hit in moved if _is_told_anew(one, hit)] for one in coming}
    coming += [hit for hit in moved if hit not in coming and any(hit in by for by in anew.values())]
    best = max((hit.score for hit in in_time), default=0.0)
    if asked.ahead.next:
        coming = [hit for hit in coming if not anew.get(hit.id)]
        coming.sort(key=lambda hit: lasts_until(hit.row["text"], hit.date) or asked.now)
    ids = {hit.id for hit in coming}
    others = [hit for hit in in_time if hit.id not in ids]
    return by_score([*(replace(hit, score=best) for hit in coming), *others])


def is_ahead(asked: Asked, hit: Hit) -> bool:
    """Whether a message names a day to come, of something of the sort that is asked for."""
    if asked.ahead is None or not _is_to_come(asked, hit):
        return False
    return asked.ahead.is_sort(hit.row["text"]) or (asked.slot is not None and is_told(asked.slot, hit))


def _is_to_come(asked: Asked, hit: Hit) -> bool:
    until = lasts_until(hit.row["text"], hit.date) if _tells(hit) else None
    return until is not None and until > asked.now


def _by_now(asked: Asked, hit: Hit) -> Hit:
    if hit.kind != MESSAGE:
        return hit
    until = lasts_until(hit.row["text"], hit.date)
    if until is not None and until <= asked.now:
        return replace(hit.lowered("over", OVER), current=False)
    return hit if is_ahead(asked, hit) else _no_answer(hit)


def _is_told_anew(hit: Hit, later: Hit) -> bool:
    """Whether a later message names somebody or something that this one names, too."""
    names = {word for name in hydration.capitalised_names(hit.row["text"]) for word in normalize_name(name).split()}
    return later.date > hit.date and not names.isdisjoint(hydration.capitalised_words(later.row["text"]))


def corrections_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """A message that only corrects a time, a number or a place, above what it corrects, and a fact found in that.

    If it does not say what it is about, as `*Friday`, the other stays, with the correction named behind it.
    """
    tells_it = _told_kind(asked.question.text)
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
    if not _tells(hit):
        return False
    text = hit.row["text"]
    return (is_correction(text) or (tells_it is _tells_place and corrects_name(text))) and tells_it(text)


def _was_just_told(hit: Hit, later: Hit) -> bool:
    """Whether it is a message of the same speaker, or a fact found in one, from the days before."""
    if hit.kind == FACT and "extractor" in hit.row["details"]["metadata"]:
        told: datetime = max(hit.row["details"]["known_from"], hit.date)
        return timedelta() < later.date - told <= CORRECTED_WITHIN
    return hit.kind == MESSAGE and _was_told_before(hit, later) and later.date - hit.date <= CORRECTED_WITHIN


def told_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What tells a slot that is asked for above what does not, the latest of it first.

    `89 kg this morning` above `I weigh 96 kilos`, and above a fact that the rules found in what was said before. Asked
    since when, the first that has most words of the question. Earlier figures are marked.
    """
    if asked.slot is None or asked.ahead or not (told := _telling(asked, asked.slot, hits)):
        return hits
    slot, since = asked.slot.slot, _SINCE.search(asked.question.text) is not None
    if not since and not asked.past and (newer := _newer_facts(asked, asked.slot, told, hits)):
        best = hits[0].score
        ids = {hit.id for hit in newer}
        return [*(replace(hit, score=best) for hit in newer), *(hit for hit in hits if hit.id not in ids)]
    ids = {hit.id for hit in told}
    if since:
        shared = {hit.id: len(hydration.stems(hit.text) & asked.stems) for hit in told}
        first = min(told, key=lambda hit: (-shared[hit.id], hit.date))
    else:
        first = max(told, key=lambda hit: hit.date)
    marks = slot.figure and not since and not asked.past
    best, found = first.score, list[Hit]()
    for hit in hits:
        one = hit if hit.kind != MESSAGE or hit.id in ids or asked.slot.names else _no_answer(hit)
        older_fact = _is_older_fact(hit, first) and hit.row["details"]["predicate"] in slot.predicates
        if hit.kind == MESSAGE or older_fact:
            best = max(best, one.score)
        if marks and (older_fact or (hit.id in ids and hit.date < first.date)):
            one = replace(one, current=False, superseded_by=first.id)
        found.append(one)
    found = [replace(first, score=best), *(hit for hit in found if hit.id != first.id)]
    return by_score(found)


_SINCE = re.compile(r"\b(?:since when|how long|when did)\b", re.IGNORECASE)


def _newer_facts(asked: Asked, wanted: Wanted, told: Sequence[Hit], hits: Sequence[Hit]) -> Sequence[Hit]:
    """The facts about the user that fill a slot since a day on which no message had told it yet."""
    latest = max(hit.date for hit in told)
    if wanted.names or wanted.drug or wanted.animal:
        return ()
    own = (hit for hit in hits if hit.kind == FACT and name_key(hit.row["details"]["subject"] or "") == asked.own_name)
    facts = (hit for hit in own if hit.current)
    return [hit for hit in facts if hit.row["details"]["predicate"] in wanted.slot.predicates and hit.date > latest]


def _telling(asked: Asked, wanted: Wanted, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The messages of users that tell a slot, until the end of the period that is asked for."""
    spans = asked.past.spans if asked.past else ()
    if asked.past and not spans:
        return []
    said = [hit for hit in hits if _tells(hit) and hit.row["role"] == Role.USER and is_told(wanted, hit)]
    if wanted.slot.name == "home" and not wanted.names:
        said = [*(hit for hit in said if not _fell_through(hit, hits)), *_arrivals(hits)]
    then = [hit for hit in said if not spans or hit.date < max(span.end for span in spans)]
    # Of two who share a name, the one who is what the question says.
    of_kin = [hit for hit in then if wanted.kin and re.search(rf"\b{wanted.kin}\b", hit.row["text"], re.IGNORECASE)]
    return of_kin or then


def _fell_through(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Whether a later message says of something that this one names that it came to nothing."""
    stems = hydration.stems(hit.row["text"])
    later = (one for one in hits if _tells(one) and _was_told_before(hit, one))
    told = (change for one in later for change in changes(one.row["text"]))
    return any(change.off and any(thing.noun in stems for thing in change.things) for change in told)


def _arrivals(hits: Sequence[Hit]) -> Sequence[Hit]:
    """The messages that somebody arrived where they had looked for a home or a job: a traveller arrives, too."""
    found = []
    for hit in hits:
        if not _tells(hit) or hit.row["role"] != Role.USER or (here := _ARRIVED.search(hit.row["text"])) is None:
            continue
        before = [one.row["text"] for one in hits if one.kind == MESSAGE and _was_told_before(one, hit)]
        if any(here["place"].lower() in one.lower() and _MOVES_TO.search(one) for one in before):
            found.append(hit)
    return found


_ARRIVED = re.compile(
    r"^\W*(?:(?:i|we)(?:'ve| have)?(?: just| finally)? |just |finally )?"
    r"(?:arrived in|made it to|landed in) (?P<place>[\w'-]+)"
    r"(?!.*\b(?:hotel|airbnb|holiday|hostel)\b)",
    re.IGNORECASE,
)
_MOVES_TO = re.compile(
    r"\b(?:mov(?:e|ed|ing) to|relocat\w+|flats?|rooms?|rent\w*|landlords?|job|post(?:doc)?|position|lease|sublet)\b",
    re.IGNORECASE,
)


def is_told(wanted: Wanted, hit: Hit) -> bool:
    """Whether a message tells a slot of whom it is asked; somebody whom the question names may be who speaks."""
    return hit.kind == MESSAGE and wanted.by(hit.row["speaker"] or "").told_in(hit.row["text"])


_WHETHER = re.compile(
    r"\W*(?:(?:when|how often|(?:on )?(?:what|which) (?:day|time)s?) )?(?:am|is|are|do|does|did|have|has|will)\b",
    re.IGNORECASE,
)
_LATEST = re.compile(r"\b(?:latest|newest|most recent)\b", re.IGNORECASE)
_OF_AGE_OR_LATEST = hydration.stems("old age latest newest most recent")
_OF_NOW = re.compile(
    r"(?:\b(?:is|are|am|do|does|s|re|m)\b|^\W*who \w+s\b)(?!.*\b(?:used to|before|previous\w*|first|ever)\b)",
    re.IGNORECASE,
)


def _is_changed_by(asked: Asked, hit: Hit, later: Hit, told: Sequence[Change]) -> bool:
    stems = hydration.stems(hit.text)
    words = stems & asked.stems
    of_kind = answer_kind(asked.question.text) is not None
    thing = (asked.stems | hydration.alike(asked.stems)) & (stems | hydration.alike(stems))
    if _TRAVELS.search(asked.question.text) and not _OTHER_PLACE.search(later.row["text"]):
        thing |= _TRAVEL  # "They changed the flights" names no trip: it is the one that is asked for.
    return any(
        (one.about(thing, stems | asked.stems) and later.score >= CHANGED_THING * hit.score)
        or (one.over and later.score >= DENIED * hit.score and _denies(asked, hit, later, one))
        or (not one.over and later.score >= CHANGED * hit.score and _says_the_same(asked, words, one))
        or (of_kind and later.score >= NEARLY_EQUAL * hit.score and _says_half(words, one))
        for one in told
    )


_TRAVELS = re.compile(r"\b(?:trips?|holidays?|fly|flight|leav(?:e|es|ing) for|go(?:ing)? to [A-Z]|travel\w*|cruise)\b")
_OTHER_PLACE = re.compile(rf"\b(?:to|in|for) (?!(?i:{MONTH}|{DAY})\b)[A-Z]")
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
    if _WHETHER.match(asked.question.text) and told.over & asked.stems & hydration.stems(hit.text):
        return True
    over = told.over - asked.stems
    if not over or hit.kind == FACT:
        return not over.isdisjoint(hydration.stems(hit.text))
    parts = [hydration.stems(part) for part in re.split(r"(?<=[.!?])\s+", hit.row["text"])]
    if told.of_it or not asked.stems.isdisjoint(hydration.stems(later.row["text"])):
        return any(not over.isdisjoint(part) for part in parts)
    return any(not over.isdisjoint(part) and not asked.stems.isdisjoint(part) for part in parts)


def _was_told_before(hit: Hit, later: Hit) -> bool:
    """Whether it is an earlier message of the same speaker, or a fact that the rules found in one."""
    if hit.kind == FACT:
        return _is_older_fact(hit, later)
    if hit.kind != MESSAGE or hit.date >= later.date or hit.row["speaker"] != later.row["speaker"]:
        return False
    return _tells(hit)


def _is_older_fact(hit: Hit, later: Hit) -> bool:
    """Whether it is a fact that holds and that the rules found in an earlier message."""
    if hit.kind != FACT or not hit.current or "extractor" not in hit.row["details"]["metadata"]:
        return False
    known: datetime = hit.row["details"]["known_from"]
    return max(known, hit.date) < later.date


def _tells(hit: Hit) -> bool:
    """Whether it is a message that tells something, whatever it asks besides."""
    return hit.kind == MESSAGE and bool(without_questions(hit.row["text"]))


def _of_kind(asked: Asked, hit: Hit, told: Change) -> bool:
    """Whether a change is of the kind that the question asks for."""
    question, text = asked.question.text, hit.row["text"]
    if (tells_it := told_by(question)) is not None and not tells_it(text, question):
        return False
    kind = answer_kind(question)
    return kind is None or ((kind is AnswerKind.NUMBER or not told.priced) and tells(kind, text))


# Who somebody is and where they live does not change with a date.
_OF_CHANGE = re.compile(
    r"\W*(?:when|how (?:much|many|long)|(?:what|which) (?:day|date|time)|what happened"
    r"|is|are|am|do|does|did|will|ha[sv]e?)\b",
    re.IGNORECASE,
)


def trusted_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What comes from outside below all that answers the question and does not, however well it matches (X21)."""
    own = [hit for hit in hits if not hit.origin.external]
    best = max((hit.similarity for hit in own if hit.similarity is not None), default=0.0)
    floor = max(asked.question.calibration.nothing_below, NEARLY * best)
    answers = {hit.id for hit in own if _answers(asked, hit, floor)}
    last = max((place for place, hit in enumerate(hits) if hit.id in answers), default=-1)
    above, below = hits[: last + 1], hits[last + 1 :]
    inside = [hit for hit in above if not hit.origin.external]
    return [*inside, *(hit for hit in above if hit.origin.external), *below]


def _answers(asked: Asked, hit: Hit, floor: float) -> bool:
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
