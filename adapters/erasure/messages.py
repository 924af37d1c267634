"""Messages of a JetStream stream, read one by one: no consumer is made, so that a work queue can be looked through."""

import json
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from typing import Any

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from mnemolog.adapters.nats.subjects import DEAD_LETTERS, TURNS, dead_letter_subject, turn_subject
from mnemolog.events.envelope import DEFAULT_THREAD, StreamId


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it is stored."""

    stream: str
    seq: int
    data: bytes
    headers: dict[str, str]

    def holds(self, phrase: str) -> bool:
        """Whether the phrase stands in it, as it is or as JSON escapes it, in whatever case."""
        shown = (self.data + json.dumps(self.headers, ensure_ascii=False).encode()).decode(errors="replace").lower()
        return any(form in shown for form in forms(phrase))


@dataclass(frozen=True, slots=True)
class Named:
    """What a turn's message may name: a user, and of his only these threads and turns where they are given."""

    stream: StreamId
    threads: Collection[str] = ()
    turns: Collection[str] = ()
    everything: bool = False

    def concerns(self, message: Message) -> bool:
        """Whether the message is not plainly another user's."""
        fields = _fields(message.data)
        return fields is None or fields.get("user_id") in (None, self.stream.owner)

    def matches(self, message: Message) -> bool:
        """Whether the message is such a turn; of what cannot be read, whether the user's id stands in it in quotes."""
        fields = _fields(message.data)
        if fields is None:
            return self.everything and message.holds(json.dumps(self.stream.owner, ensure_ascii=False))
        if fields.get("user_id") != self.stream.owner:
            return False
        thread = fields.get("thread_id", DEFAULT_THREAD)
        return self.everything or thread in self.threads or fields.get("message_id") in self.turns


def forms(phrase: str) -> set[str]:
    """A phrase as text, and as JSON with and without escapes; lower case."""
    return {
        phrase.lower(),
        json.dumps(phrase, ensure_ascii=False)[1:-1].lower(),
        json.dumps(phrase, ensure_ascii=True)[1:-1].lower(),
    }


async def stored(jetstream: JetStreamContext, stream: str, subject: str) -> AsyncIterator[Message]:
    """Every message of a stream on a subject, oldest first; none where there is no such stream."""
    seq = 1
    while True:
        try:
            found = await jetstream.get_msg(stream, seq=seq, subject=subject, next=True)
        except NotFoundError:
            return
        assert found.seq is not None
        yield Message(stream, found.seq, found.data or b"", dict(found.headers or {}))
        seq = found.seq + 1


async def purge_turns(jetstream: JetStreamContext, waiting: Named, set_aside: Named) -> int:
    """Overwrite and delete turns that wait to be recorded, and turns that were set aside; how many those were."""
    tenant = turn_subject(waiting.stream.tenant).rpartition(".")[2]
    count = 0
    for stream, subject, named in (
        (TURNS, turn_subject(waiting.stream.tenant), waiting),
        (DEAD_LETTERS, dead_letter_subject(tenant), set_aside),
    ):
        gone = [message.seq async for message in stored(jetstream, stream, subject) if named.matches(message)]
        for seq in gone:
            await jetstream.delete_msg(stream, seq)  # Without `no_erase`: its bytes are overwritten.
        count += len(gone)
    return count


def _fields(data: bytes) -> dict[str, Any] | None:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None
