"""What ends with a fact that was just decided: with a death, a job, a home, a plan, a marriage, a new manager.

A death ends the facts about who died, except kinship and what is of no time. No rule ends an allergy or another
critical fact that somebody recorded.
"""

from collections.abc import Callable, Container, Sequence
from datetime import UTC, datetime

from mnemolog.commands.extraction_case import Case, holds
from mnemolog.commands.facts import Remember, subject_of
from mnemolog.domain.entity import PERSON
from mnemolog.domain.extraction.candidate import Action
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
from mnemolog.domain.predicates import (
    BUILT_IN,
    DIED,
    EMPLOYMENT,
    JOB_TITLE,
    NEXT_TRIP,
    WORKS_AT,
    Predicate,
    trip_date_of,
)
from mnemolog.domain.relation import Relation
from mnemolog.events.event import Event

# What somebody recorded of who died ends only with these predicates: a critical fact never does.
_ENDING = frozenset([one.name for one in BUILT_IN if not one.critical] + f"{ONE_OF}|{PETS}".split("|")) - OUTLIVING


_BEGUN_ANEW = ("lives_in", WORKS_AT)
"""Who moves or starts a job leaves the former street or boss, although nobody knows in which town or firm that was."""


def ended_with(case: Case, news: Sequence[Event]) -> Sequence[Event]:
    """The ends that follow from `news`, which were decided on this case."""
    predicate, action = case.fact.predicate, case.candidate.action
    ends: list[Event] = []
    if predicate in TIED_TO and action is not Action.CORRECT:
        ends += _left_behind(case, case.after(news))
    for predicates, actions, rule in _RULES:
        if predicate in predicates and action in actions:
            ends += rule(case.after([*news, *ends]))
    return ends


def ends_whatever_holds(case: Case) -> bool:
    """Whether something is over that need not be known: who quits has no boss there, wherever that was."""
    return case.is_end and case.candidate.object is None


def _outlived(case: Case) -> Sequence[Event]:
    """The ends of what held of somebody who died."""
    graph = case.state.graph
    gone = subject_of(graph, case.fact)
    assert gone
    over: list[Relation] = []
    for one in graph.relations.values():
        about = {graph.root(id_) for id_ in (one.subject_id, one.object_id) if id_}
        if gone.entity_id not in about or one.status is not Status.ACTIVE or one.predicate in OUTLIVING:
            continue
        if not case.is_recorded(one) or one.predicate in _ENDING:
            over.append(one)
    return case.end_all(over)


def _left_behind(before: Case, case: Case) -> Sequence[Event]:
    """The ends of what was tied to a job, a home or a plan that is over, such as who the manager was."""
    fact, candidate, said_at = case.fact, case.candidate, case.command.said_at
    slot, same = before.state.slot_of(fact)
    over = before.holding(slot if case.is_end else [one for one in slot if one not in same])
    since, until = datetime.min.replace(tzinfo=UTC), said_at
    is_new = candidate.changes and fact.predicate in _BEGUN_ANEW
    if any(not before.is_told_later(one) for one in over) or (not over and (ends_whatever_holds(case) or is_new)):
        until = (candidate.until if case.is_end else candidate.since) or said_at
    elif period := _period_that_is_over(case):
        since, until = period
    else:
        return []
    ends: list[Event] = []
    dates = [trip_date_of(before.state.value_of(one)) for one in over if fact.predicate == NEXT_TRIP]
    told_with = {turn_id for one in over for turn_id in one.sources}
    for one in case.holding(case.state.about(fact, *TIED_TO[fact.predicate], *dates)):
        if one.predicate == JOB_TITLE and not (case.is_end and told_with & one.sources):
            continue  # Who starts at another employer may do the same there.
        if fact.until and one.predicate in dates and str(one.value) >= fact.until.date().isoformat():
            continue  # It comes after the next trip.
        if since <= one.validity.periods[-1].valid_from < until and not case.is_recorded(one):
            ends += case.after(ends).end(one, until)
    return ends


def _period_that_is_over(case: Case) -> tuple[datetime, datetime] | None:
    """From when until when a fact held that a later message, which was read first, says to be over."""
    if case.fact.until is not None:
        return None
    periods = [period for one in case.state.same_as(case.fact) for period in one.validity.periods]
    held = (one for one in periods if one.holds_at(case.command.said_at))
    return next(((one.valid_from, one.valid_to) for one in held if one.valid_to), None)


def _succeeded(case: Case) -> Sequence[Event]:
    """The ends of what comes before a fact about the same object, such as an engagement before a marriage."""
    before: list[Relation] = []
    for predicate, thing in SUCCEEDED[case.fact.predicate].items():
        literal = thing != "{}" or case.fact.literal
        former = {"predicate": predicate, "object": thing.format(case.fact.object), "literal": literal}
        before += case.state.same_as(case.fact.model_copy(update=former))
    return case.end_all(before)


def _replaced(case: Case) -> Sequence[Event]:
    """The ends of who else had the same role by another word, if somebody is said to be new in it."""
    if not (case.candidate.changes or case.candidate.since):
        return []
    return case.end_all(case.state.about(case.fact, *ALSO_CALLED[case.fact.predicate]))


def _hired(case: Case) -> Sequence[Event]:
    """The end of one's own business, if somebody else gives one a job after it began; one's own firm begins with it."""
    if not case.candidate.hired:
        return []
    begun = min(
        (period.valid_from for one in case.state.same_as(case.fact) for period in one.validity.said), default=None
    )
    own = case.holding(case.state.about(case.fact, EMPLOYMENT))
    return case.end_all([one for one in own if begun and one.validity.periods[-1].valid_from < begun])


def _left_with_title(case: Case) -> Sequence[Event]:
    """The end of the employer who was told with a job that is over: "I quit the barista job"."""
    titles = case.state.same_as(case.fact)
    told_with = {turn_id for one in titles for turn_id in one.sources}
    over, until = case.holding(case.state.about(case.fact, WORKS_AT)), case.candidate.until or case.command.said_at
    left = [one for one in over if told_with & one.sources and case.outranks(one)]
    return [event for one in left for event in case.end(one, until)]


def _turned(case: Case) -> Sequence[Event]:
    """The ends of what a fact's object was to its subject, such as a neighbour who has moved in."""
    former = [other_way(case.fact, predicate) for predicate in TURNED[case.fact.predicate]]
    return case.end_all([one for fact in former for one in case.state.same_as(fact)])


def _followed(case: Case) -> Sequence[Event]:
    """The end of what had become something else when it was recorded: messages may be read out of their order."""
    fact = case.fact
    if fact.predicate in FOLLOWED:
        following = fact.model_copy(update={"predicate": FOLLOWED[fact.predicate]})
    else:
        following = other_way(fact, FOLLOWED_BY_OTHER[fact.predicate])
    same = case.state.same_as(fact)
    begun = [period.valid_from for one in case.state.same_as(following) for period in one.validity.periods]
    began = min((at for at in begun if at > fact.said.since), default=None)
    if began is None:
        return []
    return [event for one in same if holds(one, began) for event in case.end(one, began)]


def other_way(fact: Remember, predicate: str) -> Remember:
    """A fact about its object, of which its subject is the object."""
    turned = {"subject": str(fact.object), "object": fact.subject, "literal": False}
    return fact.model_copy(update={**turned, "predicate": predicate, "rule": Predicate(predicate, subject=PERSON)})


# Each rule with the predicates and the actions that it follows from.
_RULES: Sequence[tuple[Container[str], Container[Action], Callable[[Case], Sequence[Event]]]] = (
    ({DIED}, {*Action}, _outlived),
    (SUCCEEDED, {Action.STATE, Action.CORRECT}, _succeeded),
    (ALSO_CALLED, {Action.STATE}, _replaced),
    ({WORKS_AT, JOB_TITLE}, {Action.STATE}, _hired),
    ({JOB_TITLE}, {Action.END}, _left_with_title),
    (TURNED, {Action.STATE, Action.CORRECT}, _turned),
    ({*FOLLOWED, *FOLLOWED_BY_OTHER}, {Action.STATE, Action.CORRECT}, _followed),
)
