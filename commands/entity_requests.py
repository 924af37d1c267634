"""What may be asked of entities: the requests, each checked by the domain's rules."""

from typing import Annotated, ClassVar

from pydantic import Field, JsonValue, WithJsonSchema

from mnemolog.commands.graph import GraphCommand
from mnemolog.commands.naming import Name, Seen
from mnemolog.commands.scoped import Scoped
from mnemolog.domain.entity import MAX_CATEGORY, THING
from mnemolog.domain.identity import identifier
from mnemolog.domain.json_value import checked_json
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

    name: Name
    category: Category = THING
    aliases: Aliases = ()
    attributes: Attributes = {}  # noqa: RUF012
    confidence: Unit = 1.0
    another: Flag = False
    source_turn_ids: tuple[Id, ...] = ()
    entity_id: Uuid
    seen: tuple[Seen, ...] = ()


class EntityCommand(GraphCommand):
    """A request about one entity."""

    entity_id: Uuid


class UpdateEntity(EntityCommand):
    """Fields that are None stay as they are; a name that is replaced stays as an alias."""

    name: Name | None = None
    category: Category | None = None
    aliases: Aliases | None = None
    attributes: Attributes | None = None
    confidence: Unit | None = None


class AddAlias(EntityCommand):
    """A further name, maybe the answer to a `question` that was asked (A §10.2)."""

    alias: Name
    question: Label = ""


class MergeEntities(EntityCommand):
    """`entity_id` survives; the others stand for it from now on, and their names are its aliases."""

    absorbed_ids: tuple[Uuid, ...]


class ForgetEntity(EntityCommand):
    """It is hidden with all that is told of it, and purged 30 days later unless it is restored."""

    reason: Label = ""
    at: Instant


class RestoreEntity(EntityCommand):
    """It is shown again."""
