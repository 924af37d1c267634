"""Resolves names to entities. This is part of the decision, so concurrent writers create a new entity only once."""

import unicodedata
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, WithJsonSchema

from mnemolog.commands.decider import Command
from mnemolog.commands.graph import Graph, entity_of
from mnemolog.domain.disambiguation import Ask, Candidate, resolve
from mnemolog.domain.entity import MAX_NAME, ME, PERSON, THING, Entity, id_in, may_be_one, proper_name, require_active
from mnemolog.domain.errors import AmbiguousEntity, InvalidInput
from mnemolog.domain.scope import Scope, readable
from mnemolog.domain.text import clean, name_key
from mnemolog.events.fields import Flag, Instant, Uuid, checked_by
from mnemolog.events.graph_tags import entity_tag, spelling_tags
from mnemolog.events.shapes import text_shape


def checked_name(value: object, field: str) -> str:
    """The name of an entity; raises InvalidInput for a text that can be none."""
    name = clean(value, field)
    if len(name) > MAX_NAME:
        message = f"has {len(name):,} characters, at most {MAX_NAME} are accepted"
        raise InvalidInput(message, field=field, fix="use a shorter name")
    if all(unicodedata.category(character)[0] in "CZ" for character in name):
        raise InvalidInput("has no visible character", field=field, fix="send a name")
    return name


Name = Annotated[str, checked_by(checked_name), WithJsonSchema(text_shape(MAX_NAME))]


class Seen(BaseModel):
    """An entity's state before a decision: whether it is active in the session, and when it was last seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    entity_id: Uuid
    active: Flag = False
    last_seen: Instant | None = None


def name_of(command: Command, name: str) -> str:
    """The user's name is the user id; `me` means the user."""
    return proper_name(command.user_id, name)


def is_same_name(command: Command, one: str, other: str) -> bool:
    return name_key(name_of(command, one)) == name_key(name_of(command, other))


def person_or(command: Command, name: str, category: str) -> str:
    """The user is always a person, whatever the predicate."""
    return PERSON if is_same_name(command, name, ME) else category


def name_reads(command: Command, name: str) -> set[str]:
    """The tags to read to resolve a name."""
    entity_id = id_in(name)
    return {entity_tag(entity_id)} if entity_id else spelling_tags(name_of(command, name))


def bearers(state: Graph, command: Command, name: str, scope: Scope, category: str = THING) -> Sequence[Entity]:
    """The entities with a name that are allowed in this scope. A known category narrows them down."""
    roots = dict.fromkeys(state.root(id_) for id_, one in state.entities.items() if one.called(name_of(command, name)))
    found = [state.entities[root] for root in roots if root in state.entities]
    shown = [one for one in found if one.active and _within(one, scope, command.agent_id)]
    return [one for one in shown if may_be_one(category, one.traits.category)]


def meant(
    state: Graph,
    command: Command,
    name: str,
    scope: Scope,
    seen: Sequence[Seen] = (),
    *,
    path: str,
    category: str = THING,
) -> Entity | None:
    """The entity for a name or id; None for a new name. Raises AmbiguousEntity if only a question can decide."""
    entity_id = id_in(name)
    if entity_id:
        return by_id(state, command, entity_id, scope, path)
    found = bearers(state, command, name, scope, category)
    if not found:
        return None
    seen_by_id = {one.entity_id: one for one in seen}
    candidates = [
        Candidate(one, seen_by_id[one.entity_id].last_seen if one.entity_id in seen_by_id else None) for one in found
    ]
    answer = resolve(candidates, {one.entity_id for one in seen if one.active})
    if isinstance(answer, Ask):
        raise AmbiguousEntity(path, answer.question, list(map(_shown, candidates)))
    return state.entities[answer.entity_id]


def by_id(state: Graph, command: Command, entity_id: UUID, scope: Scope, path: str) -> Entity:
    """An entity by its id, or the one it was merged into, if it is allowed in this scope."""
    found = entity_of(state, state.root(entity_id), command, path)
    require_active(found, "told of", path)
    if not _within(found, scope, command.agent_id):
        raise InvalidInput("the entity belongs to one agent", field=path, fix="use scope 'agent', or a global entity")
    return found


def _within(entity: Entity, scope: Scope, agent_id: str) -> bool:
    """Global items may not refer to an agent's own entities."""
    return readable(entity.scope, entity.agent_id, agent_id if scope is Scope.AGENT else None)


def _shown(candidate: Candidate) -> dict[str, object]:
    entity, seen = candidate.entity, candidate.last_seen
    return {
        "entity_id": str(entity.entity_id),
        "name": entity.traits.name,
        "category": entity.traits.category,
        "aliases": list(entity.traits.aliases),
        "last_seen": seen.isoformat() if seen else None,
    }
