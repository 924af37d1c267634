"""Puts what tells a slot that a question asks for above what does not, the latest first."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from mnemolog.domain import hydration
from mnemolog.domain.ahead import lasts_until
from mnemolog.domain.change import changes
from mnemolog.domain.extraction.clauses import sentences_of
from mnemolog.domain.extraction.vocabulary import RELATIONS
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.slots import DEATH, Wanted
from mnemolog.domain.text import name_key, without_questions
from mnemolog.domain.turn import Role
from mnemolog.projections.graph.facts import fact_value
from mnemolog.projections.retrieval import Hit, by_score
from mnemolog.projections.sources.graph import FACT
from mnemolog.projections.sources.messages import is_older_fact, no_answer, tells_something, was_told_before
from mnemolog.projections.sources.source import Asked


def told_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """What tells a slot that is asked for above what does not, the latest of it first.

    `89 kg this morning` above `I weigh 96 kilos`, and above a fact that the rules found in what was said before. Asked
    since when, the first that has most words of the question. Earlier figures are marked.
    """
    wanted = _by_name(asked, asked.slot, hits) if asked.slot else None
    if wanted is None or asked.ahead or not (told := _telling(asked, wanted, hits)):
        return hits
    slot, since = wanted.slot, _SINCE.search(asked.text) is not None
    began = _BEGAN.search(asked.text) is not None
    lately = not (since or began or asked.past)
    if lately and (newer := _newer_facts(asked, wanted, told, hits)):
        best = hits[0].score
        ids = {hit.id for hit in newer}
        return [*(replace(hit, score=best) for hit in newer), *(hit for hit in hits if hit.id not in ids)]
    ids = {hit.id for hit in told}
    if lately and (death := _death_since(wanted, told, hits)):
        return [replace(death, score=hits[0].score), *(hit for hit in hits if hit.id != death.id)]
    if since:
        shared = {hit.id: len(hydration.stems(hit.text) & asked.stems) for hit in told}
        first = min(told, key=lambda hit: (-shared[hit.id], hit.date))
    elif began:
        first = min(told, key=lambda hit: hit.date)
    elif lately and _WAS.search(asked.text):
        first = max(told, key=lambda hit: (hit.score, hit.date))  # "What did the agency pay me?" names no time.
        if first.score < AS_GOOD * hits[0].score:
            return hits
    else:
        first = max(told, key=lambda hit: hit.date)
        if slot.name == "employer" and not asked.past:
            first = _job_beside(first, told)
    marks = wanted.figure and lately and not _WAS.search(asked.text)
    best, found = first.score, list[Hit]()
    for hit in hits:
        one = hit if hit.kind != MESSAGE or hit.id in ids or wanted.of_other else no_answer(hit)
        older_fact = is_older_fact(hit, first) and hit.row["details"]["predicate"] in wanted.predicates
        if hit.kind == MESSAGE or older_fact:
            best = max(best, one.score)
        if marks and (older_fact or (hit.id in ids and hit.date < first.date)):
            one = replace(one, current=False, superseded_by=first.id)
        found.append(one)
    found = [replace(first, score=best), *(hit for hit in found if hit.id != first.id)]
    return _notice_second(first, by_score(found)) if slot.name == "employer" and not asked.past else by_score(found)


def _by_name(asked: Asked, wanted: Wanted, hits: Sequence[Hit]) -> Wanted:
    """With the name of a relative, where a fact tells it: `my brother` is Tom."""
    predicates = {RELATIONS.get(one, one) for one in wanted.relative}
    facts = (hit.row["details"] for hit in hits if hit.kind == FACT and hit.current)
    ties = (one for one in facts if one["predicate"] in predicates and name_key(one["subject"] or "") == asked.own_name)
    names = set(map(fact_value, ties))
    return replace(wanted, relative=wanted.relative | names) if len(names) == 1 else wanted


def _death_since(wanted: Wanted, told: Sequence[Hit], hits: Sequence[Hit]) -> Hit | None:
    """The message that somebody died of whom is asked where they live or work, if nothing was told of that since."""
    if not wanted.of_other or wanted.slot.name not in ("home", "employer", "occupation"):
        return None
    death = replace(wanted, slot=DEATH)
    latest = max(hit.date for hit in told)
    since = (hit for hit in hits if tells_something(hit) and hit.row["role"] == Role.USER and hit.date > latest)
    return max((hit for hit in since if is_told(death, hit)), key=lambda hit: hit.date, default=None)


def _notice_second(job: Hit, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The notice that the user gave since they told of the job, behind the job: nobody knows yet when it ends."""
    since = [hit for hit in hits if tells_something(hit) and hit.row["role"] == Role.USER and hit.date > job.date]
    given = [hit for hit in since if _NOTICE.search(without_questions(hit.row["text"]))]
    if not given or hits[0].id != job.id:
        return hits
    notice = max(given, key=lambda hit: hit.date)
    others = [hit for hit in hits if hit.id not in (job.id, notice.id)]
    return [hits[0], replace(notice, score=hits[0].score), *others]


_NOTICE = lazy_compile(
    r"(?:^|[,.!;] |\b(?:and|so|but) )(?:(?:i|we)(?:'ve| have)?(?: just| finally)? )?"
    r"(?:(?:handed|put|gave) (?:in )?(?:my|our) notice|gave notice|(?:handed in my resignation|resigned))\b",
    re.IGNORECASE,
)


def _job_beside(latest: Hit, told: Sequence[Hit]) -> Hit:
    """The new job that was told shortly before the last day at the former one, if that was told last."""
    if _LAST_DAY.search(latest.row["text"]) is None:
        return latest
    stems = hydration.stems(latest.row["text"]) - _OF_WORK
    other = [hit for hit in told if stems.isdisjoint(hydration.stems(hit.row["text"]) - _OF_WORK)]
    recent = [hit for hit in other if latest.date - hit.date <= _HANDOVER]
    return max(recent, key=lambda hit: hit.date, default=latest)


_LAST_DAY = lazy_compile(r"\b(?:last|final) (?:day|shift|week)\b", re.IGNORECASE)
_OF_WORK = hydration.stems("job work working start started day shift week month year contract company")
_HANDOVER = timedelta(days=92)
"""For how long before somebody leaves a job they may have told of the next one."""
_WAS = lazy_compile(r"\b(?:did|was|were)\b", re.IGNORECASE)
_SINCE = lazy_compile(r"\b(?:since when|how long|when did)\b", re.IGNORECASE)
_BEGAN = lazy_compile(
    r"\b(?:(?:start(?:ed)?|beg[ai]n) (?:out )?(?:on|with|at)|at first|originally|initially|to begin with)\W*$",
    re.IGNORECASE,
)


def _newer_facts(asked: Asked, wanted: Wanted, told: Sequence[Hit], hits: Sequence[Hit]) -> Sequence[Hit]:
    """The facts about the user that fill a slot since a day on which no message had told it yet.

    Before them those that the question names: an address comes before the town, if that is what is asked for.
    """
    latest = max(hit.date for hit in told)
    if wanted.of_other or wanted.drug or wanted.animal:
        return ()
    own = (hit for hit in hits if hit.kind == FACT and name_key(hit.row["details"]["subject"] or "") == asked.own_name)
    newer = [hit for hit in own if hit.current and hit.date > latest]
    named = [hit for hit in newer if hydration.stems(hit.row["details"]["predicate"]) <= asked.stems]
    return [
        *named,
        *(hit for hit in newer if hit.row["details"]["predicate"] in wanted.predicates and hit not in named),
    ]


AS_GOOD = 0.8
"""The part of the best score that a message needs to come first, if a question asks what was, without a time."""

LIKELY = 0.6
"""The part of the best similarity to the question that a message needs to tell a slot."""
_PLAIN = ("home", "employer", "car")
"""Slots that are told in words in which hardly anything else is, as figures are."""


def _telling(asked: Asked, wanted: Wanted, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The messages of users that likely tell a slot, until the end of the period that is asked for."""
    spans = asked.past.spans if asked.past else ()
    if asked.past and not spans:
        return []
    said = [hit for hit in hits if tells_something(hit) and hit.row["role"] == Role.USER and is_told(wanted, hit)]
    if wanted.slot.name == "home" and not wanted.of_other:
        here = (hit for hit in said if not (_fell_through(hit, hits) or _is_yet_to_move(asked, hit)))
        said = [*here, *_arrivals(hits)]
    if not wanted.figure and wanted.slot.name not in _PLAIN:
        best = max((hit.similarity or 0.0 for hit in said), default=0.0)
        said = [hit for hit in said if (hit.similarity or 0.0) >= LIKELY * best]
    then = [hit for hit in said if not spans or hit.date < max(span.end for span in spans)]
    # Of two who share a name, the one who is what the question says.
    of_kin = [hit for hit in then if wanted.kin and re.search(rf"\b{wanted.kin}\b", hit.row["text"], re.IGNORECASE)]
    return of_kin or then


def _is_yet_to_move(asked: Asked, hit: Hit) -> bool:
    """Whether a message tells of a move on a day to come: until then, that is not where somebody lives."""
    sentences = [one for one in sentences_of(hit.row["text"]) if _MOVES.search(one)]
    until = (lasts_until(one, hit.date) for one in sentences)
    return asked.present and any(one is not None and one > asked.now for one in until)


_MOVES = lazy_compile(r"\b(?:move|moving|relocating)\b", re.IGNORECASE)


def _fell_through(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Whether a later message says of something that this one names that it came to nothing."""
    stems = hydration.stems(hit.row["text"])
    later = (one for one in hits if tells_something(one) and was_told_before(hit, one))
    told = (change for one in later for change in changes(one.row["text"]))
    return any(change.off and any(thing.noun in stems for thing in change.things) for change in told)


def _arrivals(hits: Sequence[Hit]) -> Sequence[Hit]:
    """The messages that somebody arrived where they had looked for a home or a job: a traveller arrives, too."""
    found = []
    for hit in hits:
        if (
            not tells_something(hit)
            or hit.row["role"] != Role.USER
            or (here := _ARRIVED.search(hit.row["text"])) is None
        ):
            continue
        before = [one.row["text"] for one in hits if one.kind == MESSAGE and was_told_before(one, hit)]
        if any(here["place"].lower() in one.lower() and _MOVES_TO.search(one) for one in before):
            found.append(hit)
    return found


_ARRIVED = lazy_compile(
    r"^\W*(?:(?:i|we)(?:'ve| have)?(?: just| finally)? |just |finally )?"
    r"(?:arrived in|made it to|landed in) (?P<place>[\w'-]+)"
    r"(?!.*\b(?:hotel|airbnb|holiday|hostel)\b)",
    re.IGNORECASE,
)
_MOVES_TO = lazy_compile(
    r"\b(?:mov(?:e|ed|ing) to|relocat\w+|flats?|rooms?|rent\w*|landlords?|job|post(?:doc)?|position|lease|sublet)\b",
    re.IGNORECASE,
)


def is_told(wanted: Wanted, hit: Hit) -> bool:
    """Whether a message tells a slot of whom it is asked; somebody whom the question names may be who speaks."""
    return hit.kind == MESSAGE and wanted.by(hit.row["speaker"] or "").told_in(hit.row["text"])
