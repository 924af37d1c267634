"""The intake: what the engine does with a batch of turns from producers."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import psycopg
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from psycopg_pool import PoolTimeout

from mnemolog.adapters.nats.subjects import Address
from mnemolog.adapters.nats.turn_message import (
    CUT,
    ORIGINAL_HEADERS,
    REASON,
    REPLAY,
    REPLY_TO,
    TurnMessage,
    answer,
    original_headers,
    read_turn,
)
from mnemolog.adapters.nats.wire import MESSAGE_ID
from mnemolog.commands.heard import HearTurn
from mnemolog.domain.errors import AppendTimeout, ConcurrencyConflict, MnemologError, Overloaded, UnreadableTurn
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.log import Outcome

_logger = logging.getLogger("mnemolog.turns")

Commands = Sequence[tuple[HearTurn, datetime]]
# Worth another delivery: a store that does not answer, or writers that were always first.
TRANSIENT = (psycopg.OperationalError, PoolTimeout, NatsError, OSError, ConcurrencyConflict, AppendTimeout, Overloaded)

HEADER_ROOM = 200


class Writing(Protocol):
    """Records turns in somebody's name."""

    def turn(self, fields: Mapping[str, Any], /) -> HearTurn:
        """The command of a turn; refused where it reaches further than whose name this is."""

    async def record_turns(self, stream: StreamId, commands: Commands, /) -> Sequence[Outcome]:
        """Many turns of one stream."""


# What records the turns of a producer; Unauthenticated when nobody has this name.
InNameOf = Callable[[str], Awaitable[Writing]]


@dataclass(slots=True)
class Arrival:
    """A message, the command that it turned into or the error that it met."""

    message: Msg
    command: HearTurn | None = None
    outcome: Receipt | MnemologError | None = None

    @property
    def address(self) -> Address:
        """Whose turn it is: the server lets a producer publish on a subject of its own, and on no other."""
        return Address.on(self.message.subject)


class TurnIntake:
    """Turns batches of messages into commands, once each, and answers producers that asked for a receipt.

    A turn is recorded in the name of the producer that its subject names, whatever stands in it.
    """

    def __init__(self, in_name_of: InNameOf, client: Client, jetstream: JetStreamContext) -> None:
        self._in_name_of, self._client, self._jetstream = in_name_of, client, jetstream

    async def take(self, messages: Sequence[Msg]) -> None:
        """Record, answer, acknowledge: in this order, so that nothing acknowledged can be lost.

        When the turns of some users cannot be recorded now, theirs alone come again; the fault is raised at the end.
        """
        writing: dict[str, Writing] = {}
        arrivals = [await self._read(message, writing) for message in messages]
        groups: dict[tuple[str, StreamId], list[Arrival]] = {}
        for arrival in arrivals:
            if arrival.command:
                groups.setdefault((arrival.address.producer, arrival.command.stream()), []).append(arrival)
        recording = (self._record(writing[name], stream, group) for (name, stream), group in groups.items())
        faults = [one for one in await asyncio.gather(*recording, return_exceptions=True) if one is not None]
        await asyncio.gather(*(self._finish(arrival) for arrival in arrivals if arrival.outcome is not None))
        if faults:
            raise faults[0]

    async def _read(self, message: Msg, writing: dict[str, Writing]) -> Arrival:
        """Each producer is looked up once, when its first turn is read."""
        arrival = Arrival(message)
        address = arrival.address
        try:
            turn = read_turn(message.data)
            if address.producer not in writing:
                writing[address.producer] = await self._in_name_of(address.producer)
            arrival.command = writing[address.producer].turn(fields_of(turn, address.tenant))
        except MnemologError as error:
            arrival.outcome = error
        return arrival

    async def _record(self, writing: Writing, stream: StreamId, group: Sequence[Arrival]) -> None:
        commands = [(arrival.command, arrival.command.occurred_at) for arrival in group if arrival.command]
        outcomes = await self._recorded(writing, stream, commands)
        for arrival, outcome in zip(group, outcomes, strict=True):
            arrival.outcome = outcome

    async def _recorded(self, writing: Writing, stream: StreamId, commands: Commands) -> Sequence[Outcome]:
        """The outcome of each; what cannot be reached raises, and JetStream delivers again."""
        try:
            return await writing.record_turns(stream, commands)
        except TRANSIENT:
            raise
        except Exception as error:  # noqa: BLE001  Whatever it was: its sender is told, and nothing is lost.
            # Its first line alone, and not in the log: what follows in a database's error quotes the row.
            _logger.error("turns of %s cannot be recorded: %s", stream, type(error).__name__)
            if len(commands) == 1:
                reason = f"{type(error).__name__}: {error}".split("\n")[0]
                return [UnreadableTurn(reason, field="message", fix="report this")]
            alone = [await self._recorded(writing, stream, [command]) for command in commands]
            return [outcome for [outcome] in alone]

    async def _finish(self, arrival: Arrival) -> None:
        outcome, headers = arrival.outcome, arrival.message.headers or {}
        assert outcome is not None
        if isinstance(outcome, MnemologError) and REPLAY not in headers:
            await self._bury(arrival, outcome)
        reply_to = headers.get(REPLY_TO)
        if reply_to and arrival.address.answerable(reply_to):
            await self._client.publish(reply_to, answer(outcome))
        await arrival.message.ack()

    async def _bury(self, arrival: Arrival, error: MnemologError) -> None:
        """Keep the bytes and the reason, so that nothing a producer sent is lost.

        The server counts headers too: of a message as large as it takes, the end gives way to the reason.
        """
        # The message of an error may quote what somebody said, and no erasure reaches a log.
        _logger.warning("a turn on %s was set aside: %s in %r", arrival.message.subject, error.code, error.field)
        message = arrival.message
        headers = {
            REASON: json.dumps(error.as_dict(), ensure_ascii=True),
            ORIGINAL_HEADERS: original_headers(message.headers),
            # Delivered again, it is not set aside twice; sequences begin anew when the store is lost.
            MESSAGE_ID: f"dead-{message.metadata.sequence.stream}-{message.metadata.timestamp.isoformat()}",
        }
        data, room = message.data, self._client.max_payload - HEADER_ROOM - sum(map(len, headers.values()))
        if len(data) > room:
            headers[CUT], data = str(len(data)), data[:room]
        await self._jetstream.publish(arrival.address.dead_letters, data, headers=headers)


def fields_of(turn: TurnMessage, tenant: str) -> Mapping[str, Any]:
    """A message in the fields of the command."""
    fields: dict[str, Any] = turn.model_dump(exclude={"message_id"}, exclude_unset=True)
    return {**fields, "turn_id": turn.message_id, "tenant": tenant, "actor": turn.role}
