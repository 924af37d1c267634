"""The format of an exported user: a header, then one event per line, decrypted (X17).

    {"format": "mnemolog-user", "version": 1, "user_id": "ana", "events": 42, "head": 42, "policies": {...}}
    {"seq": 1, "event_id": "...", "type": "TurnRecorded", "version": 1, "meta": {...}, "data": {...}, ...}

The file of an artifact follows on a line of its own, as the blob store has it: encrypted with the key in the event.

    {"blob": "<sha256>", "content": "<base64>"}

Its content is null if the blob store has lost the file. An erased artifact has no such line.

With `checkpoints` in the first line, the parts of checkpoints follow, and a last line says how many those are.

An export over HTTP that fails after its first line ends with the error.

    {"error": {"code": "tampered_event", "message": "...", "field": "...", "fix": "..."}}

An erased event keeps its shape: its personal fields stand at their defaults, and `erased` says so. One that cannot be
read has no data: `unreadable` holds its stored bytes, in base64.
"""

from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mnemolog.adapters.checkpoints.store import MAX_NAMESPACE
from mnemolog.adapters.checkpoints.transfer import Chunk, Part, Pending, Row
from mnemolog.domain.errors import InvalidInput, MnemologError
from mnemolog.domain.json_value import parsed_json
from mnemolog.events.access import ApiKeyEvent
from mnemolog.events.envelope import Meta, NewEvent, Recorded, StoredEvent
from mnemolog.events.event import Event
from mnemolog.events.fields import Id, Instant, Uuid, invalid_input
from mnemolog.events.registry import REGISTRY

FORMAT: Literal["mnemolog-user"] = "mnemolog-user"
VERSION: Literal[1] = 1
Namespace = Annotated[str, Field(max_length=MAX_NAMESPACE, pattern=r"^[^\x00]*$")]
Hex = Annotated[str, Field(pattern=r"^(?:[0-9a-f]{2}){1,32}$")]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Head(_Line):
    """The first line. `policies` has the texts of the policies that the events refer to, by version.

    `checkpoints`: whether parts of checkpoints follow the events.
    """

    format: Literal["mnemolog-user"] = FORMAT
    version: Literal[1] = VERSION
    user_id: Id
    events: Annotated[int, Field(ge=1)]
    head: Annotated[int, Field(ge=1)]
    policies: dict[str, str] = {}
    checkpoints: bool = False


class EventLine(_Line):
    """One event, in the version that its type had where it was exported."""

    seq: Annotated[int, Field(ge=1)]
    event_id: Uuid
    type: str
    version: Annotated[int, Field(ge=1)]
    meta: dict[str, str]
    occurred_at: Instant
    recorded_at: Instant
    erased: bool = False
    data: dict[str, Any]
    unreadable: str = ""

    @classmethod
    def of(cls, event: Recorded) -> "EventLine":
        return cls(
            seq=event.seq,
            event_id=event.event_id,
            type=event.payload.type_name(),
            version=event.payload.version,
            meta=event.meta.as_dict(),
            occurred_at=event.occurred_at,
            recorded_at=event.recorded_at,
            erased=event.erased,
            data=event.payload.model_dump(mode="json"),
        )

    @classmethod
    def as_it_stands(cls, event: StoredEvent) -> "EventLine":
        """An undecodable event, by its header."""
        header = event.header
        return cls(
            seq=header.seq,
            event_id=header.event_id,
            type=header.type,
            version=header.version,
            meta={str(name): str(value) for name, value in dict(header.meta).items()},
            occurred_at=header.occurred_at,
            recorded_at=header.recorded_at,
            data={},
            unreadable=b64encode(event.data).decode(),
        )

    def event(self) -> NewEvent:
        """The event in the current version of its type; InvalidInput, or UnknownEvent from a newer engine."""
        if self.unreadable:
            raise InvalidInput(
                "could not be read at the source", field="unreadable", fix="repair it at the source, then export again"
            )
        return NewEvent(self.event_id, self._payload(), self._meta(), self.occurred_at, self.recorded_at)

    def _payload(self) -> Event:
        type_ = REGISTRY.resolve(self.type, self.version)
        if issubclass(type_, ApiKeyEvent):
            raise InvalidInput(f"{self.type} is not an event of a user", field="type", fix="export the user again")
        try:
            return type_.model_validate(REGISTRY.upcast(self.type, self.version, self.data))
        except ValidationError as error:
            raise _without_value(error, "data") from error
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"is not a valid {self.type}", field="data", fix="export the user again") from error

    def _meta(self) -> Meta:
        try:
            return Meta.from_dict(self.meta)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                "contains fields that this engine does not know", field="meta", fix="import with a newer Mnemolog"
            ) from error


class BlobLine(_Line):
    """The encrypted file of an artifact. `blob` is the SHA-256 of the content, which is None if the file was lost."""

    blob: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    content: str | None

    @classmethod
    def of(cls, blob: str, content: bytes | None) -> "BlobLine":
        return cls(blob=blob, content=None if content is None else b64encode(content).decode())

    @property
    def bytes(self) -> bytes | None:
        """InvalidInput if the content is not that of the blob."""
        if self.content is None:
            return None
        content = b64decode(self.content)
        if sha256(content).hexdigest() != self.blob:
            raise InvalidInput("does not match its hash", field="content", fix="export the user again")
        return content


BLOB = b'{"blob":'


class CheckpointLine(_Line):
    """A part of a graph's checkpoints: its bytes in base64, ids of chunks in hex."""

    part: Literal["chunk", "checkpoint", "write"]
    agent_id: Id
    thread_id: Id
    namespace: Namespace = ""
    checkpoint_id: Id | None = None
    parent_id: Id | None = None
    chunk_id: Hex | None = None
    chunk_ids: tuple[Hex, ...] = ()
    data: str

    @classmethod
    def of(cls, part: Part) -> "CheckpointLine":
        fields: dict[str, Any]
        match part.of:
            case Chunk(chunk_id=chunk_id):
                fields = {"part": "chunk", "chunk_id": chunk_id.hex()}
            case Row() as row:
                ids = {"parent_id": row.parent_id, "chunk_ids": tuple(one.hex() for one in row.chunk_ids)}
                fields = {"part": "checkpoint", "namespace": row.namespace, "checkpoint_id": row.checkpoint_id, **ids}
            case Pending(namespace, checkpoint_id):
                fields = {"part": "write", "namespace": namespace, "checkpoint_id": checkpoint_id}
        data = b64encode(part.of.data).decode()
        return cls(agent_id=part.agent_id, thread_id=part.thread_id, data=data, **fields)

    def opened(self) -> Part:
        """The part; InvalidInput when it is none."""
        try:
            data = b64decode(self.data, validate=True)
        except ValueError as error:
            raise InvalidInput("is not base64", field="data", fix="export the user again") from error
        of: Chunk | Row | Pending
        if self.part == "chunk" and self.chunk_id:
            of = Chunk(bytes.fromhex(self.chunk_id), data)
        elif self.part == "checkpoint" and self.checkpoint_id:
            ids = tuple(map(bytes.fromhex, self.chunk_ids))
            of = Row(self.namespace, self.checkpoint_id, self.parent_id, ids, data)
        elif self.part == "write" and self.checkpoint_id:
            of = Pending(self.namespace, self.checkpoint_id, data)
        else:
            raise InvalidInput("has no id", field="checkpoint_id", fix="export the user again")
        return Part(self.agent_id, self.thread_id, of)


class End(_Line):
    """The last line, where parts of checkpoints follow the events: how many those are."""

    parts: Annotated[int, Field(ge=0)]


class Failed(_Line):
    """The last line of an export that failed."""

    error: dict[str, Any]


FAILED = b'{"error":'
# How the lines of parts begin, and the one that counts them.
PART, END = b'{"part', b'{"parts":'


def parsed(line: bytes, number: int, model: type[_Line]) -> Any:
    """A parsed line; errors name the line but never a value, which may be personal."""
    try:
        return model.model_validate(parsed_json(line, ""))
    except ValidationError as error:
        raise at_line(number, _without_value(error)) from error
    except InvalidInput as error:
        raise at_line(number, error) from error


def at_line(number: int, error: MnemologError) -> MnemologError:
    """The same error, with the number of the line."""
    field = f"line {number} {error.field}".strip()
    return type(error)(error.message, field=field, fix=error.fix)


def _without_value(error: ValidationError, below: str = "") -> InvalidInput:
    invalid = invalid_input(error)
    message = invalid.message if error.errors()[0]["type"] == "refused" else error.errors()[0]["msg"].lower()
    field = ".".join(part for part in (below, invalid.field) if part)
    return InvalidInput(message, field=field, fix=invalid.fix)


def written(line: Head | EventLine | BlobLine | CheckpointLine | End | Failed) -> bytes:
    return line.model_dump_json(exclude_defaults=isinstance(line, CheckpointLine)).encode() + b"\n"
