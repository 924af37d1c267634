"""Whom a message means by a name that several have: the one in that role, else the one last told of (A §10.2).

Nobody is both the author's sister and their colleague: "my colleague Anna" is somebody else than a sister Anna.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from mnemolog.commands.entities import content
from mnemolog.commands.extraction_case import Case
from mnemolog.commands.facts import subject_of
from mnemolog.commands.graph import cluster_reads
from mnemolog.commands.naming import bearers, is_same_name
from mnemolog.domain.entity import ME, Entity, id_in
from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.roles import are_exclusive, is_role, name_with_role, states_role
from mnemolog.domain.memory import Status
from mnemolog.domain.predicates import ObjectKind
from mnemolog.events.conversation import turn_tag
from mnemolog.events.entities import EntityUpdated, Telling
from mnemolog.events.event import Event
from mnemolog.events.graph import EntityObserved

_NEVER = datetime.min.replace(tzinfo=UTC)


def told_apart(case: Case) -> Case:
    """With the ids of those whom it means, where several have the name that it says.

    Somebody new who has the name of another is called by their role as well: `colleague Anna`.
    """
    for field, name, found in _named(case):
        tie = _tie(case, field, name)
        possible = _possible(case, found, tie.predicate) if tie else found
        if tie and not possible and case.candidate.action is Action.STATE:
            case = case.of(**{field: name_with_role(tie)})
        elif len(found) > 1:
            case = case.of(**{field: str(_last_told(case, possible or found).entity_id)})
    return case


def names_in_short(case: Case, news: Iterable[Event]) -> Sequence[Event]:
    """That somebody new has the name that the message says, if they are called by their role as well."""
    said = {case.fact.subject: case.candidate.subject, case.fact.object: case.candidate.object}
    for one in news:
        if isinstance(one, EntityObserved) and (name := said.get(one.name)) and one.name.endswith(f" {name}"):
            traits = case.after([one]).state.graph.entities[one.entity_id].traits.also_called(name)
            turn_id = case.command.turn_id
            told = Telling(sources=(turn_tag(turn_id),), names=(name,))
            named = content(one.entity_id, traits)
            return [EntityUpdated(**named, changed=("aliases",), source_turn_ids=(turn_id,), told=(told,))]
    return []


def namesake_reads(case: Case) -> frozenset[str]:
    """The tags of all that is known of those who have a name, where that decides who is meant."""
    found = [one.entity_id for _, _, several in _named(case) for one in several]
    return cluster_reads(case.state.graph, found) if found else frozenset()


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
    """What the message says that somebody is to its author."""
    said = [case.candidate] if field == "object" else case.command.candidates
    return next((one for one in said if one.object == name and states_role(one)), None)


def _possible(case: Case, found: Sequence[Entity], role: str) -> Sequence[Entity]:
    """Those in the role, if any, else all who may be."""
    roles = {one.entity_id: _roles(case, one) for one in found}
    in_role = [one for one in found if role in roles[one.entity_id]]
    return in_role or [one for one in found if not any(are_exclusive(role, other) for other in roles[one.entity_id])]


def _roles(case: Case, entity: Entity) -> set[str]:
    """What somebody is, or was, to the author."""
    graph = case.state.graph
    author = subject_of(graph, case.fact.model_copy(update={"subject": ME}))
    return {
        one.predicate
        for one in graph.relations.values()
        if one.status is Status.ACTIVE
        and one.validity.periods
        and author is not None
        and graph.root(one.subject_id) == author.entity_id
        and one.object_id is not None
        and graph.root(one.object_id) == entity.entity_id
        and is_role(one.predicate)
    }


def _last_told(case: Case, found: Sequence[Entity]) -> Entity:
    """The one of whom something was told last before the message was said."""
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
    return max(found, key=lambda one: max(told[one.entity_id], default=_NEVER))
