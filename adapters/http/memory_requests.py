"""What may be asked of memories over HTTP, in the field types of the commands."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from mnemolog.adapters.http.requests import Writer
from mnemolog.commands.memory_requests import EntityIds, EntityRefs, Key, Topics, TurnIds, Weight, WrittenType
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.importance import Scale
from mnemolog.domain.memory import MAX_MERGE, Kind
from mnemolog.domain.memory_key import EntityType, FactType, Source
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.fields import Flag, Id, Label, Text, Unit, Uuid
from mnemolog.projections.query import MemoryQuery

# What the domain says of them, for those who only have the schema.
MERGED: JsonDict = {"minItems": 1, "maxItems": MAX_MERGE, "uniqueItems": True}


def _without_tenant(schema: dict[str, Any]) -> None:
    del schema["properties"]["tenant"]
    schema["examples"] = [
        {
            "agent": "planner",
            "query": "deployment plan context",
            "categories": ["tasks", "projects"],
            "filters": {"user_id": "ana", "pinned": False, "importance_min": 1, "updated_after": "2025-07-01"},
            "top_k": 3,
            "return": "bullets",
            "budget_tokens": 512,
            "thread_id": "main",
            "since_rev": 0,
        }
    ]


class QueryRequest(MemoryQuery):
    """The request of B §6. `since_rev` asks for the delta header of `thread_id`; `threshold` is a cosine similarity."""

    model_config = ConfigDict(json_schema_extra=_without_tenant)

    @model_validator(mode="before")
    @classmethod
    def _refuse_tenant(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and "tenant" in fields:
            raise InvalidInput("the tenant is the server's own", field="tenant", fix="leave this field out")
        return fields

    def of_tenant(self, tenant: str) -> MemoryQuery:
        return self.model_copy(update={"tenant": tenant})


class Weighed(Writer):
    """`importance` lies in [0, 1], unless `importance_scale` names another scale: `level3` 0 to 3, `level5` 1 to 5."""

    importance: Weight | None = None
    importance_scale: Scale = Scale.UNIT


class NewMemory(Weighed):
    """A memory to keep. `confidence` lies in [0, 1], `importance` on its scale; pinned, it is of the highest.

    With `memory_key`, or `type`, `fact_type` and `entity_refs` (`person:ana_silva`), which make one (D), the memory of
    that key is updated or observed instead; with `merge_similar`, one that says the same.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"user_id": "ana", "text": "Ana is lactose intolerant", "category": "profile", "pinned": True}]
        }
    )

    text: Text
    kind: Kind = Kind.FACT
    category: Id = "note"
    confidence: Unit = 1.0
    pinned: Flag = False
    scope: Scope = Scope.GLOBAL
    role: Role | None = None
    type: WrittenType | None = None
    entity_type: EntityType | None = None
    fact_type: FactType | None = None
    source: Source = Source.API
    memory_key: Key = ""
    entity_refs: EntityRefs = ()
    entity_ids: EntityIds = ()
    entity_label: Label = ""
    topics: Topics = ()
    source_turn_ids: TurnIds = ()
    merge_similar: Flag = False


class MemoryChange(Weighed):
    """What to change; fields that are left out or null stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ana", "text": "Ship v1 by September"}]})

    text: Text | None = None
    category: Id | None = None
    confidence: Unit | None = None
    pinned: Flag | None = None


class Merge(Writer):
    """The memories to absorb. Without a text the survivor keeps its own."""

    absorbed_ids: Annotated[tuple[Uuid, ...], Field(json_schema_extra=MERGED)]
    text: Text | None = None


class Link(Writer):
    """The memory to link to; `strength` lies in [0, 1]."""

    to_id: Uuid
    relation_type: Id = "related_to"
    strength: Unit = 1.0


class UndoLast(Writer):
    """Whose last change of a memory."""

    dry_run: Annotated[Flag, Field(description="Show what would be written, and change nothing.")] = False


class Undo(UndoLast):
    """The event to undo, from a receipt or a history."""

    event_id: Uuid


class Deletion(Writer):
    """Who deletes, and why. The reason is sealed like a text; the URL that carries it may stand in access logs."""

    reason: Label = ""
    hard: Annotated[bool, Field(description="Erase it for good instead: it cannot be undone.")] = False
    keep_turns: Annotated[bool, Field(description="With `hard`: leave the turns that it was drawn from.")] = False
    with_survivors: Annotated[bool, Field(description="With `hard`: erase what it was merged into as well.")] = False
