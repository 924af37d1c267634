"""Turns from producers: the schema that they publish, and what the engine does with a batch of them."""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import unquote
from uuid import UUID

import psycopg
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from psycopg_pool import PoolTimeout
from pydantic import BaseModel, ConfigDict, Field

from mnemolog.adapters.nats.subjects import answerable, dead_letter_subject
from mnemolog.adapters.nats.wire import MESSAGE_ID
from mnemolog.commands.handler import Handler
from mnemolog.commands.turns import MAX_ATTACHMENTS, TURNS, RecordTurn, ShownAttachment
from mnemolog.domain.errors import ConcurrencyConflict, MnemologError, UnreadableTurn
from mnemolog.domain.turn import Role
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, Receipt, StreamId
from mnemolog.events.fields import Id, Instant, Label, Text, validated
from mnemolog.events.log import Outcome

_logger = logging.getLogger("mnemolog.turns")

Commands = Sequence[tuple[RecordTurn, datetime]]
# Worth another delivery: a store that does not answer, or writers that were always first.
TRANSIENT = (psycopg.OperationalError, PoolTimeout, NatsError, OSError, ConcurrencyConflict)

REPLY_TO = "Mnemolog-Reply-To"
REASON = "Mnemolog-Reason"
CUT = "Mnemolog-Cut"
HEADER_ROOM = 200


class TurnMessage(BaseModel):
    """One message of a conversation, as a producer in any language publishes it to `mnemolog.turns.<tenant>`.

    `message_id` is unique for the user and makes the turn idempotent: sent again, it changes nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    message_id: Id
    user_id: Id
    agent_id: Id = DEFAULT_AGENT
    thread_id: Id = DEFAULT_THREAD
    role: Role = Role.USER
    speaker: Label = ""
    text: Text
    occurred_at: Instant
    run_id: Id | None = None
    attachments: Annotated[tuple[ShownAttachment, ...], Field(max_length=MAX_ATTACHMENTS)] = ()


@dataclass(slots=True)
class Arrival:
    """A message, the command that it turned into or the error that it met."""

    message: Msg
    tenant: str
    command: RecordTurn | None = None
    outcome: Receipt | MnemologError | None = None


class TurnIntake:
    """Turns batches of messages into commands, once each, and answers producers that asked for a receipt."""

    def __init__(self, handler: Handler, client: Client, jetstream: JetStreamContext) -> None:
        self._handler, self._client, self._jetstream = handler, client, jetstream

    async def take(self, messages: Sequence[Msg]) -> None:
        """Record, answer, acknowledge: in this order, so that nothing acknowledged can be lost.

        When the turns of some users cannot be recorded now, theirs alone come again; the fault is raised at the end.
        """
        arrivals = [self._read(message) for message in messages]
        by_stream: dict[StreamId, list[Arrival]] = {}
        for arrival in arrivals:
            if arrival.command:
                by_stream.setdefault(arrival.command.stream(), []).append(arrival)
        recording = (self._record(stream, group) for stream, group in by_stream.items())
        faults = [one for one in await asyncio.gather(*recording, return_exceptions=True) if one is not None]
        await asyncio.gather(*(self._finish(arrival) for arrival in arrivals if arrival.outcome is not None))
        if faults:
            raise faults[0]

    def _read(self, message: Msg) -> Arrival:
        token = message.subject.rpartition(".")[2]
        arrival = Arrival(message, unquote(token))
        try:
            turn = read_turn(message.data)
            arrival.command = command_of(turn, arrival.tenant, self._handler.new_id)
        except MnemologError as error:
            arrival.outcome = error
        return arrival

    async def _record(self, stream: StreamId, group: Sequence[Arrival]) -> None:
        commands = [(arrival.command, arrival.command.occurred_at) for arrival in group if arrival.command]
        outcomes = await self._recorded(stream, commands)
        for arrival, outcome in zip(group, outcomes, strict=True):
            arrival.outcome = outcome

    async def _recorded(self, stream: StreamId, commands: Commands) -> Sequence[Outcome]:
        """The outcome of each; what cannot be reached raises, and JetStream delivers again."""
        try:
            return await self._handler.handle_all(TURNS, stream, commands)
        except TRANSIENT:
            raise
        except Exception as error:
            _logger.exception("turns of %s cannot be recorded", stream)
            if len(commands) == 1:
                return [UnreadableTurn(f"{type(error).__name__}: {error}", field="message", fix="report this")]
            alone = [await self._recorded(stream, [command]) for command in commands]
            return [outcome for [outcome] in alone]

    async def _finish(self, arrival: Arrival) -> None:
        outcome = arrival.outcome
        assert outcome is not None
        if isinstance(outcome, MnemologError):
            await self._bury(arrival, outcome)
        reply_to = (arrival.message.headers or {}).get(REPLY_TO)
        if reply_to and answerable(reply_to):
            await self._client.publish(reply_to, _answer(outcome))
        await arrival.message.ack()

    async def _bury(self, arrival: Arrival, error: MnemologError) -> None:
        """Keep the bytes and the reason, so that nothing a producer sent is lost.

        The server counts headers too: of a message as large as it takes, the end gives way to the reason.
        """
        _logger.warning("a turn on %s was set aside: %s", arrival.message.subject, error)
        headers = {REASON: json.dumps(error.as_dict(), ensure_ascii=True)}
        data = arrival.message.data
        room = self._client.max_payload - HEADER_ROOM - len(headers[REASON])
        if len(data) > room:
            headers[CUT], data = str(len(data)), data[:room]
        subject = dead_letter_subject(arrival.message.subject.rpartition(".")[2])
        # Delivered again, it is not set aside twice.
        headers[MESSAGE_ID] = f"dead-{arrival.message.metadata.sequence.stream}"
        await self._jetstream.publish(subject, data, headers=headers)


def read_turn(body: bytes) -> TurnMessage:
    """The turn in a message; InvalidInput or UnreadableTurn name the fault."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableTurn(f"not JSON: {error}", field="message", fix="send one JSON object in UTF-8") from error
    if not isinstance(fields, dict):
        raise UnreadableTurn(f"a {type(fields).__name__} is no turn", field="message", fix="send one JSON object")
    return validated(TurnMessage, fields)


def command_of(turn: TurnMessage, tenant: str, new_id: Callable[[], UUID]) -> RecordTurn:
    fields: dict[str, Any] = turn.model_dump(exclude={"message_id"})
    return validated(
        RecordTurn,
        {
            **fields,
            "turn_id": turn.message_id,
            "tenant": tenant,
            "actor": turn.role,
            "memory_id": new_id(),
            "entity_id": new_id(),
        },
    )


def _answer(outcome: Receipt | MnemologError) -> bytes:
    if isinstance(outcome, Receipt):
        return json.dumps({"ok": True, "receipt": outcome.as_dict()}).encode()
    return json.dumps({"ok": False, "error": outcome.as_dict()}).encode()
