"""What happens to an entity: it is seen, named, merged, hidden, cleared of words, and erased (A §4.1).

Each event carries all that its entity is afterwards.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from mnemolog.domain.facts import Validity
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import Event, Personal, PersonalText
from mnemolog.events.graph_tags import entity_tag, name_tag, relation_tags

# What version 1 of EntityObserved is found by.
ENTITIES = "entities"

# The source of words that somebody said without a turn.
SAID = "said"

Attributes = dict[str, JsonValue]


class Telling(BaseModel):
    """Names of an entity, and keys of its attributes, with what told them.

    `sources` are tags, of turns, of memories, of entities that were merged into it; or `said`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: tuple[str, ...]
    names: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


class EntityEvent(Event):
    """An event whose subject is one entity, sealed with that entity's key."""

    entity_id: UUID

    def tags(self) -> frozenset[str]:
        return frozenset({entity_tag(self.entity_id)})

    def key_scope(self) -> str:
        return entity_tag(self.entity_id)


class EntityContent(EntityEvent):
    """Carries all that an entity is afterwards. It is found by its name and by each alias."""

    category: str
    confidence: float = 1.0
    name: PersonalText = ""
    aliases: Annotated[tuple[str, ...], Personal()] = ()
    attributes: Annotated[Attributes, Personal()] = {}  # noqa: RUF012

    def tags(self) -> frozenset[str]:
        return super().tags() | {name_tag(name) for name in (self.name, *self.aliases) if name}


class EntityObserved(EntityContent):
    """A person, place or thing is seen for the first time (A §4.1). `category` is Person, Location, Goal, ...

    Version 1 was found by the tag `entities`, which made each turn read all of a user's; version 2 by its name; version
    3 is sealed with a key of its own, so that one entity can be erased.
    """

    version = 3

    scope: Scope
    agent_id: str | None = None
    source_turn_ids: tuple[str, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | {turn_tag(turn_id) for turn_id in self.source_turn_ids}


class EntityUpdated(EntityContent):
    """An entity reads differently from now on, or turns tell again what is known: then nothing is `changed`.

    `told` is what `source_turn_ids` told of it; these are None where nothing says what the new words come from, as in
    version 1.
    """

    version = 2

    changed: tuple[str, ...]
    source_turn_ids: tuple[str, ...] | None = None
    told: Annotated[tuple[Telling, ...], Personal()] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(turn_tag, self.source_turn_ids or ()))


class EntityAliased(EntityContent):
    """An entity got a further name. `question`: what the alias answers, when it was asked who was meant (A §10.2)."""

    alias: PersonalText = ""
    question: PersonalText = ""


class EntitiesMerged(EntityContent):
    """`entity_id` survives with this content; the absorbed are hidden, and stand for it from now on (D13)."""

    absorbed_ids: tuple[UUID, ...]
    validity: tuple[Validity, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(entity_tag, self.absorbed_ids)) | relation_tags(self.validity)


class EntityForgotten(EntityEvent):
    """An entity is hidden, with what is told of it, and will be purged at `purge_at` unless it is restored (A19)."""

    purge_at: datetime
    reason: PersonalText = ""


class EntityRestored(EntityEvent):
    """A forgotten entity is active again."""


class EntityReverted(EntityContent):
    """Undo: one entity is as it was before the event `undoes`; `was` is its status until now (X03).

    An undone merge leaves one of these for each of its entities.
    """

    undoes: UUID
    was: Status
    status: Status
    merged_into: UUID | None = None
    purge_at: datetime | None = None
    validity: tuple[Validity, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | relation_tags(self.validity)


class EntityCleared(EntityEvent):
    """Every word that was ever told of an entity is destroyed; what stays of it is told again by the next event.

    So goes what an erased turn told of somebody whom others speak of, too.
    """

    def shreds(self) -> frozenset[str]:
        return frozenset({entity_tag(self.entity_id)})


class EntityKept(EntityContent):
    """What stays of a cleared entity; `told` by what, `source_turn_ids` are the turns among that."""

    source_turn_ids: tuple[str, ...] = ()
    told: Annotated[tuple[Telling, ...], Personal()] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(turn_tag, self.source_turn_ids))


class EntityErased(EntityEvent):
    """The names and attributes of an entity are destroyed."""

    def shreds(self) -> frozenset[str]:
        return frozenset({entity_tag(self.entity_id)})
