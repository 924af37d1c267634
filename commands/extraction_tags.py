"""The tags that the decision on a candidate depends on: of its subject, its fact, and what may end with it."""

from mnemolog.commands.extraction_case import Case
from mnemolog.commands.extraction_ends import other_way
from mnemolog.commands.extraction_namesakes import namesake_reads, told_apart
from mnemolog.commands.extraction_trips import trip_reads
from mnemolog.commands.facts import FACTS, subject_of
from mnemolog.commands.graph import cluster_reads, entity_reads, slot_reads
from mnemolog.commands.naming import name_reads
from mnemolog.domain.entity import Entity
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.extraction.candidate import Action
from mnemolog.domain.extraction.vocabulary import (
    ALSO_CALLED,
    COUPLE,
    FOLLOWED,
    FOLLOWED_BY_OTHER,
    SUCCEEDED,
    TIED_TO,
    TURNED,
)
from mnemolog.domain.predicates import DIED, EMPLOYMENT, NEXT_TRIP, WORKS_AT


def tags_of(case: Case) -> frozenset[str]:
    graph = case.state.graph
    tags, subject = frozenset[str](), None
    if case.candidate.via:
        tags |= FACTS.tags(graph, case.relation())
        if nameless := case.nameless():
            tags = tags.union(*(FACTS.tags(graph, one.fact) for one in (nameless, *case.nameless_ones())))
    if parent := case.parent():
        tags |= FACTS.tags(graph, parent.fact) | name_reads(case.fact, str(case.fact.object))
    if case.candidate.with_partner:
        tags |= _with_partner(case)
    tags |= namesake_reads(case)
    try:
        case = told_apart(case).resolved() or case
        subject = subject_of(graph, case.fact)
    except MnemologError:
        pass  # What is lacking is read next; else the decision leaves it out.
    tags |= FACTS.tags(graph, case.fact)
    return tags | _around(case, subject) if subject else tags


def _with_partner(case: Case) -> frozenset[str]:
    """The tags of whom somebody may be married to after a wedding."""
    graph, fact = case.state.graph, case.fact
    tags = FACTS.tags(graph, fact)
    subject = subject_of(graph, fact)
    if subject:
        slots_of = ((fact.scope, fact.owner, subject.entity_id, predicate) for predicate in COUPLE)
        tags = tags.union(*(slot_reads(graph, slot) for slot in slots_of))
    slots = case.state.about(fact, *COUPLE)
    return tags | entity_reads(graph, [one.object_id for one in slots if one.object_id])


def _around(case: Case, subject: Entity) -> frozenset[str]:
    """The tags of what is called in short, and of what ends with a life, a job, a home or a trip."""
    graph, fact = case.state.graph, case.fact
    tags = trip_reads(case, subject)
    if case.moves_planned:
        tags |= cluster_reads(graph, graph.members(subject.entity_id))
    if fact.predicate == DIED:
        tags |= cluster_reads(graph, graph.members(subject.entity_id))
    for predicate in TURNED.get(fact.predicate, ()):
        tags |= FACTS.tags(graph, other_way(fact, predicate))
    if fact.predicate in FOLLOWED_BY_OTHER:
        tags |= FACTS.tags(graph, other_way(fact, FOLLOWED_BY_OTHER[fact.predicate]))
    ending = [each for of in (TIED_TO, SUCCEEDED, ALSO_CALLED) for each in of.get(fact.predicate, ())]
    for predicate in (*ending, FOLLOWED.get(fact.predicate, fact.predicate)):
        tags |= slot_reads(graph, (fact.scope, fact.owner, subject.entity_id, predicate))
    if case.candidate.hired:
        tags |= slot_reads(graph, (fact.scope, fact.owner, subject.entity_id, EMPLOYMENT))
    if case.candidate.action is Action.CALL:
        tags |= name_reads(fact, str(fact.object))
    named = case.candidate.in_short or case.candidate.replaces or case.candidate.wrong
    if named or fact.predicate in (WORKS_AT, NEXT_TRIP):
        slot = case.state.about(fact, fact.predicate)
        tags |= entity_reads(graph, [one.object_id for one in slot if one.object_id])
    return tags
