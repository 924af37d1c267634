"""What may be asked of entities: the requests, each checked by the domain's rules."""

from typing import Annotated, ClassVar

from pydantic import Field, JsonValue, WithJsonSchema

from mnemolog.commands.graph import GraphCommand
from mnemolog.commands.naming import Name, Seen
from mnemolog.commands.scoped import Scoped
from mnemolog.domain.entity import MAX_CATEGORY, THING
from mnemolog.domain.identity import identifier
from mnemolog.domain.json_value import checked_json
from mnemolog.domain.memory import MAX_MERGE
from mnemolog.events.fields import Flag, Id, Instant, Label, Unit, Uuid, checked_by
from mnemolog.events.shapes import id_shape

MAX_ALIASES = 50
Category = Annotated[
    str, checked_by(lambda value, field: identifier(value, field, MAX_CATEGORY)), WithJsonSchema(id_shape(MAX_CATEGORY))
]
Aliases = Annotated[tuple[Name, ...], Field(max_length=MAX_ALIASES)]
Attributes = Annotated[dict[str, JsonValue], checked_by(checked_json)]


class ObserveEntity(GraphCommand, Scoped):
    """Whoever bears the name, made known if nobody does; with `another`, one more of that name.

    Of somebody known, what is new is added: aliases and attributes, and a category where none was known.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"at", "entity_id", "seen"})

    name: Name = Field(description="What it is called.")
    category: Category = Field(
        THING, description="What it is, such as Person, Location, Organization or Project.", examples=["Person"]
    )
    aliases: Aliases = Field((), description="Further names.")
    attributes: Attributes = Field({}, description="What else is known, as a JSON object.")
    confidence: Unit = Field(1.0, description="How sure it is, from 0 to 1.")
    another: Flag = Field(False, description="Add one more of this name, even if there is one already.")
    source_turn_ids: tuple[Id, ...] = Field((), description="The turns that it comes from.")
    entity_id: Uuid
    seen: tuple[Seen, ...] = ()


class EntityCommand(GraphCommand):
    """A request about one entity."""

    entity_id: Uuid = Field(description="The entity's id.")


class UpdateEntity(EntityCommand):
    """Fields that are None stay as they are; a name that is replaced stays as an alias."""

    name: Name | None = Field(None, description="Its new name; the old one stays as an alias.")
    category: Category | None = Field(
        None, description="What it is, such as Person, Location, Organization or Project."
    )
    aliases: Aliases | None = Field(None, description="Its further names, in place of those that it has.")
    attributes: Attributes | None = Field(None, description="Its attributes, in place of those that it has.")
    confidence: Unit | None = Field(None, description="How sure it is, from 0 to 1.")


class AddAlias(EntityCommand):
    """A further name, maybe the answer to a `question` that was asked (A §10.2)."""

    alias: Name = Field(description="The further name.")
    question: Label = Field("", description="The question that it answers, if one was asked.")


class MergeEntities(EntityCommand):
    """`entity_id` survives; the others stand for it from now on, and their names are its aliases."""

    absorbed_ids: tuple[Uuid, ...] = Field(
        description="The ids of the entities that are the same as this one.",
        json_schema_extra={"minItems": 1, "maxItems": MAX_MERGE, "uniqueItems": True},
    )


class ForgetEntity(EntityCommand):
    """It is hidden with all that is told of it, and purged 30 days later unless it is restored."""

    reason: Label = Field("", description="Why; it is kept in the history, encrypted as texts are.")
    at: Instant


class RestoreEntity(EntityCommand):
    """It is shown again."""
