"""The intake: processes batches of turns from producers."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from traceback import extract_tb
from typing import Any, Protocol

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from mnemolog.adapters.nats.subjects import Address
from mnemolog.adapters.nats.turn_message import (
    CUT,
    ORIGINAL_HEADERS,
    REASON,
    REPLY_TO,
    TurnMessage,
    answer,
    is_replay,
    original_headers,
    read_turn,
    sender_of,
)
from mnemolog.adapters.nats.wire import MESSAGE_ID
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.commands.heard import HearTurn
from mnemolog.domain.errors import (
    AppendTimeout,
    ConcurrencyConflict,
    MnemologError,
    Overloaded,
    ReadTimeout,
    ServerFailed,
    Unauthenticated,
    UnreadableTurn,
)
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.log import Outcome

_logger = logging.getLogger("mnemolog.turns")

Commands = Sequence[tuple[HearTurn, datetime]]
# Worth a redelivery: a store or a model that does not answer, or writers that were always faster.
TRANSIENT = (*UNREACHABLE, ServerFailed, ReadTimeout, ConcurrencyConflict, AppendTimeout, Overloaded)

HEADER_ROOM = 200
PORTION_BYTES = 1024 * 1024
LETTER_BYTES = 32 * 1024


class Recorder(Protocol):
    """Records turns for a principal."""

    def may(self, role: Role, /) -> bool:
        """Whether the principal has this role."""

    async def turn(self, fields: Mapping[str, Any], /) -> HearTurn:
        """The command for a turn, whose files are stored; refused if it exceeds the principal's scope."""

    async def record_turns(self, stream: StreamId, commands: Commands, /) -> Sequence[Outcome]:
        """Record several turns of one stream."""


# Returns the recorder for a producer; Unauthenticated if the name is unknown.
InNameOf = Callable[[str], Awaitable[Recorder]]


@dataclass(slots=True)
class Arrival:
    """A message with its turn and recorder, or its error."""

    message: Msg
    turn: TurnMessage | None = None
    recorder: Recorder | None = None
    outcome: Receipt | MnemologError | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        return self.message.headers or {}

    @property
    def place(self) -> Address:
        """Where it was published: the server lets a producer publish on its own subject only."""
        return Address.on(self.message.subject)

    @property
    def sender(self) -> Address:
        return sender_of(self.message.subject, self.headers)

    @property
    def may_read(self) -> bool:
        """Whether its sender may see stored data."""
        return self.recorder is not None and self.recorder.may(Role.READ)


class TurnIntake:
    """Turns batches of messages into commands, once each, and answers producers that requested a receipt.

    A turn is recorded for the producer that its subject names, whatever its body says.
    """

    def __init__(
        self, in_name_of: InNameOf, client: Client, jetstream: JetStreamContext, letter_bytes: int = LETTER_BYTES
    ) -> None:
        self._in_name_of, self._client, self._jetstream = in_name_of, client, jetstream
        self._letter_bytes = letter_bytes

    async def take(self, messages: Sequence[Msg]) -> None:
        """Record, answer, acknowledge: in this order, so that nothing acknowledged can be lost.

        If the turns of some users cannot be recorded now, only those are redelivered; the error is raised at the end.
        """
        recorders: dict[str, Recorder | Unauthenticated] = {}
        arrivals = list[Arrival]()
        for message in messages:
            arrivals.append(await self._read(message, recorders))
            await asyncio.sleep(0)  # Each may be two MiB, and a batch has 256.
        groups: dict[StreamId, list[Arrival]] = {}
        for arrival in arrivals:
            if arrival.turn:
                groups.setdefault(StreamId.of_user(arrival.turn.user_id, arrival.sender.tenant), []).append(arrival)
        recording = (self._record(stream, group) for stream, group in groups.items())
        faults = [one for one in await asyncio.gather(*recording, return_exceptions=True) if one is not None]
        await self._finish_all(arrivals)
        if faults:
            raise faults[0]

    async def _read(self, message: Msg, recorders: dict[str, Recorder | Unauthenticated]) -> Arrival:
        arrival = Arrival(message)
        sender = arrival.sender
        try:
            turn = read_turn(message.data)
            # Each producer is looked up once, when its first turn is read, even if unknown.
            if sender.producer not in recorders:
                try:
                    recorders[sender.producer] = await self._in_name_of(sender.producer)
                except Unauthenticated as refused:
                    recorders[sender.producer] = refused
            found = recorders[sender.producer]
            if isinstance(found, Unauthenticated):
                raise found
            arrival.recorder, arrival.turn = found, turn
        except TRANSIENT:
            raise
        except MnemologError as error:
            arrival.outcome = error
        return arrival

    async def _record(self, stream: StreamId, group: Sequence[Arrival]) -> None:
        """In the order in which JetStream received them, across producers."""
        for portion in _portions(group):
            recorder = portion[0].recorder
            assert recorder is not None
            read = [(arrival, await self._command(recorder, stream, arrival)) for arrival in portion]
            turns = [(arrival, command) for arrival, command in read if command]
            commands = [(command, command.occurred_at) for _, command in turns]
            outcomes = await self._recorded(recorder, stream, commands)
            for (arrival, _), outcome in zip(turns, outcomes, strict=True):
                arrival.outcome = outcome
            await self._finish_all(portion)

    async def _command(self, recorder: Recorder, stream: StreamId, arrival: Arrival) -> HearTurn | None:
        """The command for a turn, or None if it is refused."""
        assert arrival.turn is not None
        await asyncio.sleep(0)
        try:
            return await recorder.turn(command_fields(arrival.turn, stream.tenant))
        except TRANSIENT:
            raise
        except MnemologError as error:
            arrival.outcome = error
        except Exception as error:  # noqa: BLE001  As in `_recorded`.
            arrival.outcome = _bug(stream, error)
        return None

    async def _recorded(self, recorder: Recorder, stream: StreamId, commands: Commands) -> Sequence[Outcome]:
        """The outcome of each; connection errors are raised, and JetStream redelivers."""
        try:
            return await recorder.record_turns(stream, commands)
        except TRANSIENT:
            raise
        except Exception as error:  # noqa: BLE001  Any error: its sender is told, and nothing is lost.
            if len(commands) == 1:
                return [_bug(stream, error)]
            alone = [await self._recorded(recorder, stream, [command]) for command in commands]
            return [outcome for [outcome] in alone]

    async def _finish_all(self, arrivals: Sequence[Arrival]) -> None:
        done = [one for one in arrivals if one.outcome is not None and not one.message.is_acked]
        await asyncio.gather(*map(self._finish, done))

    async def _finish(self, arrival: Arrival) -> None:
        outcome, reply_to = arrival.outcome, arrival.headers.get(REPLY_TO)
        assert outcome is not None
        if isinstance(outcome, MnemologError) and not is_replay(arrival.message.subject, arrival.headers):
            await self._bury(arrival, outcome)
        if reply_to and arrival.place.answerable(reply_to):
            await self._client.publish(reply_to, answer(outcome, may_read=arrival.may_read))
        await arrival.message.ack()

    async def _bury(self, arrival: Arrival, error: MnemologError) -> None:
        """Keep the reason and the bytes, but cut a long message, so that bad input does not fill the disk.

        The server counts headers too.
        """
        # The message of an error may quote what somebody said, and no erasure reaches the log file.
        _logger.warning("a turn on %s was set aside: %s in %r", arrival.message.subject, error.code, error.field)
        message = arrival.message
        headers = {
            REASON: json.dumps(error.plain(), ensure_ascii=True),
            ORIGINAL_HEADERS: original_headers(message.headers),
            # Redelivered, it does not become a second letter; sequences restart when the store is lost.
            MESSAGE_ID: f"dead-{message.metadata.sequence.stream}-{message.metadata.timestamp.isoformat()}",
        }
        taken = self._client.max_payload - HEADER_ROOM - sum(map(len, headers.values()))
        data, room = message.data, min(self._letter_bytes, taken)
        if len(data) > room:
            headers[CUT], data = str(len(data)), data[:room]
        await self._jetstream.publish(arrival.place.dead_letters, data, headers=headers)


def _portions(group: Sequence[Arrival]) -> Iterator[Sequence[Arrival]]:
    """Of one recorder each, and without an id that comes again: files are stored for turns that are not recorded.

    Large turns have files, which take long to store: their senders do not wait for those of the whole batch.
    """
    portion, ids, size = list[Arrival](), set[str](), 0
    for arrival in group:
        assert arrival.turn is not None
        size += len(arrival.message.data)
        ends = size > PORTION_BYTES or arrival.turn.message_id in ids
        if portion and (ends or arrival.recorder is not portion[0].recorder):
            yield portion
            portion, ids, size = [], set(), len(arrival.message.data)
        portion.append(arrival)
        ids.add(arrival.turn.message_id)
    yield portion


def _bug(stream: StreamId, error: Exception) -> UnreadableTurn:
    """An error without its message, which may quote stored data: no erasure reaches the log file or other letters."""
    [*_, place] = extract_tb(error.__traceback__)
    reason = f"{type(error).__name__} in {place.name}, line {place.lineno} of {Path(place.filename).name}"
    _logger.error("turns of %s cannot be recorded: %s", stream, reason)
    return UnreadableTurn(f"cannot be recorded: {reason}", field="message", fix="report this as a bug")


def command_fields(turn: TurnMessage, tenant: str) -> Mapping[str, Any]:
    fields: dict[str, Any] = turn.model_dump(exclude={"message_id"}, exclude_unset=True)
    return {**fields, "turn_id": turn.message_id, "tenant": tenant, "actor": turn.role}
