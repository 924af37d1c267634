"""Commands on entities: add, rename, alias, merge, delete and restore (A07, A20, D13)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from mnemolog.commands.decider import Decider, Decisions
from mnemolog.commands.entity_requests import (
    AddAlias,
    EntityCommand,
    ForgetEntity,
    MergeEntities,
    ObserveEntity,
    RestoreEntity,
    UpdateEntity,
)
from mnemolog.commands.graph import (
    Graph,
    GraphCommand,
    applied,
    cluster_reads,
    entity_of,
    entity_reads,
    evolve,
    resettled,
)
from mnemolog.commands.naming import meant, name_of, name_reads, person_or
from mnemolog.domain import memory
from mnemolog.domain.entity import THING, Entity, Traits, id_in, require_active, require_mergeable
from mnemolog.domain.errors import TransitionRefused
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import name_key
from mnemolog.events import graph as events
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import Event
from mnemolog.events.graph_tags import entity_tag, name_tag

__all__ = [
    "ENTITIES",
    "AddAlias",
    "EntityCommand",
    "ForgetEntity",
    "MergeEntities",
    "ObserveEntity",
    "RestoreEntity",
    "UpdateEntity",
    "content",
    "decide",
    "known_as",
]


decide = Decisions[GraphCommand, Graph]()


@decide.register
def _observe(command: ObserveEntity, state: Graph) -> Sequence[Event]:
    found = None if command.another else known_as(state, command)
    if found is not None:
        return _added(command, state, found)
    if command.entity_id in state.entities:
        return []
    name = name_of(command, command.name)
    traits = Traits(name, person_or(command, command.name, command.category), command.confidence)
    agent_id = command.agent_id if command.scope is Scope.AGENT else None
    return [
        events.EntityObserved(
            **content(command.entity_id, replace(traits.also_called(*command.aliases), attributes=command.attributes)),
            scope=command.scope,
            agent_id=agent_id,
            source_turn_ids=command.source_turn_ids,
        )
    ]


def known_as(state: Graph, command: ObserveEntity) -> Entity | None:
    """The entity with the name to be added."""
    category = command.category
    return meant(state, command, command.name, command.scope, command.seen, path="name", category=category)


def _added(command: ObserveEntity, state: Graph, found: Entity) -> Sequence[Event]:
    was = found.traits
    category = command.category if was.category == THING else was.category
    attributes = {**was.attributes, **command.attributes}
    traits = replace(was.also_called(*command.aliases), category=category, attributes=attributes)
    # An entity given by id also matches by its name.
    named = {name_key(name) for name in (name_of(command, command.name), *command.aliases)}
    names = tuple(name for name in (traits.name, *traits.aliases) if name_key(name) in named) or (traits.name,)
    sources = tuple(map(turn_tag, command.source_turn_ids)) or (events.SAID,)
    telling = events.Telling(sources=sources, names=names, attributes=tuple(sorted(command.attributes)))
    changed = _changed(found, traits)
    words = state.words[entity_tag(found.entity_id)]
    if not changed and (not command.source_turn_ids or words.tells(telling, traits)):
        return []
    fields = content(found.entity_id, traits)
    return [events.EntityUpdated(**fields, changed=changed, source_turn_ids=command.source_turn_ids, told=(telling,))]


def _changed(found: Entity, traits: Traits) -> tuple[str, ...]:
    fields = ("aliases", "attributes", "category", "confidence", "name")
    return tuple(name for name in fields if getattr(traits, name) != getattr(found.traits, name))


@decide.register
def _update(command: UpdateEntity, state: Graph) -> Sequence[Event]:
    found = _active(state, command, "updated")
    fields_given = command.model_dump(
        include={"name", "category", "aliases", "attributes", "confidence"}, exclude_none=True
    )
    traits = replace(found.traits, **fields_given).also_called(found.traits.name)
    changed = _changed(found, traits)
    return [events.EntityUpdated(**content(found.entity_id, traits), changed=changed)] if changed else []


@decide.register
def _alias(command: AddAlias, state: Graph) -> Sequence[Event]:
    found = _active(state, command, "named")
    traits = found.traits.also_called(command.alias)
    if traits == found.traits:
        return []
    fields = content(found.entity_id, traits)
    return [events.EntityAliased(**fields, alias=command.alias, question=command.question)]


@decide.register
def _merge(command: MergeEntities, state: Graph) -> Sequence[Event]:
    survivor = entity_of(state, command.entity_id, command)
    absorbed = [entity_of(state, id_, command, f"absorbed_ids[{i}]") for i, id_ in enumerate(command.absorbed_ids)]
    if absorbed and all(state.root(one.entity_id) == survivor.entity_id != one.entity_id for one in absorbed):
        return []
    require_active(survivor, "merged")
    require_mergeable(survivor, absorbed)
    # The survivor's traits, with all names and the attributes that it lacks.
    traits = survivor.traits
    for one in (each.traits for each in absorbed):
        attributes = {**one.attributes, **traits.attributes}
        category = one.category if traits.category == THING else traits.category
        traits = replace(
            traits.also_called(one.name, *one.aliases),
            attributes=attributes,
            category=category,
            confidence=max(traits.confidence, one.confidence),
        )
    merged = events.EntitiesMerged(**content(survivor.entity_id, traits), absorbed_ids=command.absorbed_ids)
    return [merged.model_copy(update={"validity": resettled(applied(state, merged), [survivor.entity_id])})]


@decide.register
def _forget(command: ForgetEntity, state: Graph) -> Sequence[Event]:
    found = entity_of(state, command.entity_id, command)
    if found.status is Status.SOFT_DELETED:
        return []
    require_active(found, "forgotten")
    purge_at = command.at + memory.PURGE_AFTER
    return [events.EntityForgotten(entity_id=command.entity_id, purge_at=purge_at, reason=command.reason)]


@decide.register
def _restore(command: RestoreEntity, state: Graph) -> Sequence[Event]:
    found = entity_of(state, command.entity_id, command)
    if found.active:
        return []
    if found.merged_into:
        message = f"entity {command.entity_id} stands for {found.merged_into}"
        raise TransitionRefused(message, field="entity_id", fix="undo their merge")
    return [events.EntityRestored(entity_id=command.entity_id)]


def content(entity_id: UUID, traits: Traits) -> dict[str, Any]:
    """The fields of an event that carries these traits."""
    return {
        "entity_id": entity_id,
        "name": traits.name,
        "category": traits.category,
        "confidence": traits.confidence,
        "aliases": traits.aliases,
        "attributes": dict(traits.attributes),
    }


def _active(state: Graph, command: EntityCommand, what: str) -> Entity:
    found = entity_of(state, command.entity_id, command)
    require_active(found, what)
    return found


def _tags(state: Graph, command: GraphCommand) -> frozenset[str]:
    match command:
        case ObserveEntity():
            return entity_reads(state, [command.entity_id]) | name_reads(command, command.name)
        case MergeEntities():
            return cluster_reads(state, (command.entity_id, *command.absorbed_ids))
        case EntityCommand():
            return entity_reads(state, [command.entity_id])
    raise TypeError(f"no reads for {type(command).__name__}")


def _subject(command: GraphCommand) -> str:
    match command:
        case ObserveEntity() if not command.another:
            entity_id = id_in(command.name)
            return entity_tag(entity_id) if entity_id else name_tag(name_of(command, command.name))
        case ObserveEntity() | EntityCommand():
            return entity_tag(command.entity_id)
    raise TypeError(f"no subject of {type(command).__name__}")


ENTITIES: Decider[GraphCommand, Graph] = Decider(
    initial=Graph(),
    subject=_subject,
    tags=_tags,
    evolve=evolve,
    decide=decide,
)
