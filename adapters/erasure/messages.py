"""Reads the messages of a JetStream stream one by one without a consumer, so work queues can be searched."""

import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from mnemolog.adapters.nats.subjects import DEAD_LETTERS, TURNS, dead_letters_of, turns_of
from mnemolog.adapters.nats.turn_message import sender_of
from mnemolog.domain.principal import recorded_id
from mnemolog.events.envelope import DEFAULT_THREAD, StreamId


@dataclass(frozen=True, slots=True)
class Message:
    stream: str
    subject: str
    seq: int
    data: bytes
    headers: dict[str, str]

    def holds(self, phrase: str) -> bool:
        """Whether it contains the phrase, plain or as escaped by JSON, ignoring case."""
        shown = (self.data + json.dumps(self.headers, ensure_ascii=False).encode()).decode(errors="replace").lower()
        return any(form in shown for form in forms(phrase))


@dataclass(frozen=True, slots=True)
class TurnSelection:
    """Selects messages of turns: by user, and optionally by these threads and turns.

    `keyed`: producers that have, or had, a key; the ids of their recorded turns contain their name.
    """

    stream: StreamId
    threads: Collection[str] = ()
    turns: Collection[str] = ()
    everything: bool = False
    keyed: Collection[str] = ()

    def concerns(self, message: Message) -> bool:
        """Whether the message is not clearly another user's."""
        user_id = (_fields(message.data) or {}).get("user_id")
        return user_id is None or str(user_id) == self.stream.owner

    def matches(self, message: Message) -> bool:
        """Whether the message is such a turn; if undecodable, whether the user's id appears in it in quotes."""
        fields = _fields(message.data)
        if fields is None:
            return self.everything and message.holds(json.dumps(self.stream.owner, ensure_ascii=False))
        # Numbers count as ids by their digits; other values are not ids.
        named = {name: str(value) for name, value in fields.items() if name in _IDS}
        if named.get("user_id") != self.stream.owner:
            return False
        thread = named.get("thread_id", DEFAULT_THREAD)
        return self.everything or thread in self.threads or self._recorded_as(message, named) in self.turns

    def _recorded_as(self, message: Message, named: Mapping[str, str]) -> str | None:
        """The id of the turn in the log: the message's own for the operator, and for producers without a key."""
        message_id, producer = named.get("message_id"), sender_of(message.subject, message.headers).producer
        return recorded_id(producer, message_id) if message_id and producer in self.keyed else message_id


_IDS = frozenset({"user_id", "thread_id", "message_id"})


def written(phrase: str) -> set[str]:
    """A phrase, plain and as JSON writes it, with and without escapes."""
    return {phrase, *(json.dumps(phrase, ensure_ascii=ascii_)[1:-1] for ascii_ in (False, True))}


def forms(phrase: str) -> set[str]:
    """Like `written`, in lower case."""
    return {form.lower() for form in written(phrase)}


async def stored(jetstream: JetStreamContext, stream: str, *subjects: str) -> AsyncIterator[Message]:
    """Every message of a stream on each of the subjects, oldest first; none if the stream does not exist."""
    for subject in subjects:
        with suppress(NotFoundError):
            seq = 1
            while True:
                found = await jetstream.get_msg(stream, seq=seq, subject=subject, next=True)
                assert found.seq is not None
                yield Message(stream, found.subject or "", found.seq, found.data or b"", dict(found.headers or {}))
                seq = found.seq + 1


async def purge_turns(jetstream: JetStreamContext, waiting: TurnSelection, set_aside: TurnSelection) -> int:
    """Overwrite and delete waiting turns and dead letters; returns how many messages."""
    tenant = waiting.stream.tenant
    count = 0
    for stream, subjects, named in (
        (TURNS, turns_of(tenant), waiting),
        (DEAD_LETTERS, dead_letters_of(tenant), set_aside),
    ):
        gone = [message.seq async for message in stored(jetstream, stream, *subjects) if named.matches(message)]
        for seq in gone:
            await jetstream.delete_msg(stream, seq)  # Without `no_erase`, its bytes are overwritten.
        count += len(gone)
    return count


def _fields(data: bytes) -> dict[str, Any] | None:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None
