"""Base classes of requests: user and agent, read options, pagination, idempotency."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar, overload
from uuid import UUID, uuid4, uuid5

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema, create_model

from mnemolog.adapters.operations.engine import Engine
from mnemolog.commands.decider import Command
from mnemolog.domain import identity
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, MAX_DIGITS, Position, StreamId
from mnemolog.events.fields import Flag, Id, validated
from mnemolog.events.shapes import DAY, MOMENT
from mnemolog.projections.reads.moment import Consistency, Moment

C = TypeVar("C", bound=Command)
W = TypeVar("W", bound="Write")

LONGEST_TOKEN = 300
_RUNS = UUID("5b0c2a4e-8d5f-5c07-9a53-0d5b1f7e6c94")
_SEQ = "@?[0-9]{1,18}"
# Fields that the engine sets, in addition to those that a command generates.
SET_BY_ENGINE = frozenset({"tenant", "actor", "consenting", "agents", "correlation_id"})


def _point(value: object, info: ValidationInfo) -> datetime | int:
    """A seq, also as digits or with a leading @, or a time with an offset."""
    name = info.field_name or "as_of"
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**MAX_DIGITS:
        return value
    if isinstance(value, str) and re.fullmatch(_SEQ, value):
        return int(value.removeprefix("@"))
    return identity.aware(value, name)


AsOf = Annotated[
    datetime | int,
    BeforeValidator(_point),
    WithJsonSchema({"anyOf": [MOMENT, {"type": "integer", "minimum": 0, "maximum": 10**MAX_DIGITS - 1}]}),
]


def _point_or_day(value: object, info: ValidationInfo) -> datetime | int:
    if isinstance(value, str) and not re.fullmatch(_SEQ, value):
        return identity.day_or_instant(value, info.field_name or "valid_at")
    return _point(value, info)


def _point_or_any(value: object, info: ValidationInfo) -> object:
    return value if value == "any" else _point_or_day(value, info)


# A flag in a query string comes as text.
QueryFlag = Annotated[Flag, BeforeValidator(lambda value: {"true": True, "false": False}.get(str(value), value))]
_DAY_AS_OF = [*DAY["anyOf"], {"type": "integer", "minimum": 0, "maximum": 10**MAX_DIGITS - 1}]
DayAsOf = Annotated[datetime | int, BeforeValidator(_point_or_day), WithJsonSchema({"anyOf": _DAY_AS_OF})]
AnyTime = Annotated[
    datetime | int | Literal["any"],
    BeforeValidator(_point_or_any),
    WithJsonSchema({"anyOf": [*_DAY_AS_OF, {"const": "any"}]}),
]
After = Annotated[
    str,
    Field(
        max_length=LONGEST_TOKEN,
        json_schema_extra={"pattern": r"^[A-Za-z0-9._-]{1,40}/.+@[0-9]{1,18}$"},
    ),
]
Deadline = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1, le=1000, description="The maximum number of items on a page.")]
Cursor = Annotated[str, Field(max_length=1000)]


class AnyRequest(BaseModel):
    """Unknown fields are refused, not ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Request(AnyRequest):
    """The user and the agent."""

    user_id: Annotated[Id, Field(description="The user whose memory is read or written.", examples=["ana"])]
    agent_id: Annotated[Id, Field(description="The agent, which sees global items and its own.")] = DEFAULT_AGENT


class LibraryRequest(AnyRequest):
    """The agent whose library it is. A library has no user."""

    agent_id: Annotated[Id, Field(description="The agent whose library is read or written.")] = DEFAULT_AGENT


class ReadOptions(AnyRequest):
    """A read: current, as of an earlier moment, or after a write is visible."""

    as_of: AsOf | None = Field(
        None,
        description="Read as of this moment: a time with an offset, or a sequence number of the stream.",
        examples=["2026-01-03T01:02:10Z", 42],
    )
    after: After | None = Field(
        None, description="The `token` of a write that the result must include.", examples=["default/user:ana@42"]
    )
    deadline: Deadline | None = Field(
        None,
        description="The maximum wait in seconds for the writes to include. Default: the setting `read_deadline`, and "
        "longer while they are being applied.",
        examples=[2.5],
    )
    consistency: Consistency = Field(
        "strong",
        description="`strong` includes every write acknowledged before; `eventual` does not wait for the read models, "
        "which lag by some milliseconds. Ignored with `after` and `as_of`.",
    )

    def moment(self) -> Moment:
        after = Position.of_token(self.after) if self.after is not None else None
        return Moment(self.as_of, after, self.deadline, self.consistency)


class Read(ReadOptions, Request):
    """A read of what is known about a user."""


class Paging(AnyRequest):
    """A paginated read of a list."""

    limit: Limit = 100
    cursor: Cursor | None = Field(None, description="The `next_cursor` of the previous page.")


class PagedRead(Paging, Read):
    """A paginated read of a list of what is known about a user."""


class Keyed(AnyRequest):
    """A write. A retry with the same idempotency key changes nothing and returns the original result."""

    idempotency_key: Annotated[
        Id | None, Field(description="Your own key for this request: a retry with the same key changes nothing.")
    ] = None


class WriteOptions(Keyed):
    """A write that is reported in a thread."""

    thread_id: Annotated[Id, Field(description="The thread in which the change is reported.")] = DEFAULT_THREAD
    run_id: Annotated[Id | None, Field(description="The run it belongs to, such as an episode.")] = None


class Write(WriteOptions, Request):
    """A write to what is known about a user."""


class Rehearsal(WriteOptions):
    """A write that can be previewed."""

    dry_run: Annotated[Flag, Field(description="Return what would be done, and change nothing.")] = False


class Rehearsed(Rehearsal, Write):
    """A write to what is known about a user, which can be previewed."""


@overload
def request_of(command: type[Command], *without: str, base: type[W], **more: Any) -> type[W]: ...
@overload
def request_of(command: type[Command], *without: str, **more: Any) -> type[Write]: ...
def request_of(command: type[Command], *without: str, base: type[Write] = Write, **more: Any) -> type[Write]:
    """The request model for a command: its fields except those in `without` and those the engine sets or generates.

    `more` are additional or replaced fields, in the form of `create_model`.
    """
    left_out = SET_BY_ENGINE | command.generated | set(base.model_fields) | set(without)
    own = {
        name: (Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation, field)
        for name, field in command.model_fields.items()
        if name not in left_out
    }
    return create_model(command.__name__, __base__=base, __doc__=command.__doc__, **{**own, **more})


def command_of(kind: type[C], engine: Engine, request: AnyRequest, /, **more: Any) -> C:
    """The command for a request, with the engine's tenant and the current time."""
    given = request.model_dump(include=set(kind.model_fields), exclude_unset=True)
    now = {"at": engine.writes.now()} if "at" in kind.model_fields else {}
    return validated(kind, {**given, **now, **more, "tenant": engine.settings.tenant})


def fields_of(engine: Engine, request: AnyRequest) -> dict[str, Any]:
    """The fields that the caller gave for a command, with the engine's tenant."""
    return {**request.model_dump(exclude_unset=True, exclude={"idempotency_key"}), "tenant": engine.settings.tenant}


class RunRequest(Keyed, Request):
    """What is done in one run, which `rollback` undoes as a whole."""


def viewer_of(engine: Engine, request: Request) -> Viewer:
    return Viewer(engine.settings.tenant, request.user_id, request.agent_id)


def library_of(engine: Engine, request: LibraryRequest) -> Viewer:
    """The agent as a reader of its library."""
    return Viewer.of_library(engine.settings.tenant, request.agent_id)


def stream_of(engine: Engine, request: Request) -> StreamId:
    return StreamId.of_user(request.user_id, engine.settings.tenant)


def run_uuid(engine: Engine, request: RunRequest) -> UUID:
    """The same for the same idempotency key, so that a retry continues the run."""
    if request.idempotency_key is None:
        return uuid4()
    principal = engine.principal.name if engine.principal else ""
    return uuid5(_RUNS, "\n".join((principal, request.user_id, request.agent_id, request.idempotency_key)))
