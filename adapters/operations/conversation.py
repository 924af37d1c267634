"""Operations on a conversation: add messages, read a session."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID, uuid5

from pydantic import AliasGenerator, BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from mnemolog.adapters.nats.turn_message import TurnMessage
from mnemolog.adapters.operations import openai_messages
from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Read, Write, fields_of, viewer_of
from mnemolog.adapters.operations.results import Result, Written
from mnemolog.commands.heard import TurnRefused
from mnemolog.commands.memory_requests import Metadata
from mnemolog.commands.sent import MAX_LONG_BYTES, LongText, long_words
from mnemolog.domain.errors import AmbiguousEntity, IdempotencyConflict, InvalidInput, MnemologError, NotFound
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import DEFAULT_THREAD
from mnemolog.events.fields import AtMost, Id, Uuid, checked_by
from mnemolog.events.shapes import label_shape

MAX_MESSAGES = 100
# The names that chat APIs use for fields of a turn.
CHAT_NAMES = {"text": "content", "speaker": "name"}
MESSAGE_NAMES = {**CHAT_NAMES, "turn_id": "message_id"}
OPTIONAL = ("message_id", "occurred_at")
WORDS = {"anyOf": [*label_shape(MAX_LONG_BYTES)["anyOf"], openai_messages.PARTS]}
Content = Annotated[str, checked_by(long_words), WithJsonSchema(WORDS)]
_OF_A_MESSAGE = (InvalidInput, IdempotencyConflict, AmbiguousEntity, NotFound)
# Derives turn ids from the idempotency key of the request.
KEYED = UUID("5d1a5ad1-9a5c-5a60-8f0c-3a1b2c7d9e42")


def _message_fields() -> dict[str, Any]:
    """The fields of a turn as producers publish it, without those that a request has once for all messages."""
    once = {*Write.model_fields, "correlation_id"}
    fields: dict[str, Any] = {}
    for name, field in TurnMessage.model_fields.items():
        if name == "text":
            fields[name] = (Content, Field("", description=field.description))
        elif name in OPTIONAL:
            fields[name] = (field.rebuild_annotation() | None, Field(None, description=field.description))
        elif name not in once:
            fields[name] = (field.rebuild_annotation(), field)
    return fields


class _Named(BaseModel):
    """Accept fields under the names of chat APIs or of producers."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        alias_generator=AliasGenerator(alias=lambda name: CHAT_NAMES.get(name, name)),
    )


Message: Any = create_model(
    "Message", __base__=_Named, __doc__="One message, and what was extracted from it.", **_message_fields()
)


def _listed(value: object, field: str) -> object:
    """Accept a single message, or a plain text, and messages as the OpenAI API has them."""
    many = value if isinstance(value, list | tuple) else [value]
    if len(many) > MAX_MESSAGES:
        return many
    return [_read(one, f"{field}[{place}]") for place, one in enumerate(many)]


def _read(one: object, path: str) -> object:
    if isinstance(one, str):
        return {"content": one}
    return openai_messages.read(one, path) if isinstance(one, Mapping) else one


LENGTH = Field(min_length=1, max_length=MAX_MESSAGES)
SHAPE: Any = LongText | Message | Annotated[list[LongText | Message], LENGTH]
Messages = Annotated[
    tuple[Message, ...], AtMost(MAX_MESSAGES, least=1), checked_by(_listed, json_schema_input_type=SHAPE)
]


class Add(Write):
    """One or more messages of one thread."""

    messages: Annotated[
        Messages,
        Field(
            description='A text, a message such as {"role": "user", "content": "Hi"}, with "occurred_at" if it was said'
            " earlier, or a list of them.",
            examples=[[{"role": "user", "name": "Ana", "content": "I moved to Lisbon"}]],
        ),
    ]
    metadata: Annotated[
        Metadata, Field(description="Your own JSON object for all messages; the metadata of a message is added to it.")
    ] = {}  # noqa: RUF012
    correlation_id: Annotated[
        Uuid | None, Field(description=TurnMessage.model_fields["correlation_id"].description)
    ] = None


class Added(Written):
    """The receipt, and the id of each message, in order."""

    message_ids: list[str] = Field(description="The ids of the messages, as in `source_turn_ids` of memories.")

    @property
    def message_id(self) -> str:
        """The id of the first message."""
        return self.message_ids[0]


class SessionRead(Read):
    """The working memory of a thread."""

    thread_id: Annotated[Id, Field(description="The thread.")] = DEFAULT_THREAD


class SessionTurn(Result):
    """The text, with captions such as `[image: a bicycle]` and a line for each artifact: `[image#A7F3C2] a bicycle`."""

    role: str
    text: str


class Session(Result):
    """The session of a thread."""

    slot_contract_version: str
    user_id: str
    agent_id: str
    chat_id: str = Field(description="The thread.")
    msg_count: int
    summary: str
    turns: list[SessionTurn] = Field(description="The last twenty messages, oldest first.")
    scratch: dict[str, Any]
    active_entity_ids: list[str] = Field(description="Speakers and entities mentioned, latest first.")
    updated_at: str


@operation(
    "add",
    "POST /turns",
    tag="conversation",
    arguments=("messages",),
    done="Added",
    status=201,
    example={
        "user_id": "ana",
        "messages": [
            {"role": "user", "name": "Ana", "content": "I moved to Lisbon"},
            {"role": "assistant", "content": "How do you like it?"},
        ],
    },
    role=Role.PUBLISH,
)
async def add(engine: Engine, request: Add) -> Added:
    """Add messages to a conversation.

    All are recorded atomically, together with the `memories` and `facts` that you extracted from them, and `search`
    finds them. A retry is safe with your own `message_id`s or an idempotency key. Messages may be passed as the OpenAI
    API has them: with content in parts, with calls of tools, with the role `developer`.
    """
    from mnemolog.adapters.artifacts.of_messages import with_artifacts

    context = {
        name: value for name, value in fields_of(engine, request).items() if name not in ("messages", "metadata")
    }
    turns = [{**context, **_turn(engine, request, place, message)} for place, message in enumerate(request.messages)]
    keyed = request.idempotency_key is not None and all(one.message_id is None for one in request.messages)
    try:
        async with with_artifacts(engine, turns, keyed=keyed) as said:
            added = await engine.writes.add(said, keyed=keyed)
    except TurnRefused as refused:
        raise _within_message(refused, keyed=keyed) from refused
    return Added.of(added.receipt, message_ids=added.message_ids)


def _turn(engine: Engine, request: Add, place: int, message: Any) -> Mapping[str, Any]:
    said = message.model_dump(exclude={"message_id"}, exclude_unset=True, exclude_none=True)
    said["metadata"] = {**request.metadata, **message.metadata}
    return {**said, "turn_id": message.message_id or _turn_id(engine, request, place), "actor": message.role}


def _turn_id(engine: Engine, request: Add, place: int) -> str:
    if request.idempotency_key is None:
        return engine.writes.new_turn_id()
    return str(uuid5(KEYED, f"{request.agent_id}\n{request.idempotency_key}\n{place}"))


def _within_message(refused: TurnRefused, *, keyed: bool) -> MnemologError:
    """The error of a turn, with the message's position and field names."""
    error = refused.error
    name, dot, rest = error.field.partition(".")
    if keyed and isinstance(error, IdempotencyConflict):
        return IdempotencyConflict(field="idempotency_key", fix="use a new key for other messages")
    if isinstance(error, _OF_A_MESSAGE) and name not in Write.model_fields:
        error.field = f"messages[{refused.place}].{MESSAGE_NAMES.get(name, name)}{dot}{rest}"
    return error


@operation("session", "GET /session", tag="conversation")
async def session(engine: Engine, request: SessionRead) -> Session:
    """Read the session of a thread: the latest messages, and who and what they are about.

    A session ends after a day without messages.
    """
    found = await engine.reads.shown_session(viewer_of(engine, request), request.thread_id, request.moment())
    return Session.model_validate(found.as_dict())
