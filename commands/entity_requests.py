"""The commands on entities, validated by the domain's rules."""

from typing import Annotated, ClassVar

from pydantic import Field, JsonValue, WithJsonSchema

from mnemolog.commands.graph import GraphCommand
from mnemolog.commands.naming import Name, Seen
from mnemolog.commands.scoped import Scoped
from mnemolog.domain.entity import MAX_CATEGORY, THING, category_of
from mnemolog.domain.identity import identifier
from mnemolog.domain.json_value import checked_json
from mnemolog.domain.memory import MAX_MERGE
from mnemolog.events.fields import AtMost, Flag, Ids, Instant, Label, Unit, Uuid, Uuids, checked_by
from mnemolog.events.shapes import id_shape

MAX_ALIASES = 50
Category = Annotated[
    str,
    checked_by(lambda value, field: category_of(identifier(value, field, MAX_CATEGORY))),
    WithJsonSchema(id_shape(MAX_CATEGORY)),
]
Aliases = Annotated[tuple[Name, ...], AtMost(MAX_ALIASES)]
Attributes = Annotated[dict[str, JsonValue], checked_by(checked_json)]


class ObserveEntity(GraphCommand, Scoped):
    """Add an entity, or extend the one with this name; with `another`, add one more with the same name.

    New aliases and attributes are added to a known entity, and a category if it had none.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"at", "entity_id", "seen"})

    name: Name = Field(description="The name.")
    category: Category = Field(
        THING, description="The category, such as Person, Location, Organization or Project.", examples=["Person"]
    )
    aliases: Aliases = Field((), description="Aliases.")
    attributes: Attributes = Field({}, description="Further attributes, as a JSON object.")
    confidence: Unit = Field(1.0, description="The confidence, 0 to 1.")
    another: Flag = Field(False, description="Add another entity even if one with this name exists.")
    source_turn_ids: Ids = Field((), description="The source turns.")
    entity_id: Uuid
    seen: tuple[Seen, ...] = ()


class EntityCommand(GraphCommand):
    """A request about one entity."""

    entity_id: Uuid = Field(description="The entity's id.")


class UpdateEntity(EntityCommand):
    """Fields that are None stay the same; a replaced name is kept as an alias."""

    name: Name | None = Field(None, description="The new name; the old one is kept as an alias.")
    category: Category | None = Field(
        None, description="The category, such as Person, Location, Organization or Project."
    )
    aliases: Aliases | None = Field(None, description="The new aliases, replacing all current ones.")
    attributes: Attributes | None = Field(None, description="The new attributes, replacing all current ones.")
    confidence: Unit | None = Field(None, description="The confidence, 0 to 1.")


class AddAlias(EntityCommand):
    """A new alias, possibly the answer to a `question` (A §10.2)."""

    alias: Name = Field(description="The alias.")
    question: Label = Field("", description="The question that it answers, if any.")


class MergeEntities(EntityCommand):
    """`entity_id` survives; the others resolve to it, and their names become its aliases."""

    absorbed_ids: Uuids = Field(
        description="The ids of the entities that are the same as this one.",
        json_schema_extra={"minItems": 1, "maxItems": MAX_MERGE, "uniqueItems": True},
    )


class ForgetEntity(EntityCommand):
    """Hides an entity and the facts about it; purged after 30 days unless restored."""

    reason: Label = Field("", description="The reason, stored encrypted in the history.")
    at: Instant


class RestoreEntity(EntityCommand):
    """Restores a deleted entity."""
