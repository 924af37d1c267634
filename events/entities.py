"""Events of entities (A §4.1).

Each event carries the complete new state of its entity.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from mnemolog.domain.facts import Validity
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import Event, Personal, PersonalText, ShredsItsKey
from mnemolog.events.graph_tags import entity_tag, name_tag, relation_tags

# The tag of version 1 of EntityObserved.
ENTITIES = "entities"

# The source of words that a caller gave without a turn.
SAID = "said"

Attributes = dict[str, JsonValue]


class Telling(BaseModel):
    """Names of an entity and keys of its attributes, with their sources.

    `sources` are tags of turns, memories and merged entities; or `said`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: tuple[str, ...]
    names: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


class EntityEvent(Event):
    """An event of one entity, encrypted with that entity's key."""

    entity_id: UUID

    def key_scope(self) -> str:
        return entity_tag(self.entity_id)


class EntityContent(EntityEvent):
    """Carries the complete new state of an entity, which is found by its name and by each alias."""

    category: str
    confidence: float = 1.0
    name: PersonalText = ""
    aliases: Annotated[tuple[str, ...], Personal()] = ()
    attributes: Annotated[Attributes, Personal()] = {}  # noqa: RUF012

    def tags(self) -> frozenset[str]:
        return super().tags() | {name_tag(name) for name in (self.name, *self.aliases) if name}


class EntityObserved(EntityContent):
    """An entity was seen for the first time (A §4.1). `category` is Person, Location, Goal, ...

    Version 1 had the tag `entities`, so each turn read all entities of a user; version 2 is found by its name; version
    3 has its own key, so one entity can be erased.
    """

    version = 3

    scope: Scope
    agent_id: str | None = None
    source_turn_ids: tuple[str, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | {turn_tag(turn_id) for turn_id in self.source_turn_ids}


class EntityUpdated(EntityContent):
    """An entity changed, or turns confirmed what is known (then `changed` is empty).

    `told` lists what `source_turn_ids` said about it; these are None if the origin is unknown, as in version 1.
    """

    version = 2

    changed: tuple[str, ...]
    source_turn_ids: tuple[str, ...] | None = None
    told: Annotated[tuple[Telling, ...], Personal()] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(turn_tag, self.source_turn_ids or ()))


class EntityAliased(EntityContent):
    """An entity got an alias. `question`: the question that the alias answers, if one was asked (A §10.2)."""

    alias: PersonalText = ""
    question: PersonalText = ""


class EntitiesMerged(EntityContent):
    """`entity_id` survives with this content; the absorbed entities are hidden and resolve to it (D13)."""

    absorbed_ids: tuple[UUID, ...]
    validity: tuple[Validity, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(entity_tag, self.absorbed_ids)) | relation_tags(self.validity)


class EntityForgotten(EntityEvent):
    """An entity is hidden, with the facts about it, and will be purged at `purge_at` unless it is restored (A19)."""

    purge_at: datetime
    reason: PersonalText = ""


class EntityRestored(EntityEvent):
    """A deleted entity is active again."""


class EntityReverted(EntityContent):
    """Undo: one entity is restored to its state before the event `undoes`; `was` is its previous status (X03).

    Undoing a merge writes one of these for each of its entities.
    """

    undoes: UUID
    was: Status
    status: Status
    merged_into: UUID | None = None
    purge_at: datetime | None = None
    validity: tuple[Validity, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | relation_tags(self.validity)


class EntityCleared(ShredsItsKey, EntityEvent):
    """All text about an entity is destroyed; the next event restates the part that stays.

    Written if an erased turn mentioned an entity that others mention too.
    """


class EntityKept(EntityContent):
    """The part of a cleared entity that stays; `told` has its sources, and `source_turn_ids` the turns among them."""

    source_turn_ids: tuple[str, ...] = ()
    told: Annotated[tuple[Telling, ...], Personal()] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(turn_tag, self.source_turn_ids))


class EntityErased(ShredsItsKey, EntityEvent):
    """The names and attributes of an entity are destroyed."""
