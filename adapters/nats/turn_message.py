"""Messages between producers and the engine: turns, headers and receipts."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from mnemolog.adapters.nats.subjects import Address
from mnemolog.commands.heard import MAX_EXTRACTED, ExtractedFact, ExtractedMemory
from mnemolog.commands.memory_requests import Metadata
from mnemolog.commands.sent import STORED, LongWords, SentAttachment
from mnemolog.commands.turns import MAX_ATTACHMENTS
from mnemolog.domain.errors import AmbiguousEntity, InvalidInput, MnemologError, NestedTooDeep, UnreadableTurn
from mnemolog.domain.json_value import parsed_json
from mnemolog.domain.principal import OPERATOR
from mnemolog.domain.turn import Role
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, Receipt, StreamId
from mnemolog.events.fields import AtMost, Id, Instant, Label, Uuid, validated

REPLY_TO = "Mnemolog-Reply-To"
# On a dead letter: why it was refused, its original length if it was cut, and its original headers.
REASON = "Mnemolog-Reason"
CUT = "Mnemolog-Cut"
ORIGINAL_HEADERS = "Mnemolog-Headers"
# On a turn that the operator resends from a dead letter: its original subject. If refused again, it stays a letter.
REPLAY = "Mnemolog-Replay"
# Headers of one delivery, not of the turn.
_OF_A_DELIVERY = ("nats-", "mnemolog-")
MAX_ORIGINAL_HEADERS = 8192


class TurnMessage(BaseModel):
    """One message of a conversation, published by a producer in any language to its own `mnemolog.turns.` subject.

    `message_id` is unique for the user and makes the turn idempotent: sent again, it changes nothing.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"anyOf": [{"required": ["text"]}, {"required": ["attachments"]}]},
    )

    message_id: Annotated[
        Id, Field(description="Your id of the message, unique for the user. Sent again, it changes nothing.")
    ]
    user_id: Annotated[Id, Field(description="The person remembered.")]
    agent_id: Annotated[Id, Field(description="Who remembers.")] = DEFAULT_AGENT
    thread_id: Annotated[Id, Field(description="The conversation.")] = DEFAULT_THREAD
    role: Annotated[Role, Field(description="Whose words these are.")] = Role.USER
    speaker: Annotated[Label, Field(description="The name of who speaks; at most 2,000 bytes of UTF-8.")] = ""
    text: Annotated[
        LongWords, Field(description=f"What was said. May be left out if there is an attachment. {STORED}")
    ] = ""
    occurred_at: Annotated[
        Instant, Field(description="When it was said: ISO 8601 with an offset. A time in the future counts as now.")
    ]
    run_id: Annotated[Id | None, Field(description="What turns are grouped by: a session, an episode.")] = None
    correlation_id: Annotated[
        Uuid | None,
        Field(description="Shared by all turns of one batch, such as an import; `rollback` can undo them all by it."),
    ] = None
    attachments: Annotated[
        tuple[SentAttachment, ...],
        AtMost(MAX_ATTACHMENTS),
        Field(
            description="What was shown with it. A file in a `data:` URL is stored as an artifact; `artifact:<id>` "
            "names one."
        ),
    ] = ()
    metadata: Annotated[
        Metadata,
        Field(description="A JSON object of your own, kept with the memory that it leaves; searches can filter by it."),
    ] = {}
    memories: Annotated[
        tuple[ExtractedMemory, ...],
        AtMost(MAX_EXTRACTED),
        Field(description="The memories that you extracted from it."),
    ] = ()
    facts: Annotated[
        tuple[ExtractedFact, ...],
        AtMost(MAX_EXTRACTED),
        Field(description="The facts that you extracted from it."),
    ] = ()


def read_turn(body: bytes) -> TurnMessage:
    """The turn in a message; InvalidInput or UnreadableTurn describe the error."""
    try:
        fields = parsed_json(body, "message")
    except NestedTooDeep:
        raise
    except InvalidInput as error:
        raise UnreadableTurn(error.message, field=error.field, fix=error.fix) from error
    if not isinstance(fields, dict):
        raise UnreadableTurn(f"a {type(fields).__name__} is not a turn", field="message", fix="send one JSON object")
    return validated(TurnMessage, fields)


def original_headers(headers: Mapping[str, str] | None) -> str:
    """The headers that a producer set itself, as JSON; empty if they are very long."""
    own = {name: value for name, value in (headers or {}).items() if not name.lower().startswith(_OF_A_DELIVERY)}
    text = json.dumps(own)
    return text if len(text) <= MAX_ORIGINAL_HEADERS else "{}"


def is_replay(subject: str, headers: Mapping[str, str]) -> bool:
    """Whether a turn comes from the dead letters. Only the operator's subject counts; no producer may publish there."""
    return REPLAY in headers and Address.on(subject).producer == OPERATOR


def sender_of(subject: str, headers: Mapping[str, str]) -> Address:
    """The sender of a turn, by its subject; for a dead letter, by the subject of the letter."""
    place = Address.on(subject)
    return place._replace(producer=Address.on(headers[REPLAY]).producer) if is_replay(subject, headers) else place


def answer(outcome: Receipt | MnemologError, *, may_read: bool) -> bytes:
    """The answer for a producer that requested a receipt; error details from the graph only if it may read."""
    if isinstance(outcome, Receipt):
        return json.dumps({"ok": True, "receipt": outcome.as_dict()}).encode()
    return json.dumps({"ok": False, "error": outcome.as_dict() if may_read else outcome.plain()}).encode()


def outcome_of(answered: bytes) -> Receipt | MnemologError:
    """The receipt or the typed error in an answer."""
    said = json.loads(answered)
    return _receipt(said["receipt"]) if said["ok"] else error_of(said["error"])


def error_of(fields: Mapping[str, Any]) -> MnemologError:
    """The error that `as_dict` described, in its own class; MnemologError if the code is unknown here."""
    kind = _KINDS.get(fields["code"], MnemologError)
    error = kind.__new__(kind)  # Some constructors take other arguments.
    MnemologError.__init__(error, fields["message"], field=fields["field"], fix=fields["fix"])
    if isinstance(error, AmbiguousEntity):
        error.question, error.candidates = fields.get("question", ""), fields.get("candidates", ())
    return error


def _receipt(fields: Mapping[str, Any]) -> Receipt:
    tenant, _, name = fields["stream"].partition("/")
    event_ids = tuple(map(UUID, fields["event_ids"]))
    erased = bool(fields.get("erased"))
    return Receipt(
        StreamId(tenant, name), event_ids, fields["first_seq"], fields["last_seq"], fields["already"], erased
    )


def _kinds(of: type[MnemologError]) -> Iterator[type[MnemologError]]:
    yield of
    for kind in of.__subclasses__():
        yield from _kinds(kind)


_KINDS = {kind.code: kind for kind in _kinds(MnemologError)}
