"""Record what a message states about its author and others: facts, ends, and corrections, in one append (B13, E06).

A death ends the facts about who died, except kinship and what is of no time.

What somebody recorded outranks what was extracted: only a later sentence that tells of a change supersedes or ends it,
and no rule ends an allergy or another critical fact that somebody recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any, ClassVar
from uuid import UUID

from mnemolog.commands.decider import Decider
from mnemolog.commands.fact_changes import EndFact, RetireFact
from mnemolog.commands.fact_changes import decide as change_fact
from mnemolog.commands.facts import FACTS, Remember, object_of, subject_of
from mnemolog.commands.graph import (
    Graph,
    GraphCommand,
    SlotKey,
    applied,
    cluster_reads,
    entity_reads,
    evolve,
    slot_reads,
)
from mnemolog.commands.sourced import EXTRACTOR
from mnemolog.domain.entity import PERSON, Entity
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.extraction.candidate import MOST_WRITES, Action, Candidate
from mnemolog.domain.extraction.short_names import is_short_for
from mnemolog.domain.extraction.vocabulary import (
    ALSO_CALLED,
    FOLLOWED,
    FOLLOWED_BY_OTHER,
    ONE_OF,
    OUTLIVING,
    PETS,
    SUCCEEDED,
    TIED_TO,
    TURNED,
)
from mnemolog.domain.memory import Status
from mnemolog.domain.message import Message
from mnemolog.domain.predicates import BUILT_IN, NEXT_TRIP, TRIP_TO, Predicate, trip_date_of, trip_of
from mnemolog.domain.relation import Relation
from mnemolog.domain.sentence import value_text
from mnemolog.domain.text import name_key
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event, sources_of
from mnemolog.events.graph import RelationAsserted, RelationObserved, RelationRestored
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile import ProfileProposed

ACTOR, MODEL_ACTOR = EXTRACTOR, "model-extractor"
EXTRACTORS = frozenset({ACTOR, MODEL_ACTOR})
DIED, WORKS_AT = "died", "works_at"
LIVING = ("Person", "Animal")
ABOUT = timedelta(days=7)
"""How far a day that is told in words such as "last weekend" may be from the one that is meant."""
# What somebody recorded of who died ends only with these predicates: a critical fact never does.
_ENDING = frozenset([one.name for one in BUILT_IN if not one.critical] + f"{ONE_OF}|{PETS}".split("|")) - OUTLIVING


class ExtractTurn(GraphCommand):
    """Records the candidates of one message. `facts` are their commands, in the same order; `said_at` its date."""

    generated: ClassVar[frozenset[str]] = frozenset({"at", "facts"})

    turn_id: str
    candidates: tuple[Candidate, ...]
    facts: tuple[Remember, ...]
    said_at: datetime
    most: int = MOST_WRITES
    at: datetime


@dataclass(frozen=True, slots=True)
class Extraction:
    """`recorded`: when somebody other than an extractor last told each fact. `extracted`: the messages from which the
    rules extracted something, whether or not that was undone. `told`: when the message that a fact was first extracted
    from was said; messages may be read out of their order. `undated`: the facts of which only that is known.
    """

    graph: Graph = field(default_factory=Graph)
    messages: Mapping[str, Message] = field(default_factory=dict)
    recorded: Mapping[UUID, datetime] = field(default_factory=dict)
    told: Mapping[UUID, datetime] = field(default_factory=dict)
    undated: frozenset[UUID] = frozenset()
    extracted: frozenset[str] = frozenset()


def evolve_extraction(state: Extraction, event: Happened) -> Extraction:
    payload = event.payload
    if isinstance(payload, UserErased):
        return Extraction()
    messages = {**state.messages, **MESSAGE.evolve(state.messages, payload)}
    state = replace(state, graph=evolve(state.graph, event), messages=messages)
    if isinstance(payload, RelationAsserted):
        told = payload.told_at or event.occurred_at
        known = {payload.relation_id}
        undated = state.undated | known if payload.valid_from == told else state.undated - known
        first = min(told, state.told.get(payload.relation_id, told))
        state = replace(state, undated=undated, told={**state.told, payload.relation_id: first})
    if event.meta.actor in EXTRACTORS and not isinstance(payload, ProfileProposed):
        by_rules = event.meta.actor == ACTOR
        return replace(state, extracted=state.extracted.union(sources_of(payload) or ())) if by_rules else state
    if isinstance(payload, RelationAsserted | RelationObserved):
        if state.graph.relations[payload.relation_id].origin.external:
            return state  # What came from outside outranks nothing that the user says.
        told = payload.told_at or event.occurred_at
        return replace(state, recorded={**state.recorded, payload.relation_id: told})
    if isinstance(payload, RelationRestored):
        return replace(state, recorded={**state.recorded, payload.relation_id: event.occurred_at})
    return state


def _decide(state: Extraction, command: ExtractTurn) -> Sequence[Event]:
    """Each candidate is decided on the result of the previous ones. One that cannot be told apart is left out."""
    message = state.messages.get(command.turn_id)
    if message is None or not message.visible or command.turn_id in state.extracted:
        return []
    events: list[Event] = []
    writes, before = 0, state
    for candidate, fact in zip(command.candidates, command.facts, strict=True):
        if writes == command.most:
            break
        try:
            news = [] if _is_read(before, command, fact) else decide_one(state, command, candidate, fact)
        except MnemologError:
            continue
        if news:
            writes += 1
            events += news
            state = after(state, news)
    return events


def _is_read(state: Extraction, command: ExtractTurn, fact: Remember) -> bool:
    """Whether a model has extracted a fact with this subject and predicate from the message: it read more of it."""
    return any(
        command.turn_id in one.sources and one.relation_id not in state.recorded for one in slot_of(state, fact)[0]
    )


def decide_one(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    """The events of one candidate; none if it is known, outranked or about nobody."""
    about = _resolved(state, candidate, fact)
    if about is None or (candidate.replaces and not _replaces(state, command, candidate, about)):
        return []
    if candidate.planned and candidate.trip and not _is_planned(state, command, about, candidate.trip):
        return []
    decided = _ended if candidate.action is Action.END else _stated
    news = [*decided(state, command, candidate, about)]
    if about.predicate == NEXT_TRIP and candidate.action is Action.END and (candidate.object or not news):
        news += _called_off(after(state, news), command, candidate, about)
    if news and about.predicate == DIED:
        news += _outlived(after(state, news), command, candidate, about)
    if news and about.predicate in TIED_TO and candidate.action is not Action.CORRECT:
        news += _left_behind(state, after(state, news), command, candidate, about)
    if news and about.predicate in SUCCEEDED and candidate.action is not Action.END:
        news += _succeeded(after(state, news), command, candidate, about)
    if news and about.predicate in ALSO_CALLED and candidate.action is Action.STATE:
        news += _replaced(after(state, news), command, candidate, about)
    if news and about.predicate in TURNED and candidate.action is not Action.END:
        news += _turned(after(state, news), command, candidate, about)
    if news and {about.predicate} & {*FOLLOWED, *FOLLOWED_BY_OTHER} and candidate.action is not Action.END:
        news += _followed(after(state, news), command, candidate, about)
    return news


def contested(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Relation | None:
    """What somebody recorded that a candidate contradicts, if it has one value at a time and none is said to change."""
    about = _resolved(state, candidate, fact)
    if about is None or candidate.action is Action.END or not about.rule.single:
        return None
    slot, same = slot_of(state, about)
    others = [one for one in slot if one not in same and _holds(one, command.said_at)]
    return next((one for one in others if not _outranked(state, command, candidate, one)), None)


def _resolved(state: Extraction, candidate: Candidate, fact: Remember) -> Remember | None:
    """The fact with its subject: the only one who has the relation to the author, or who has the name and is known.

    None if that is nobody, or several.
    """
    if candidate.via:
        held = [one for one in slot_of(state, _relation(candidate, fact))[0] if _holds(one, fact.said.since)]
        ends = {state.graph.root(one.object_id) for one in held if one.object_id}
        return fact.model_copy(update={"subject": str(ends.pop())}) if len(ends) == 1 else None
    if not candidate.known:
        return fact
    subject = subject_of(state.graph, fact)
    return fact if subject and subject.traits.category in LIVING else None


def _relation(candidate: Candidate, fact: Remember) -> Remember:
    """In place of a fact about `my brother`: who that is."""
    rule = Predicate(candidate.via, subject=PERSON)
    return fact.model_copy(update={"predicate": candidate.via, "object": "*", "literal": True, "rule": rule})


def _outlived(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    """The ends of what held of somebody who died."""
    gone = subject_of(state.graph, fact)
    assert gone
    over: list[Relation] = []
    for one in state.graph.relations.values():
        about = {state.graph.root(id_) for id_ in (one.subject_id, one.object_id) if id_}
        if gone.entity_id not in about or one.status is not Status.ACTIVE or one.predicate in OUTLIVING:
            continue
        if one.relation_id not in state.recorded or one.predicate in _ENDING:
            over.append(one)
    return _all_ended(state, command, candidate, over)


def _left_behind(
    before: Extraction, state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember
) -> Sequence[Event]:
    """The ends of what was tied to a job or a home that is over, such as who the manager was."""
    slot, same = slot_of(before, fact)
    over = slot if candidate.action is Action.END else [one for one in slot if one not in same]
    subject = subject_of(state.graph, fact)
    since, until = datetime.min.replace(tzinfo=UTC), command.said_at
    if any(_holds(one, command.said_at) and not _told_later(before, command, one) for one in over):
        until = (candidate.until if candidate.action is Action.END else candidate.since) or until
    elif period := _is_over(state, command, fact):
        since, until = period
    else:
        return []
    if subject is None:
        return []
    ends: list[Event] = []
    trips = [one for one in over if fact.predicate == NEXT_TRIP and _holds(one, command.said_at)]
    former = [trip_date_of(value_of(before, one)) for one in trips]
    for predicate in (*TIED_TO[fact.predicate], *former):
        for one in _slot(state, fact, subject, predicate):
            if not _holds(one, command.said_at):
                continue  # It may have been retired, and so have no period.
            if fact.until and predicate in former and str(one.value) >= fact.until.date().isoformat():
                continue  # It comes after the next trip.
            began = one.validity.periods[-1].valid_from
            if since <= began < until and one.relation_id not in state.recorded:
                ends += _end(after(state, ends), command, candidate, one, until)
    return ends


def _called_off(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    """The ends of a trip that is not the next one, and of the date of a trip; without a place, of the only one."""
    subject = subject_of(state.graph, fact)
    if subject is None:
        return []
    if candidate.object:
        planned = slot_of(state, fact.model_copy(update={"predicate": TRIP_TO}))[1]
        dates = _slot(state, fact, subject, trip_date_of(candidate.object))
        return _all_ended(state, command, candidate, [*planned, *dates])
    names = {
        one.predicate for one in state.graph.relations.values() if one.predicate == TRIP_TO or trip_of(one.predicate)
    }
    trips = [one for name in sorted(names) for one in _slot(state, fact, subject, name) if _holds(one, command.said_at)]
    places = {trip_of(one.predicate) or name_key(value_of(state, one)) for one in trips}
    return _all_ended(state, command, candidate, trips) if len(places) == 1 else []


def _is_planned(state: Extraction, command: ExtractTurn, fact: Remember, place: str) -> bool:
    """Whether a trip to a place is planned, or a date for one."""
    trips = [
        fact.model_copy(update={"predicate": one, "object": place, "literal": None}) for one in (NEXT_TRIP, TRIP_TO)
    ]
    known = [*slot_of(state, fact)[0], *(one for each in trips for one in slot_of(state, each)[1])]
    return any(_holds(one, command.said_at) for one in known)


def _is_over(state: Extraction, command: ExtractTurn, fact: Remember) -> tuple[datetime, datetime] | None:
    """From when until when a fact held that a later message, which was read first, says to be over."""
    _, same = slot_of(state, fact)
    held = [period for one in same for period in one.validity.periods if period.holds_at(command.said_at)]
    return next(((one.valid_from, one.valid_to) for one in held if one.valid_to and fact.until is None), None)


def _succeeded(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    """The ends of what comes before a fact about the same object, such as an engagement before a marriage."""
    before: list[Relation] = []
    for predicate, thing in SUCCEEDED[fact.predicate].items():
        former = {"predicate": predicate, "object": thing.format(fact.object), "literal": thing != "{}" or fact.literal}
        before += slot_of(state, fact.model_copy(update=former))[1]
    return _all_ended(state, command, candidate, before)


def _replaced(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    """The ends of who else had the same role by another word, if somebody is said to be new in it."""
    subject = subject_of(state.graph, fact)
    if subject is None or not (candidate.changes or candidate.since):
        return []
    before = [one for predicate in ALSO_CALLED[fact.predicate] for one in _slot(state, fact, subject, predicate)]
    return _all_ended(state, command, candidate, before)


def _turned(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    """The ends of what a fact's object was to its subject, such as a neighbour who has moved in."""
    before = [one for name in TURNED[fact.predicate] for one in slot_of(state, _other_way(fact, name))[1]]
    return _all_ended(state, command, candidate, before)


def _all_ended(
    state: Extraction, command: ExtractTurn, candidate: Candidate, before: Sequence[Relation]
) -> Sequence[Event]:
    """The ends of those of these facts that hold and that the message may end, when the candidate begins."""
    ends: list[Event] = []
    for one in before:
        if _holds(one, command.said_at) and _outranked(state, command, candidate, one):
            ends += _end(after(state, ends), command, candidate, one, candidate.since or command.said_at)
    return ends


def _other_way(fact: Remember, predicate: str) -> Remember:
    """A fact about its object, of which its subject is the object."""
    turned = {"subject": str(fact.object), "object": fact.subject, "literal": False}
    return fact.model_copy(update={**turned, "predicate": predicate, "rule": Predicate(predicate, subject=PERSON)})


def _followed(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    """The end of what had become something else when it was recorded: messages may be read out of their order."""
    _, same = slot_of(state, fact)
    _, later = slot_of(state, _following(fact))
    begun = [period.valid_from for one in later for period in one.validity.periods]
    began = min((each for each in begun if each > fact.said.since), default=None)
    if began is None:
        return []
    return [event for one in same if _holds(one, began) for event in _end(state, command, candidate, one, began)]


def _following(fact: Remember) -> Remember:
    if fact.predicate in FOLLOWED:
        return fact.model_copy(update={"predicate": FOLLOWED[fact.predicate]})
    return _other_way(fact, FOLLOWED_BY_OTHER[fact.predicate])


def _end(
    state: Extraction, command: ExtractTurn, candidate: Candidate, one: Relation, until: datetime
) -> Sequence[Event]:
    """The end of a fact; of which was only heard after it had ended, when the end was heard of."""
    until = until if any(period.valid_from < until for period in one.validity.periods) else command.said_at
    end = EndFact(**_stated_by(command, candidate), relation_id=one.relation_id, until=until, at=command.at)
    return change_fact(state.graph, end)


def _stated(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    slot, same = slot_of(state, fact)
    merely = candidate.action is Action.STATE and not candidate.changes and fact.predicate == WORKS_AT
    if not same and merely and (one := _in_short(state, command, fact, str(fact.object))):
        return _stated(state, command, candidate, fact.model_copy(update={"object": str(one.object_id)}))
    before = [one for one in slot if _holds(one, command.said_at)]
    if any(one in same and one.relation_id in state.recorded for one in before):
        return []
    if not fact.rule.single:
        return FACTS.decide(state.graph, fact)
    planned = [one for one in same if fact.since and _planned_for_another_day(state, one, fact.since)]
    if planned:
        retired = _retired(state, command, candidate, planned[0])
        return [*retired, *FACTS.decide(after(state, retired).graph, fact)]
    others = [one for one in before if one not in same]
    if any(not _outranked(state, command, candidate, one) for one in others):
        return []
    if fact.rule.timeless:
        precise = any(str(one.value).startswith(f"{fact.object} ") for one in others)
        return [] if precise else FACTS.decide(state.graph, fact)
    retired = []
    for one in others:
        if command.actor == MODEL_ACTOR and _told_later(state, command, one):
            continue  # The rules read in the order in which messages came, whatever their dates.
        began = one.validity.periods[-1].valid_from
        if candidate.action is Action.CORRECT and one.relation_id not in state.recorded:
            retired += _retired(state, command, candidate, one)
            fact = fact.model_copy(update={"since": fact.since or began})
        elif fact.since is None or fact.since > began or fact.until is not None:
            continue
        elif one.relation_id in state.undated and one.relation_id not in state.recorded:
            # The date that was said is known better than its beginning.
            retired += _retired(state, command, candidate, one)
        else:
            fact = fact.model_copy(update={"since": None})  # Later than what it supersedes: since when is not known.
    return [*retired, *FACTS.decide(after(state, retired).graph, fact)]


def _stated_by(command: ExtractTurn, candidate: Candidate) -> dict[str, Any]:
    who = command.model_dump(include={"tenant", "user_id", "agent_id", "thread_id", "actor"})
    return {**who, "stated_in": (command.turn_id,), "rule": candidate.rule}


def _retired(state: Extraction, command: ExtractTurn, candidate: Candidate, one: Relation) -> Sequence[Event]:
    return change_fact(state.graph, RetireFact(**_stated_by(command, candidate), relation_id=one.relation_id))


def _ended(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> Sequence[Event]:
    slot, same = slot_of(state, fact)
    named = slot if candidate.object is None else same
    ended = [one for one in named if _holds(one, command.said_at) and not _told_later(state, command, one)]
    if not same and candidate.in_short and (one := _in_short(state, command, fact, str(candidate.object))):
        ended = [one]
    called_off = [one for one in same if candidate.object is not None and _to_come(state, one, command.said_at)]
    retired = [event for one in called_off for event in _retired(state, command, candidate, one)]
    return retired + [
        event
        for one in ended
        if _outranked(state, command, candidate, one) and not (fact.rule.critical and one.relation_id in state.recorded)
        for event in _end(state, command, candidate, one, candidate.until or command.said_at)
    ]


def _to_come(state: Extraction, one: Relation, at: datetime) -> bool:
    """Whether a fact was known by then and had not begun, such as the home after a move that is planned."""
    extracted = one.relation_id not in state.recorded and state.told.get(one.relation_id, at) <= at
    return extracted and all(period.valid_from > at for period in one.validity.said)


def _planned_for_another_day(state: Extraction, one: Relation, since: datetime) -> bool:
    """Whether a fact was told before its day, and this is quite another one: "last week" may mean the same day."""
    told, days = state.told.get(one.relation_id), [period.valid_from for period in one.validity.said]
    if one.relation_id in state.recorded or told is None or not days or told >= min(days):
        return False
    return all(abs(since - day) > ABOUT for day in days)


def _in_short(state: Extraction, command: ExtractTurn, fact: Remember, name: str) -> Relation | None:
    """The only present value that this name is short for."""
    slot, _ = slot_of(state, fact)
    found = [one for one in slot if _holds(one, command.said_at) and is_short_for(name, value_of(state, one))]
    return found[0] if len(found) == 1 else None


def _replaces(state: Extraction, command: ExtractTurn, candidate: Candidate, fact: Remember) -> bool:
    """Whether the value that a candidate replaces holds."""
    former = fact.model_copy(update={"object": candidate.replaces})
    _, same = slot_of(state, former)
    held = any(_holds(one, command.said_at) for one in same)
    return held or _in_short(state, command, former, candidate.replaces) is not None


def value_of(state: Extraction, one: Relation) -> str:
    """The name of a fact's object, or its value."""
    entity = state.graph.entities.get(state.graph.root(one.object_id)) if one.object_id else None
    return entity.traits.name if entity else value_text(one.value)


def _outranked(state: Extraction, command: ExtractTurn, candidate: Candidate, one: Relation) -> bool:
    """Whether a message may supersede or end a fact: one that was extracted, or that was recorded before a change or a
    correction.
    """
    recorded = state.recorded.get(one.relation_id)
    tells = candidate.changes or candidate.action is Action.CORRECT
    return recorded is None or (tells and recorded < command.said_at)


def _told_later(state: Extraction, command: ExtractTurn, one: Relation) -> bool:
    """Whether a fact is what a later message says, which was read first: that wins."""
    if one.relation_id in state.recorded:
        return False
    again = any(period.valid_from > command.said_at for period in one.validity.said)
    return again or state.told.get(one.relation_id, command.said_at) > command.said_at


def slot_of(state: Extraction, fact: Remember) -> tuple[Sequence[Relation], Sequence[Relation]]:
    """The facts with the subject and the predicate, and those of them that have this object."""
    subject = subject_of(state.graph, fact)
    if subject is None:
        return (), ()
    slot = _slot(state, fact, subject, fact.predicate)
    found = object_of(state.graph, fact, subject.entity_id)
    return slot, [one for one in slot if found.is_of(state.graph, one, fact.object)]


def _slot(state: Extraction, fact: Remember, subject: Entity, predicate: str) -> Sequence[Relation]:
    """The facts with a predicate about the subject of a fact, in its scope."""
    place: SlotKey = (fact.scope, fact.owner, subject.entity_id, predicate)
    return [one for one in state.graph.slot(place) if one.status is Status.ACTIVE]


def _holds(one: Relation, at: datetime) -> bool:
    return any(period.lasts_beyond(at) for period in one.validity.periods)


def after(state: Extraction, news: Sequence[Event]) -> Extraction:
    return replace(state, graph=reduce(applied, news, state.graph))


def tags_of(state: Extraction, candidate: Candidate, fact: Remember) -> frozenset[str]:
    """The tags that the decision on a candidate depends on."""
    tags = FACTS.tags(state.graph, _relation(candidate, fact)) if candidate.via else frozenset[str]()
    about, gone, around = fact, None, frozenset[str]()
    try:
        about = _resolved(state, candidate, fact) or fact
        gone = subject_of(state.graph, about) if fact.predicate == DIED else None
        around = _reads_around(state, candidate, about)
    except MnemologError:
        pass  # What is lacking is read next; else the decision leaves it out.
    tags |= FACTS.tags(state.graph, about)
    if gone:
        tags |= cluster_reads(state.graph, state.graph.members(gone.entity_id))
    return tags | around


def _reads_around(state: Extraction, candidate: Candidate, fact: Remember) -> frozenset[str]:
    """The tags of what is called in short, and of what ends with a job or a home."""
    subject = subject_of(state.graph, fact)
    if subject is None:
        return frozenset()
    tags = frozenset[str]()
    for predicate in (*TURNED.get(fact.predicate, ()), FOLLOWED_BY_OTHER.get(fact.predicate)):
        tags |= FACTS.tags(state.graph, _other_way(fact, predicate)) if predicate else frozenset()
    if fact.predicate == NEXT_TRIP and candidate.action is Action.END and candidate.object is None:
        tags |= cluster_reads(state.graph, state.graph.members(subject.entity_id))
    for place in _places(state, candidate, fact, subject):
        tags |= slot_reads(state.graph, (fact.scope, fact.owner, subject.entity_id, trip_date_of(place)))
        for predicate in (NEXT_TRIP, TRIP_TO):
            tags |= FACTS.tags(
                state.graph, fact.model_copy(update={"predicate": predicate, "object": place, "literal": None})
            )
    around = [each for of in (TIED_TO, SUCCEEDED, ALSO_CALLED) for each in of.get(fact.predicate, ())]
    for predicate in (*around, FOLLOWED.get(fact.predicate, fact.predicate)):
        tags |= slot_reads(state.graph, (fact.scope, fact.owner, subject.entity_id, predicate))
    if candidate.in_short or candidate.replaces or fact.predicate in (WORKS_AT, NEXT_TRIP):
        slot = _slot(state, fact, subject, fact.predicate)
        tags |= entity_reads(state.graph, [one.object_id for one in slot if one.object_id])
    return tags


def _places(state: Extraction, candidate: Candidate, fact: Remember, subject: Entity) -> frozenset[str]:
    """The places of the trips that a candidate is about, and of the next one so far."""
    if fact.predicate != NEXT_TRIP:
        return frozenset({candidate.trip} - {""})
    before = _slot(state, fact, subject, NEXT_TRIP)
    return frozenset({candidate.object or "", *(value_of(state, one) for one in before)} - {""})


def _tags(state: Extraction, command: ExtractTurn) -> frozenset[str]:
    each = (tags_of(state, *one) for one in zip(command.candidates, command.facts, strict=True))
    return frozenset({USER, turn_tag(command.turn_id)}).union(*each)


EXTRACTION: Decider[ExtractTurn, Extraction] = Decider(
    initial=Extraction(),
    subject=lambda command: turn_tag(command.turn_id),
    tags=_tags,
    evolve=evolve_extraction,
    decide=_decide,
)
