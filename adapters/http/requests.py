"""What requests have in common: who asks, when to read, in whose name to write; the engine, and ids in paths."""

import re
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Header, Path, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.moment import Consistency, Moment
from mnemolog.commands.memory_requests import EntityRef
from mnemolog.domain import identity
from mnemolog.domain.memory_key import MAX_REFS
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, MAX_DIGITS, Position, StreamId
from mnemolog.events.fields import Id
from mnemolog.events.shapes import MOMENT, id_text_shape

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
    WithJsonSchema({"anyOf": [MOMENT, {"type": "integer", "minimum": 0, "maximum": 10**MAX_DIGITS - 1}]}),
    Field(
        description="A time with its offset, or a seq of the user's stream: the answer that it would have been then.",
        examples=["2026-01-03T01:02:10Z", 42],
    ),
]
After = Annotated[
    str,
    Field(
        max_length=LONGEST_TOKEN,
        json_schema_extra={"pattern": r"^[A-Za-z0-9._-]{1,40}/.+@[0-9]{1,18}$"},
        description="A receipt's `token`: wait until that write is visible. With `as_of` there is nothing to wait for.",
        examples=["default/user:ana@42"],
    ),
]
Deadline = Annotated[
    float,
    Field(
        gt=0,
        allow_inf_nan=False,
        description="Wait at most so many seconds for what must be seen, then 504. The server's `read_deadline` unless "
        "said.",
        examples=[2.5],
    ),
]
ReadConsistency = Annotated[
    Consistency,
    Field(
        description="`strong`: see every write that was acknowledged before this request. `eventual`: do not wait for "
        "the read models, which follow some milliseconds later. Ignored with `after` and with `as_of`.",
    ),
]
Limit = Annotated[int, Field(ge=1, le=1000)]


class Asked(BaseModel):
    """A field that is not known is refused, not ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class When(Asked):
    """When to read: live, at an earlier moment, or once a write is visible."""

    as_of: AsOf | None = None
    after: After | None = None
    deadline: Deadline | None = None
    consistency: ReadConsistency = "strong"

    def moment(self) -> Moment:
        after = Position.of_token(self.after) if self.after is not None else None
        return Moment(self.as_of, after, self.deadline, self.consistency)


class Asker(Asked):
    """Whose memory, and which agent asks: it sees what is global, and its own."""

    user_id: Id
    agent_id: Id = DEFAULT_AGENT


class MemoryRead(Asker, When):
    """One memory."""


class CardsRead(Asker, When):
    """What matters most about somebody or something, by their references."""

    ref: Annotated[list[EntityRef], Field(min_length=1, max_length=MAX_REFS)]


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
    consistency: ReadConsistency = "strong"


class Writer(Asker):
    """Whose memory, which agent writes, in which thread the change is told, and in which run it was made."""

    thread_id: Id = DEFAULT_THREAD
    run_id: Id | None = None


async def _engine(request: Request) -> Engine:
    """An engine that reads and writes in the name of the request's principal, and no further than that reaches."""
    engine: Engine = request.app.state.engine
    principal = request.state.principal
    return engine.by(principal) if principal else engine.of_anybody()


def path_id(name: str) -> Any:
    """The id of this name in a path."""

    async def read(id_: Annotated[str, Path(alias=name, json_schema_extra={"format": "uuid"})]) -> UUID:
        return identity.parse_uuid(id_, name)

    return Depends(read)


async def _idempotency_key(
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            json_schema_extra=id_text_shape(),
            description="A retry of the same request with the same key changes nothing and gets the first receipt.",
            examples=["9f1c7a52-first-try"],
        ),
    ] = None,
) -> str | None:
    return None if idempotency_key is None else identity.identifier(idempotency_key, "idempotency_key")


IdInPath = Annotated[str, Path(json_schema_extra=id_text_shape())]
TheEngine = Annotated[Engine, Depends(_engine)]
MemoryId = Annotated[UUID, path_id("memory_id")]
IdempotencyKey = Annotated[str | None, Depends(_idempotency_key)]


def viewer_of(engine: Engine, asker: Asker) -> Viewer:
    return Viewer(engine.settings.tenant, asker.user_id, asker.agent_id)


def stream_of(engine: Engine, asker: Asker) -> StreamId:
    return StreamId.of_user(asker.user_id, engine.settings.tenant)


def fields_of(engine: Engine, asked: Asked, *without: str) -> dict[str, Any]:
    """What the caller set, and the tenant; the rest is the command's own default."""
    return {**asked.model_dump(exclude_unset=True, exclude=set(without)), "tenant": engine.settings.tenant}
