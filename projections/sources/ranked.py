"""One ranked answer from all sources, in which nothing superseded stands above what is current."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select

from mnemolog.domain import direct_question, hydration, ranking, state
from mnemolog.domain.direct_question import Direct, Thing
from mnemolog.domain.entity import ME
from mnemolog.domain.first_person import in_first_person
from mnemolog.domain.inflection import cases_of
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.mention import phrases
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.predicates import trip_of
from mnemolog.domain.ranking import DEFAULT
from mnemolog.domain.text import name_key, normalize_name, search_terms, without_questions
from mnemolog.domain.todo import asks_for_todos
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import full_text
from mnemolog.projections.asking import ask, together
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.graph import facts
from mnemolog.projections.graph import reader as entities
from mnemolog.projections.graph.hydration import former_sentence
from mnemolog.projections.graph.tables import NAME as GRAPH
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.requests import UNFILTERED
from mnemolog.projections.retrieval import CANDIDATES, Hit, by_score, told_once
from mnemolog.projections.rows import Row
from mnemolog.projections.sources.ahead import is_ahead
from mnemolog.projections.sources.graph import ENTITY, FACT
from mnemolog.projections.sources.profile import TODO
from mnemolog.projections.sources.recorded import RECORDED
from mnemolog.projections.sources.source import Asked, Found, Source
from mnemolog.projections.sources.summaries import SUMMARY
from mnemolog.projections.sources.telling import is_told
from mnemolog.projections.sources.weighing import best_first, trusted_first, weighed

FEWEST = 20
"""The hits that are compared with each other, however few are wanted: the current one may not be the best match."""

FORMER = 0.5
"""The weight of a message that says only what no longer holds, if the question is about the present."""

BESIDE = 0.7
"""The weight of what does not tell what a question asks of one person, if something does."""

ABROAD = 0.5
"""The weight of what does not name whom a question in another language names."""

OTHER_KIN = 0.5
"""The weight of a fact about a sister-in-law, if the question is about a daughter-in-law."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Hits, best first; the names in the question that are not known; what is not known of somebody whom it names."""

    hits: Sequence[Hit]
    unknown: Sequence[str] = ()
    untold: Sequence[str] = ()


async def ranked(asked: Asked, sources: Sequence[Source], limit: int) -> Ranked:
    if not sources:
        return Ranked([])
    fewest = FEWEST if asked.profile is DEFAULT and not asked.slot and not asked.ahead else CANDIDATES
    asked = replace(asked, limit=max(limit, fewest))
    answers = await _found(asked, sources)
    # As the user would ask, if the question calls them by a name that they said is theirs.
    called = {name for one in answers.values() for name in one.called}
    if called:
        text = in_first_person(asked.text, called)
        asked = replace(asked, question=replace(asked.question, text=text))
        answers = await _found(asked, sources)
    found = [answers[source] for source in sources if source in answers]
    wanted = [hit for one in found for hit in one.hits if asked.wants(hit.kind)]
    hits = best_first(asked, weighed(asked, wanted))
    if any(GRAPH in source.projections for source in answers):
        hits = await _outlived(asked, hits)
    words = _words_of(asked, hits)
    unknown, untold = _unknown(asked, found, words), tuple[str, ...]()
    if not unknown and RECORDED in sources:
        hits, untold = await hits_that_tell(asked, _of_named_abroad(asked, hits))
    named = any(one.named for one in found) or not words.isdisjoint(hydration.capitalised_words(asked.text))
    if unknown and not named and _tells_people_apart(asked, found):
        return Ranked([], unknown)
    in_order = _told_once(await settled(asked, hits))
    kept = in_order if asked.former else [hit for hit in in_order if hit.current]
    return Ranked([*map(_in_tense, kept[:limit])], unknown, untold)


def _of_named_abroad(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Of a question in another language that names somebody, what names nobody of these counts less.

    Its other words are not known, and to the bundled model most texts in another language are similar.
    """
    if hydration.is_english(asked.text):
        return hits
    rows = [hit.row["details"] for hit in hits if hit.kind == ENTITY]
    names = {name_key(name) for row in rows for name in (row["name"], *row["aliases"])}
    if not names:
        return hits
    beside = (hit for hit in hits if hit.kind not in (ENTITY, FACT) and names.isdisjoint(phrases(hit.text)))
    ids = {hit.id for hit in beside}
    return by_score(hit.lowered("beside", ABROAD) if hit.id in ids else hit for hit in hits)


def _told_once(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Without the memories that say the same as one above them."""
    shown = told_once((hit.row, hit.current) for hit in hits if "memory_id" in hit.row)
    return [hit for hit in hits if "memory_id" not in hit.row or hit.id in shown]


def _in_tense(hit: Hit) -> Hit:
    """A fact that no longer holds is told in the past."""
    if hit.kind != FACT or hit.current:
        return hit
    text = former_sentence(hit.row["details"])
    return replace(hit, text=text, row={**hit.row, "text": text})


async def _found(asked: Asked, sources: Sequence[Source]) -> Mapping[Source, Found]:
    # Memories and messages are searched while the others are: their statements share round trips.
    recorded, others = await together(
        RECORDED.find(asked) if RECORDED in sources else nothing(),
        _of_those_that_hold(asked, tuple(one for one in sources if one is not RECORDED)),
    )
    return {RECORDED: recorded, **others}


async def nothing() -> Found:
    return Found()


async def _of_those_that_hold(asked: Asked, sources: tuple[Source, ...]) -> Mapping[Source, Found]:
    """What the sources find that hold anything. They are asked for that in one statement."""
    if not sources:
        return {}
    [held] = await ask(asked.connection, asked.viewer, _held, sources)
    return {
        source: await source.find(replace(asked, held=int(holds)))
        for source, holds in zip(sources, held, strict=True)
        if holds
    }


def _held(viewer: Viewer, sources: Sequence[Source]) -> Select[Any]:
    return select(*(source.holds(viewer).label(f"s{place}") for place, source in enumerate(sources)))


def _words_of(asked: Asked, hits: Sequence[Hit]) -> frozenset[str]:
    """The words of what was found, and the user's id."""
    said = {word for hit in hits for word in normalize_name(hit.text).split()}
    plain = {hydration.without_possessive(word.strip(_PUNCTUATION)) for word in said}
    words = {"".join(filter(str.isalnum, word)) for word in said | plain}
    return frozenset({*words, normalize_name(asked.viewer.user_id)})


_PUNCTUATION = '.,;:!?()"“”'


def _unknown(asked: Asked, found: Sequence[Found], words: frozenset[str]) -> Sequence[str]:
    """The names in the question that no entity bears and nothing found mentions."""
    unborne = [one.unborne for one in found if one.unborne is not None]
    names = unborne[0] if unborne else hydration.capitalised_names(asked.text)
    begin = asked.text.split(maxsplit=1)[0]
    return [name for name in names if name != begin and not _is_said(name, words)]


def _is_said(name: str, words: frozenset[str]) -> bool:
    """Whether a name is among the words, of a Russian one also in another case."""
    own = normalize_name(name)
    cases = cases_of(own)
    return not words.isdisjoint(cases.union(own.split())) or any(
        not cases.isdisjoint(cases_of(one)) for one in words if cases
    )


async def hits_that_tell(asked: Asked, hits: Sequence[Hit]) -> tuple[Sequence[Hit], tuple[str, ...]]:
    """The hits that may answer a question about one person, and what they do not tell; all hits if they tell it.

    A fact about somebody who bears a part of the name is not about them if somebody was called by the whole of it.
    """
    if asked.ahead:
        return hits, () if _tells_ahead(asked, hits) else (asked.ahead.said,)
    question = direct_question.direct(asked.text)
    if question is None or (question.relative and not question.asks and direct_question.thing(asked.text)):
        return hits, await _untold_thing(asked, hits)
    of_user, others = await _called(asked, question.name) if question.name else (False, frozenset[str]())
    if of_user:
        return hits, ()
    names = {question.name, *others} - {""}
    if question.own:
        subjects = {hit.row["details"]["subject"] for hit in hits if hit.kind == FACT} - {None}
        names = {asked.viewer.user_id, *[one for one in subjects if (await _called(asked, one))[0]]}
    if " " in question.name and any(hit.kind != FACT and question.speaks_of(hit.text, names) for hit in hits):
        hits = [hit for hit in hits if hit.kind != FACT or not _is_namesake(hit, question.name, others)]
    if question.relative:
        ties = [hit.row["details"] for hit in hits if hit.kind == FACT]
        tied = {tie["object"] for tie in ties if tie["object"] and tie["predicate"] in question.predicates}
        if not tied and direct_question.asks_name(asked.text) and not await _is_named(asked, question, hits):
            return [hit for hit in hits if question.speaks_of(hit.text, names)], (question.said,)
        names |= tied
        called = (hit.row["text"] for hit in hits if question.speaks_of(hit.row["text"], ()))
        names |= {name for text in called for name in hydration.capitalised_words(text)}
    if _is_told(asked, hits):
        return hits, ()
    telling = {hit.id for hit in hits if question.tells(hit.text, names)}
    if not telling and not question.asks:
        telling = {hit.id for hit in hits if question.speaks_of_theirs(hit.text)}
    if telling and asked.profile is not DEFAULT:
        return hits, ()
    if telling:
        kept = [hit.lowered("other_kin", OTHER_KIN) if _is_other_in_law(question, hit) else hit for hit in hits]
        return by_score(hit if hit.id in telling else hit.lowered("beside", BESIDE) for hit in kept), ()
    if not question.asks:
        beside = [name_key(one) for one in hydration.capitalised_names(asked.text)]
        if any(one in name_key(hit.text) for one in beside for hit in hits):
            return hits, ()  # "Does Memo look like my father?" is about Memo, too.
        told = [without_questions(text).casefold() for text in await _texts_of_kin(asked, question)]
        if any(word in text for text in told for word in question.kin):
            return hits, ()
    if question.own:
        return hits, (question.said,)
    return [hit for hit in hits if question.speaks_of(hit.text, names)], (question.said,)


def _is_other_in_law(question: Direct, hit: Hit) -> bool:
    """Whether it is a fact about another in-law than the one who is asked for."""
    predicate = hit.row["details"]["predicate"] if hit.kind == FACT else ""
    return predicate.endswith("_in_law") and bool(question.predicates) and predicate not in question.predicates


async def _texts_of_kin(asked: Asked, question: Direct) -> Sequence[str]:
    """The messages that have a word for such a relative."""
    kin = await full_text.search(asked.connection, asked.among, asked.viewer, " ".join(question.kin), FEWEST)
    said = await conversation.found(asked.connection, asked.viewer, kin.scores.keys())
    return [row["text"] for row in said.values()]


async def _is_named(asked: Asked, question: Direct, hits: Sequence[Hit]) -> bool:
    """Whether anything says what a relative of the user is called."""
    others = (hit for hit in hits if hit.kind not in (MESSAGE, FACT))
    if any(question.speaks_of(hit.row["text"], ()) for hit in others):
        return True
    texts = (hit.row["text"] for hit in hits if hit.kind == MESSAGE)
    return any(map(question.names_them, texts)) or any(map(question.names_them, await _texts_of_kin(asked, question)))


def _tells_ahead(asked: Asked, hits: Sequence[Hit]) -> bool:
    """Whether a hit tells something of the sort that is to come; what is not a message may name no day."""
    others = (hit for hit in hits if hit.kind not in (MESSAGE, ENTITY) and hit.current)
    about = any(asked.ahead is not None and asked.ahead.is_sort(hit.text) for hit in others)
    return about or any(is_ahead(asked, hit) for hit in hits)


def _is_told(asked: Asked, hits: Sequence[Hit]) -> bool:
    """Whether a message tells the slot that is asked for, in whatever words."""
    return asked.slot is not None and any(is_told(asked.slot, hit) for hit in hits)


_SUM = lazy_compile(r"\d ?(?:k|thousand|grand)\b", re.IGNORECASE)
_TOLD_IN_FIGURES = ("weight", "car", "pay")
"""Slots that a message can hardly tell in other words than those that are looked for."""


async def _untold_thing(asked: Asked, hits: Sequence[Hit]) -> tuple[str, ...]:
    """What a question asks for by a noun that nothing has, if nothing is similar to the question either."""
    if asked.slot and asked.slot.slot.name in _TOLD_IN_FIGURES and not asked.past:
        own = replace(asked.slot, names=())
        facts = (hit.row["details"]["predicate"] for hit in hits if hit.kind == FACT)
        sums = asked.slot.slot.name == "pay" and any(_SUM.search(hit.text) for hit in hits)
        told = sums or any(is_told(own, hit) for hit in hits)
        known = told or not asked.slot.slot.predicates.isdisjoint(facts)
        if not known and not any(hit.kind not in (MESSAGE, FACT, ENTITY) for hit in hits):
            return (f"my {asked.slot.slot.name}",)
    thing = direct_question.thing(asked.text)
    if thing is None or asked.question.vector is None:
        return ()
    having = [hit.text for hit in hits if thing.told_in(hit.text)]
    if having and thing.named and not await _may_be_named(asked, thing, having):
        return (f"{thing.said}'s name",)
    if _is_told(asked, hits) or having:
        return ()
    if thing.kin:
        return (thing.said,)
    if any(hit.kind == TODO for hit in hits) and asks_for_todos(asked.text):
        return ()
    at = (asked.connection, asked.viewer, asked.among)
    nearest = await asked.index.search(*at, asked.question.model, asked.question.vector, 1)
    if max(nearest.values(), default=0.0) >= asked.question.calibration.question_floor:
        return ()
    return (thing.said,)


async def _may_be_named(asked: Asked, thing: Thing, having: Sequence[str]) -> bool:
    """Whether anything that has the noun may say what the thing is called."""
    found = await full_text.search(asked.connection, asked.among, asked.viewer, thing.said, FEWEST)
    said = await conversation.found(asked.connection, asked.viewer, found.scores.keys())
    texts = {*having, *(row["text"] for row in said.values())}
    return any(thing.may_name(text, asked.text) for text in texts)


async def _called(asked: Asked, name: str) -> tuple[bool, frozenset[str]]:
    """Whether a name is the user's, and all names of those who bear it: `Bobby` is Robert Kowalski."""
    own, key = asked.own_name, name_key(name)
    borne = await entities.bearers(asked.connection, asked.viewer, {own, key})
    user = {row["entity_id"] for row in borne.get(own, ())}
    bearers = borne.get(key, ())
    names = frozenset(one for row in bearers for one in (row["name"], *row["aliases"]))
    return key == own or any(row["entity_id"] in user for row in bearers), names


def _is_namesake(fact: Hit, name: str, others: Collection[str]) -> bool:
    """Whether a fact is about somebody who bears only a part of the name, and is not who bears it by other names."""
    whole, row = f" {name_key(name)} ", fact.row["details"]
    bearers = [f" {name_key(one)} " for one in (row["subject"], row["object"]) if one]
    meant = {whole, *(f" {name_key(one)} " for one in others)}
    return meant.isdisjoint(bearers) and any(one in whole for one in bearers)


def _tells_people_apart(asked: Asked, found: Sequence[Found]) -> bool:
    """Whether an unknown name is somebody else's: entities are known, and the question is not about the user."""
    return any(one.unborne is not None for one in found) and not hydration.asks_about_user(asked.text)


async def _outlived(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits with those messages marked that stated facts which no longer hold.

    Those that say nothing else, or nothing else that is asked for, come later, unless the question is about the past,
    and below what was said of it since.
    """
    said = {hit.row["message_id"]: hit.date for hit in hits if hit.kind == MESSAGE}
    if not said:
        return hits
    over = await facts.outlived(asked.connection, asked.viewer, asked.point, asked.predicates, said)
    weight, marked, about = FORMER if asked.present else 1.0, [], dict[str, Sequence[Row]]()
    asked_for = asked.stems | hydration.alike(asked.stems)
    for hit in hits:
        ended, lasting = over.get(hit.row.get("message_id", ""), ((), ()))
        one = replace(hit, row=told_former(hit.row, ended, lasting)) if ended else hit
        over_now = one.row.get("former") == ranking.FORMER
        asks_only = _tell_any(ended, asked_for) and not _tell_any(lasting, asked_for)
        later = replace(one, score=weight * hit.score)
        marked.append(replace(later, current=False) if over_now else later if asks_only else one)
        if over_now or asks_only:
            about[hit.id] = ended
        elif hit.kind == FACT and not hit.current:
            about[hit.id] = [hit.row["details"]]
    return _news_first(marked, about) if asked.present else by_score(marked)


def _tell_any(told: Sequence[Row], stems: frozenset[str]) -> bool:
    """Whether the predicate or the value of one of the facts has one of these words."""
    words = (f"{fact['predicate'].replace('_', ' ')} {facts.fact_value(fact)}" for fact in told)
    return any(not stems.isdisjoint(hydration.stems(one)) for one in words)


def _values(fact: Row) -> list[str]:
    """What a fact is about: its value, of the date of a trip where it goes, and of a dose the medication."""
    predicate = fact["predicate"]
    of = trip_of(predicate) or (predicate.removesuffix("_dose") if predicate.endswith("_dose") else "")
    return [facts.fact_value(fact), *([of.replace("_", " ")] if of else [])]


def _news_first(hits: Sequence[Hit], about: Mapping[str, Sequence[Row]]) -> Sequence[Hit]:
    """The hits in order; above each former one, what was said since of what it was `about`, best since that ended.

    Such as `The cat died` above `I have a cat`, rather than `The cat is ill`.
    """
    in_order = {hit.id: hit for hit in by_score(hits)}
    for former in [hit for hit in in_order.values() if hit.id in about]:
        ended = about[former.id]
        words = [frozenset(search_terms(value)) for fact in ended for value in _values(fact)]
        over = max((fact["valid_to"].date() for fact in ended if fact["valid_to"]), default=date.min)
        later = (hit for hit in in_order.values() if hit.kind == MESSAGE and hit.current and hit.date > former.date)
        said = ((hit, frozenset(search_terms(hit.row["text"]))) for hit in later)
        news = [hit for hit, told in said if any(one and one <= told for one in words)]
        if news:
            best = next((hit for hit in news if hit.date.date() >= over), news[0])
            in_order[best.id] = replace(best, score=max(best.score, former.score))
    return sorted(in_order.values(), key=lambda hit: (-hit.score, not hit.current, hit.id in about))


def told_former(row: Mapping[str, Any], ended: Sequence[Row], lasting: Sequence[Row]) -> Row:
    """A message with the facts in it that no longer hold named behind it, or marked as former if it says nothing else.

    `lasting`: its facts that still hold. It may also say what is not a fact.
    """
    mark, values = ranking.FORMER, [facts.fact_value(one) for one in ended]
    whole = bool(ended) and not lasting and state.says_only(row["text"], values)
    former = mark if whole else f"{mark}: {', '.join(map(former_sentence, ended))}" if ended else row.get("former")
    return {**row, "former": former or ""}


async def settled(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits with what superseded them, each former one below the current one."""
    by = await _superseded(asked, hits)
    marked = [replace(hit, current=False, superseded_by=by[hit.id]) if hit.id in by else hit for hit in hits]
    there = {hit.id: hit for hit in marked}
    missing = {UUID(id_) for hit in marked if (id_ := hit.superseded_by) and id_ not in there}
    if missing and asked.among.filters == UNFILTERED:
        rows = await memories.by_ids(asked.connection, asked.viewer, missing)
        there |= {str(id_): hit_of_memory(row) for id_, row in rows.items()}
    placed: dict[str, Hit] = {}
    for hit in marked:
        # A hit, what superseded it, what superseded that, and so on.
        line = [hit]
        while (later := line[-1].superseded_by) and later in there and there[later] not in line:
            line.append(there[later])
        for one in reversed(line):
            placed.setdefault(one.id, replace(one, score=max(one.score, hit.score)))
    return trusted_first(asked, list(placed.values()))


def hit_of_memory(row: Mapping[str, Any]) -> Hit:
    """A memory that was not found by its own text."""
    newer = row["contradicted_by"]
    hit = Hit(str(row["memory_id"]), row["kind"], row["category"], row["text"], 0.0, None, None, row)
    return replace(hit, current=newer is None, superseded_by=str(newer) if newer else None)


async def _superseded(asked: Asked, hits: Sequence[Hit]) -> Mapping[str, str]:
    """What superseded each hit: a contradiction, a later statement about the same state, or a fact about it."""
    by = {hit.id: str(newer) for hit in hits if (newer := hit.row.get("contradicted_by"))}
    hits = [hit for hit in hits if not hit.origin.external]  # What comes from outside supersedes nothing.
    if not (states := state.asked_states(asked.text)):
        return by
    said = [
        one
        for hit in hits
        if hit.kind not in (FACT, SUMMARY)
        and (one := state.statement(hit.id, hit.row.get("speaker") or "", hit.row["text"], hit.date, states))
    ]
    by = {**state.superseded(said, states), **by}
    now = {(one.subject, one.state): one for one in said if one.id not in by}
    for hit in hits:
        if hit.kind == SUMMARY and (current := state.outdated(hit.row["text"], hit.date, now, states)):
            by[hit.id] = current.id
    held = [
        hit
        for hit in hits
        if hit.kind == FACT and hit.current and asked.predicates.rule(hit.row["details"]["predicate"]).single
    ]
    me = asked.own_name
    own = await entities.bearers(asked.connection, asked.viewer, {me}) if held and said else {}
    user = {row["entity_id"] for rows in own.values() for row in rows}
    for fact in held:
        row = fact.row["details"]
        of = state.state_of(row["predicate"])
        if row["predicate"] == "partner_of" and state.asks_of_marriage(states):
            continue
        if of in states:
            value, subjects = str(row["object"] or row["value"]), {normalize_name(row["subject"])} - {""}
            if row["subject_id"] in user:
                subjects.add(ME)
            late = [one for one in said if state.former_of(one, subjects, of, value, fact.date)]
            by |= {one.id: fact.id for one in late}
            if "extractor" in row["metadata"] and not row["valid_to"]:  # A message that no job has read may be newer.
                told = max(row["known_from"], fact.date)
                news = [one for one in said if state.news_after(one, subjects, of, value, told)]
                by |= {fact.id: max(news, key=lambda one: one.at).id} if news else {}
    return by
