"""The events of entities and relations, under one name."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from mnemolog.domain.facts import Validity
from mnemolog.domain.precision import Precision
from mnemolog.domain.retelling import Beliefs
from mnemolog.events.entities import (
    ENTITIES,
    SAID,
    EntitiesMerged,
    EntityAliased,
    EntityCleared,
    EntityContent,
    EntityErased,
    EntityEvent,
    EntityForgotten,
    EntityKept,
    EntityObserved,
    EntityRestored,
    EntityReverted,
    EntityUpdated,
    Telling,
)
from mnemolog.events.event import Event
from mnemolog.events.relations import (
    RelationAsserted,
    RelationEnded,
    RelationErased,
    RelationEvent,
    RelationForgotten,
    RelationObserved,
    RelationRestored,
    RelationRetired,
    RelationReverted,
    RelationWithdrawn,
    ToldEvent,
    ValidityEvent,
)

__all__ = [
    "ENTITIES",
    "SAID",
    "EntitiesMerged",
    "EntityAliased",
    "EntityCleared",
    "EntityContent",
    "EntityErased",
    "EntityEvent",
    "EntityForgotten",
    "EntityKept",
    "EntityObserved",
    "EntityRestored",
    "EntityReverted",
    "EntityUpdated",
    "RelationAsserted",
    "RelationEnded",
    "RelationErased",
    "RelationEvent",
    "RelationForgotten",
    "RelationObserved",
    "RelationRestored",
    "RelationRetired",
    "RelationReverted",
    "RelationWithdrawn",
    "Telling",
    "ToldEvent",
    "ValidityEvent",
    "precisions_of",
    "retold_by",
    "validity_of",
]


def validity_of(event: Event) -> tuple[Validity, ...]:
    """The validities that an event changes."""
    match event:
        case ValidityEvent() | EntitiesMerged() | EntityReverted():
            return event.validity
        case _:
            return ()


def retold_by(event: Event) -> Mapping[UUID, Beliefs]:
    """All beliefs of the relations of which an event that was told late changes earlier ones."""
    retold = event.retold if isinstance(event, ToldEvent) else None
    return {one.relation_id: one for one in retold or ()}


def precisions_of(event: Event) -> Mapping[datetime, Precision | None]:
    """How exactly the dates are known that an event tells; None is to the day."""
    match event:
        case RelationAsserted():
            until = {event.valid_to: event.until_precision} if event.valid_to else {}
            return {event.valid_from: event.since_precision, **until}
        case RelationEnded():
            return {event.valid_to: event.until_precision}
        case _:
            return {}
