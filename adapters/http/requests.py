"""What may be asked over HTTP: the bodies and the query parameters, in the field types of the commands."""

import re
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Header, Path, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.moment import LONGEST_DEADLINE, Moment
from mnemolog.commands.memory_requests import EntityRefs, Key, Topics, TurnIds, Weight
from mnemolog.domain import identity
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.importance import Scale
from mnemolog.domain.memory import Kind
from mnemolog.domain.memory_key import EntityType, FactType, MemoryType, Source
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, Position, StreamId
from mnemolog.events.fields import Flag, Id, Label, Text, Unit, Uuid
from mnemolog.projections.query import MemoryQuery

BIGGEST_SEQ = 2**63 - 1  # What Postgres' bigint holds.
LONGEST_TOKEN = 300


def _point(value: object, info: ValidationInfo) -> datetime | int:
    """A seq in digits, or a time with its offset."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value):
        return int(value)
    return identity.aware(value, info.field_name or "as_of")


AsOf = Annotated[
    datetime | int,
    BeforeValidator(_point),
    Field(
        description="A time with its offset, or a seq of the user's stream: the answer that it would have been then.",
        examples=["2026-01-03T01:02:10Z", 42],
    ),
]
After = Annotated[
    str,
    Field(
        max_length=LONGEST_TOKEN,
        description="A receipt's `token`: wait until that write is visible. With `as_of` there is nothing to wait for.",
        examples=["default/user:ana@42"],
    ),
]
Deadline = Annotated[
    float,
    Field(
        gt=0,
        le=LONGEST_DEADLINE,
        description="With `after`: wait at most so many seconds, then 504. The server's `read_deadline` unless said.",
        examples=[2.5],
    ),
]
Limit = Annotated[int, Field(ge=1, le=1000)]


class _Asked(BaseModel):
    """A field that is not known is refused, not ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class When(_Asked):
    """When to read: live, at an earlier moment, or once a write is visible."""

    as_of: AsOf | None = None
    after: After | None = None
    deadline: Deadline | None = None

    def moment(self) -> Moment:
        after = Position.of_token(self.after) if self.after is not None else None
        return Moment(self.as_of, after, self.deadline)


class Asker(_Asked):
    """Whose memory, and which agent asks: it sees what is global, and its own."""

    user_id: Id
    agent_id: Id = DEFAULT_AGENT


class MemoryRead(Asker, When):
    """One memory."""


class LinksRead(Asker, When):
    """What a memory is linked to."""


class HistoryRead(Asker, When):
    """The newest entries of a memory's history."""

    limit: Limit = 100


class NewestRead(Asker, When):
    """The memories that changed last."""

    limit: Limit = 20


class ChangesRead(Asker, When):
    """What changed in a thread since a revision."""

    thread_id: Id = DEFAULT_THREAD
    since: Annotated[int, Field(ge=0, le=BIGGEST_SEQ)] = 0


class SessionRead(Asker):
    """The working memory of a chat. It is kept for now only, so it takes no `as_of`."""

    chat_id: Id = DEFAULT_THREAD
    after: After | None = None
    deadline: Deadline | None = None


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


class Writer(Asker):
    """Whose memory, which agent writes, in which thread the change is told, and in which run it was made."""

    thread_id: Id = DEFAULT_THREAD
    run_id: Id | None = None


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
    type: MemoryType | None = None
    entity_type: EntityType | None = None
    fact_type: FactType | None = None
    source: Source = Source.API
    memory_key: Key = ""
    entity_refs: EntityRefs = ()
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

    absorbed_ids: tuple[Uuid, ...]
    text: Text | None = None


class Link(Writer):
    """The memory to link to; `strength` lies in [0, 1]."""

    to_id: Uuid
    relation_type: Id = "related_to"
    strength: Unit = 1.0


class Undo(Writer):
    """The event to undo, from a receipt or a history."""

    event_id: Uuid


class Deletion(Writer):
    """Who deletes, and why. The reason is sealed like a text; the URL that carries it may stand in access logs."""

    reason: Label = ""
    hard: Annotated[bool, Field(description="Erase it for good instead: it cannot be undone.")] = False
    keep_turns: Annotated[bool, Field(description="With `hard`: leave the turns that it was drawn from.")] = False
    with_survivors: Annotated[bool, Field(description="With `hard`: erase what it was merged into as well.")] = False


class ThreadErasure(Asker):
    """Whose thread, and who asks."""

    with_survivors: Annotated[bool, Field(description="Erase what its memories were merged into as well.")] = False


class UserErasure(_Asked):
    """Who asks."""

    agent_id: Id = DEFAULT_AGENT


async def _engine(request: Request) -> Engine:
    """An engine that reads and writes in the name of the request's principal, and no further than that reaches."""
    engine: Engine = request.app.state.engine
    return engine.by(request.state.principal)


async def _memory_id(memory_id: Annotated[str, Path(json_schema_extra={"format": "uuid"})]) -> UUID:
    return identity.parse_uuid(memory_id, "memory_id")


async def _idempotency_key(
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="A retry of the same request with the same key changes nothing and gets the first receipt.",
            examples=["9f1c7a52-first-try"],
        ),
    ] = None,
) -> str | None:
    return None if idempotency_key is None else identity.identifier(idempotency_key, "idempotency_key")


TheEngine = Annotated[Engine, Depends(_engine)]
MemoryId = Annotated[UUID, Depends(_memory_id)]
IdempotencyKey = Annotated[str | None, Depends(_idempotency_key)]


def viewer_of(engine: Engine, asker: Asker) -> Viewer:
    return Viewer(engine.settings.tenant, asker.user_id, asker.agent_id)


def stream_of(engine: Engine, asker: Asker) -> StreamId:
    return StreamId.of_user(asker.user_id, engine.settings.tenant)
