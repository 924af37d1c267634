"""Whom a message means by a name that several have: the one in that role, else the one just told of (A §10.2).

Nobody is both the author's sister and their colleague: "my colleague Anna" is somebody else than a sister Anna.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from mnemolog.commands.entities import content
from mnemolog.commands.extraction_case import Case
from mnemolog.commands.facts import FACTS, subject_of
from mnemolog.commands.graph import cluster_reads
from mnemolog.commands.naming import bearers, is_same_name, name_reads
from mnemolog.domain.entity import ME, PERSON, Entity, id_in
from mnemolog.domain.errors import AmbiguousEntity
from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.roles import are_exclusive, is_role, is_tie, may_be, name_with_role, states_role
from mnemolog.domain.memory import Status
from mnemolog.domain.predicates import ObjectKind
from mnemolog.domain.text import TITLES, name_key
from mnemolog.events.conversation import turn_tag
from mnemolog.events.entities import EntityUpdated, Telling
from mnemolog.events.event import Event
from mnemolog.events.graph import EntityObserved

_NEVER = datetime.min.replace(tzinfo=UTC)
_CALLED = "doctor professor sir father sister brother aunt auntie uncle granny grandma grandpa nan"
_NO_NAMES = frozenset(f"{TITLES.lower()} {_CALLED}".split())
JUST_TOLD = timedelta(days=7)
"""For how long after somebody was told of their bare name means them, and not another who has it."""


def told_apart(case: Case) -> Case:
    """With the ids of those whom it means, where several have the name that it says; raises AmbiguousEntity if it could
    be any of them.

    Somebody new who has the name of another is called by their role as well: `colleague Anna`.
    """
    for field, name, found in _named(case):
        tie = _tie(case, field, name)
        possible = _possible(case, found, tie) if tie else found
        if tie and not possible and case.candidate.action is Action.STATE:
            case = case.of(**{field: name_with_role(tie)})
        elif len(found) > 1:
            case = case.of(**{field: str(_meant(case, field, name, possible or found).entity_id)})
    return case


def names_in_short(case: Case, news: Iterable[Event]) -> Sequence[Event]:
    """That somebody new has the name that the message says, if they are called by their role as well.

    Or their first name, if it tells that as well and nobody is called only that: `my brother Tom Smyth`.
    """
    said = {case.fact.subject: case.candidate.subject, case.fact.object: case.candidate.object}
    first = _first_name(case)
    for one in news:
        if not isinstance(one, EntityObserved) or not (name := said.get(one.name)):
            continue
        if one.name == name and first and not _is_named(case, first):
            name = first
        if name == first or one.name.endswith(f" {name}"):
            traits = case.after([one]).state.graph.entities[one.entity_id].traits.also_called(name)
            turn_id = case.command.turn_id
            told = Telling(sources=(turn_tag(turn_id),), names=(name,))
            named = content(one.entity_id, traits)
            return [EntityUpdated(**named, changed=("aliases",), source_turn_ids=(turn_id,), told=(told,))]
    return []


def _first_name(case: Case) -> str:
    """Of whom the author says what they are to them, in two names; not the author's own."""
    names = case.candidate.object.split() if states_role(case.candidate) and case.candidate.object else []
    if len(names) != 2 or names[0].lower().rstrip(".") in _NO_NAMES or is_same_name(case.fact, names[0], ME):
        return ""
    return names[0] if all(one[0].isupper() for one in names) else ""


def _is_named(case: Case, name: str) -> bool:
    found = bearers(case.state.graph, case.fact, name, case.fact.scope, PERSON)
    return any(name_key(one.traits.name) == name_key(name) for one in found)


def namesake_reads(case: Case) -> frozenset[str]:
    """The tags of all that is known of those who have a name, where that decides who is meant."""
    tags, graph = frozenset[str](), case.state.graph
    if first := _first_name(case):
        tags |= name_reads(case.fact, first)
    for field, name, several in _named(case):
        tie, found = _tie(case, field, name), [one.entity_id for one in several]
        if tie and not states_role(tie):
            who = case.of(subject=ME, predicate=tie.via) if tie.via else case.of(subject=tie.subject)
            tags |= FACTS.tags(graph, who.fact)
            found += _others(case, tie)
        tags |= cluster_reads(graph, found)
    return tags


def _named(case: Case) -> Sequence[tuple[str, str, Sequence[Entity]]]:
    """The names in a fact, with those who have them, where it does not go without saying who is meant."""
    fact = case.fact
    names = [] if case.candidate.via else [("subject", fact.subject, fact.rule.subject)]
    if isinstance(fact.object, str) and fact.kind is not ObjectKind.LITERAL:
        names.append(("object", fact.object, fact.rule.category))
    each = [
        (field, name, bearers(case.state.graph, fact, name, fact.scope, category))
        for field, name, category in names
        if not id_in(name) and not is_same_name(fact, name, ME)
    ]
    return [one for one in each if len(one[2]) > 1 or (one[2] and _tie(case, one[0], one[1]))]


def _tie(case: Case, field: str, name: str) -> Candidate | None:
    """What the message says that somebody is to its author, or else to another: Anna's daughter Anna is not Anna.

    Whom it only names, as in "Tim is married to Anna", is somebody who is known.
    """
    each, candidate = case.command.candidates, case.candidate
    said = [candidate] if field == "object" else [one for one in each if one is not candidate]
    told_of = any(one.subject == name for one in each)
    ties = [one for one in said if one.object == name and is_tie(one) and (told_of or states_role(one))]
    return min(ties, key=lambda one: (one.subject != name, not states_role(one)), default=None)


def _possible(case: Case, found: Sequence[Entity], tie: Candidate) -> Sequence[Entity]:
    """Those who are known by this tie, if any, else all who may be."""
    if states_role(tie):
        roles = {one.entity_id: _roles(case, one.entity_id) for one in found}
        in_role = [one for one in found if tie.predicate in roles[one.entity_id]]
        return in_role or [
            one for one in found if not any(are_exclusive(tie.predicate, other) for other in roles[one.entity_id])
        ]
    others = _others(case, tie)
    in_role = [one for one in found if any(tie.predicate in _roles(case, one.entity_id, other) for other in others)]
    theirs = {tie.via} if tie.via else set[str]().union(*(_roles(case, one) for one in others))
    theirs |= {one.predicate for one in case.command.candidates if states_role(one) and one.object == tie.subject}
    return in_role or [
        one
        for one in found
        if one.entity_id not in others
        and all(may_be(role, tie.predicate, theirs) for role in _roles(case, one.entity_id))
    ]


def _others(case: Case, tie: Candidate) -> Sequence[UUID]:
    """Those to whom somebody has a tie, if it is not the author."""
    graph = case.state.graph
    if not tie.via:
        return [one.entity_id for one in bearers(graph, case.fact, tie.subject, case.fact.scope, PERSON)]
    held = case.holding(case.state.about(case.of(subject=ME).fact, tie.via))
    return [graph.root(one.object_id) for one in held if one.object_id]


def _roles(case: Case, entity_id: UUID, other: UUID | None = None) -> set[str]:
    """What somebody is, or was, to another, or else to the author."""
    graph = case.state.graph
    author = subject_of(graph, case.fact.model_copy(update={"subject": ME}))
    of = other or (author and author.entity_id)
    return {
        one.predicate
        for one in graph.relations.values()
        if one.status is Status.ACTIVE
        and one.validity.periods
        and graph.root(one.subject_id) == of
        and one.object_id is not None
        and graph.root(one.object_id) == entity_id
        and is_role(one.predicate)
    }


def _meant(case: Case, field: str, name: str, found: Sequence[Entity]) -> Entity:
    """The only one whose name is spelled like that, else the one of whom something was told last, if lately."""
    spelled = [one for one in found if _spelling(name) in map(_spelling, (one.traits.name, *one.traits.aliases))]
    if len(spelled) == 1:
        return spelled[0]
    graph, said_at = case.state.graph, case.command.said_at
    told = {
        one.entity_id: [
            statement.told
            for known in graph.relations.values()
            if one.entity_id in (graph.root(known.subject_id), known.object_id and graph.root(known.object_id))
            for statement in graph.statements.get(known.relation_id, ())
            if statement.told <= said_at
        ]
        for one in found
    }
    last = {one.entity_id: max(told[one.entity_id], default=_NEVER) for one in found}
    latest = max(found, key=lambda one: last[one.entity_id])
    if len(found) > 1 and said_at - last[latest.entity_id] > JUST_TOLD:
        raise AmbiguousEntity(field, f"Who is {name}?", [])
    return latest


def _spelling(name: str) -> str:
    """Unlike `name_key`, it keeps accents: Péter is not Peter where both are known."""
    return unicodedata.normalize("NFC", name).casefold()
