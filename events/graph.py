"""The events of entities and relations, under one name."""

from mnemolog.domain.facts import Validity
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
    "ValidityEvent",
    "validity_of",
]


def validity_of(event: Event) -> tuple[Validity, ...]:
    """The validities that an event changes."""
    match event:
        case ValidityEvent() | EntitiesMerged() | EntityReverted():
            return event.validity
        case _:
            return ()
