"""Record what a message states about its author and others: facts, ends, and corrections, in one append (B13, E06)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mnemolog.commands.decider import Decider
from mnemolog.commands.entities import content
from mnemolog.commands.extraction_case import LIVING, Case
from mnemolog.commands.extraction_ends import ended_with, ends_whatever_holds
from mnemolog.commands.extraction_namesakes import names_in_short, told_apart
from mnemolog.commands.extraction_requests import MODEL_ACTOR, ExtractTurn
from mnemolog.commands.extraction_state import Extraction, evolve
from mnemolog.commands.extraction_tags import tags_of
from mnemolog.commands.extraction_trips import called_off, is_planned
from mnemolog.commands.facts import first_seen, subject_of
from mnemolog.commands.naming import bearers, is_same_name
from mnemolog.domain.entity import ME, PERSON
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.extraction.candidate import ANY_VALUE, Action, Candidate
from mnemolog.domain.memory import Status
from mnemolog.domain.predicates import DOSE, NEXT_TRIP, WORKS_AT
from mnemolog.domain.relation import Relation
from mnemolog.events.conversation import turn_tag
from mnemolog.events.entities import EntityUpdated, Telling
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event

CORRECTED_WITHIN = timedelta(days=30)
"""How long after a value was told "Graz, not Linz" corrects it. Later it is a change."""
VAGUENESS = timedelta(days=7)
"""How far a day that is told in words such as "last weekend" may be from the one that is meant."""


def _decide(state: Extraction, command: ExtractTurn) -> Sequence[Event]:
    """Each candidate is decided on the result of the previous ones. One that is refused is left out."""
    message = state.messages.get(command.turn_id)
    if message is None or not message.visible:
        return []
    events: list[Event] = []
    writes = len(state.extracted.get(command.turn_id, ())) if command.anew else 0
    for case in _cases(state, command):
        if writes >= command.most:
            break
        try:
            news = [] if _is_extracted(case) or _is_read(case) else decide_one(case.after(events))
        except MnemologError:
            continue
        if news:
            writes += case.candidate.action is not Action.CALL and not _is_of_what_ended(case.candidate)
            events += news
    return events


def _is_of_what_ended(one: Candidate) -> bool:
    """Whether it only ends the dose of a medication that has ended: that leaves room for what is taken instead."""
    return one.action is Action.END and one.predicate.endswith(DOSE)


def _tags(state: Extraction, command: ExtractTurn) -> frozenset[str]:
    return frozenset({USER, turn_tag(command.turn_id)}).union(*map(tags_of, _cases(state, command)))


def _cases(state: Extraction, command: ExtractTurn) -> Sequence[Case]:
    each = zip(command.candidates, command.facts, strict=True)
    return [Case(state=state, command=command, candidate=candidate, fact=fact) for candidate, fact in each]


def _is_extracted(case: Case) -> bool:
    """Whether it was extracted before, or all of its message but what may have been told only since: what is over.

    Newer rules may find more in it.
    """
    predicates = case.state.extracted.get(case.command.turn_id)
    if predicates is None:
        return False
    return case.fact.predicate in predicates or not (case.is_end or case.command.anew)


def _is_read(case: Case) -> bool:
    """Whether a model has extracted a fact with this subject and predicate from the message: it read more of it."""
    slot = case.state.about(told_apart(case).fact, case.fact.predicate)
    return any(case.command.turn_id in one.sources and not case.is_recorded(one) for one in slot)


def decide_one(case: Case) -> Sequence[Event]:
    """The events of one candidate; none if it is known, outranked or about nobody."""
    found = told_apart(case).resolved()
    if found is None or not _applies(found):
        return []
    found = _contrasted(found)
    if decided := _OTHERWISE.get(found.candidate.action):
        return decided(found)
    news = [*(_ended(found) if found.is_end else _stated(found))]
    news += names_in_short(found, news)
    if found.fact.predicate == NEXT_TRIP and found.is_end and (found.candidate.object or not news):
        news += called_off(found.after(news))
    return [*news, *ended_with(found, news)] if news or ends_whatever_holds(found) else []


def _contrasted(case: Case) -> Case:
    """ "I live in Graz, not Linz": a correction if Linz was told lately, or else a change if it was told at all."""
    candidate = case.candidate
    wrong = [one for one in case.wrong() if not case.is_told_later(one)]
    if candidate.action is not Action.STATE or not wrong:
        return case
    said_at = case.command.said_at
    lately = all(said_at - case.state.told.get(one.relation_id, said_at) <= CORRECTED_WITHIN for one in wrong)
    return replace(
        case, candidate=replace(candidate, action=Action.CORRECT if lately else candidate.action, changes=True)
    )


def contested(case: Case) -> Relation | None:
    """What somebody recorded that a candidate contradicts, if it has one value at a time and none is said to change."""
    found = told_apart(case).resolved()
    if found is None or found.candidate.action in (Action.END, *_OTHERWISE) or not found.fact.rule.single:
        return None
    slot, same = found.state.slot_of(found.fact)
    others = found.holding(one for one in slot if one not in same)
    return next((one for one in others if not found.outranks(one)), None)


def _applies(case: Case) -> bool:
    """Whether the value that a candidate replaces holds, and the trip that it moves is planned."""
    candidate = case.candidate
    if candidate.replaces == ANY_VALUE:
        return bool(case.holding(case.state.about(case.fact, case.fact.predicate)))
    if candidate.replaces:
        former = case.of(object=candidate.replaces)
        if not former.holding(former.state.same_as(former.fact)) and not former.in_short(candidate.replaces):
            return False
    if candidate.intended and not _is_intended(case):
        return False
    return not (candidate.planned and candidate.trip) or is_planned(case)


def _is_intended(case: Case) -> bool:
    """Whether a move to this home is planned, or was told for another day."""
    plan = {"predicate": "plans", "object": f"to move to {case.fact.object}", "literal": True}
    plans = case.state.same_as(case.fact.model_copy(update=plan))
    return bool(case.holding([*plans, *case.state.same_as(case.fact)]))


def _stated(case: Case) -> Sequence[Event]:
    if named := _named_parent(case):
        return [*named, *_stated(case.after(named))]
    state, fact, candidate = case.state, case.fact, case.candidate
    slot, same = state.slot_of(fact)
    may_be_short = candidate.action is Action.STATE and not candidate.changes and fact.predicate == WORKS_AT
    if not same and may_be_short and (one := case.in_short(str(fact.object))):
        return _stated(case.of(object=str(one.object_id)))
    before = case.holding(slot)
    if any(one in same and case.is_recorded(one) for one in before):
        return []
    if not fact.rule.single:
        return _in_place_of_wrong(case)
    wrong = [one for one in same if fact.since and _began_later(case, one, fact.since)]
    if wrong:
        retired = case.retire(wrong[0])
        return [*retired, *case.after(retired).record()]
    others = [one for one in before if one not in same]
    if not all(map(case.outranks, others)):
        return []
    if fact.rule.timeless:
        is_more_precise = any(str(one.value).startswith(f"{fact.object} ") for one in others)
        return [] if is_more_precise else case.record()
    return _superseded(case, others)


def _named_parent(case: Case) -> Sequence[Event]:
    """The name of a mother or a father of whom was told without one: there is nobody else whom it could be."""
    parent = case.parent()
    return _called(parent) if parent and not case.holding(case.state.about(case.fact, case.fact.predicate)) else []


def _superseded(case: Case, others: Sequence[Relation]) -> Sequence[Event]:
    """The fact in place of the others that hold, which end or, if they never held, are retired."""
    retired: list[Event] = []
    since = case.fact.since
    for one in others:
        if (case.command.actor == MODEL_ACTOR or case.command.anew) and case.is_told_later(one):
            continue  # Otherwise the rules read in the order in which messages came, whatever their dates.
        began = one.validity.periods[-1].valid_from
        if case.candidate.action is Action.CORRECT and not case.is_recorded(one) and _is_wrong(case, one):
            retired += case.retire(one)
            since = since or began
        elif since is None or since > began or case.fact.until is not None:
            continue
        elif one.relation_id in case.state.undated and not case.is_recorded(one):
            # The date that was said is known better than its beginning.
            retired += case.retire(one)
        else:
            since = None  # Later than what it supersedes: since when is not known.
    return [*retired, *case.beginning(since, others).after(retired).record()]


def _is_wrong(case: Case, one: Relation) -> bool:
    """Whether a correction is about this value, if it says which one was wrong."""
    return not case.candidate.wrong or one in case.wrong()


def _in_place_of_wrong(case: Case) -> Sequence[Event]:
    """A fact beside others of its sort, and in place of the one that the message says was wrong."""
    events: list[Event] = []
    corrects, since = case.candidate.action is Action.CORRECT, case.fact.since
    for one in filter(case.outranks, case.wrong()):
        if corrects and not case.is_recorded(one):
            events += case.after(events).retire(one)
            since = since or min((period.valid_from for period in one.validity.said), default=None)
        elif case.holding([one]):
            events += case.after(events).end(one, case.fact.since or case.command.said_at)
    return [*events, *case.beginning(since, case.wrong()).after(events).record()]


def _began_later(case: Case, one: Relation, since: datetime) -> bool:
    """Whether a fact did not begin when it was said to, but later: it was planned for another day, or is corrected."""
    if case.candidate.action is not Action.CORRECT:
        # Told before its day, and this is quite another day: "last week" may mean the same day.
        told, days = case.state.told.get(one.relation_id), [period.valid_from for period in one.validity.said]
        if case.is_recorded(one) or told is None or not days or told >= min(days):
            return False
        return all(abs(since - day) > VAGUENESS for day in days)
    began = min((period.valid_from for period in one.validity.said), default=since)
    return began < since and not case.is_recorded(one) and not case.is_told_later(one)


def _ended(case: Case) -> Sequence[Event]:
    candidate, said_at = case.candidate, case.command.said_at
    slot, same = case.state.slot_of(case.fact)
    named = slot if candidate.object is None else same
    ended = [one for one in case.holding(named) if not case.is_told_later(one)]
    if not same and candidate.in_short and (one := case.in_short(str(candidate.object))):
        ended = [one]
    to_come = [one for one in same if candidate.object is not None and _is_to_come(case, one)]
    events = [event for one in to_come for event in case.retire(one)]
    for one in ended:
        if case.outranks(one) and not (case.fact.rule.critical and case.is_recorded(one)):
            events += case.end(one, candidate.until or said_at)
    return events


def _denied(case: Case) -> Sequence[Event]:
    """The fact never held. A critical one stays: what was said stands beside it."""
    if case.fact.rule.critical:
        return []
    events: list[Event] = []
    for one in case.state.same_as(case.fact):
        if one.status is Status.ACTIVE and case.outranks(one) and not case.is_told_later(one):
            events += case.after(events).retire(one)
    return events


def _called(case: Case) -> Sequence[Event]:
    """Another name of somebody who is known, unless somebody has it; the former name stays an alias.

    The user is known by the user's id, whatever they are called.
    """
    graph, name = case.state.graph, str(case.fact.object)
    found, news = subject_of(graph, case.fact), list[Event]()
    own = is_same_name(case.fact, case.fact.subject, ME)
    if found is None and own:
        news = [first_seen(case.fact, case.fact.subject_id, ME, PERSON)]
        found = subject_of(case.after(news).state.graph, case.fact)
    if found is None or found.traits.category not in LIVING or found.called(name):
        return []
    if bearers(graph, case.fact, name, case.fact.scope):
        return []
    traits = found.traits.also_called(name) if own else replace(found.traits, name=name).also_called(found.traits.name)
    told = Telling(sources=(turn_tag(case.command.turn_id),), names=(name,))
    return [
        *news,
        EntityUpdated(
            **content(found.entity_id, traits),
            changed=("aliases",) if own else ("aliases", "name"),
            source_turn_ids=(case.command.turn_id,),
            told=(told,),
        ),
    ]


_OTHERWISE = {Action.DENY: _denied, Action.CALL: _called}


def _is_to_come(case: Case, one: Relation) -> bool:
    """Whether a fact was known by then and had not begun, such as the home after a move that is planned."""
    said_at = case.command.said_at
    extracted = not case.is_recorded(one) and case.state.told.get(one.relation_id, said_at) <= said_at
    return extracted and all(period.valid_from > said_at for period in one.validity.said)


EXTRACTION: Decider[ExtractTurn, Extraction] = Decider(
    initial=Extraction(),
    subject=lambda command: turn_tag(command.turn_id),
    tags=_tags,
    evolve=evolve,
    decide=_decide,
)
