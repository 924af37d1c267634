"""Dead letters: refused turns with their bytes and the reason; list, replay and discard them.

A letter's id is its sequence in the stream. It is removed once its turn is in the log, or by `discard`; a turn that is
refused again stays the letter that it was. Sent again from the operator's place, it is the turn of the producer who
sent it, and reaches no further than he does then. One that nobody sent is whose the operator says.
"""

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from nats.aio.client import Client
from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError

from mnemolog.adapters.nats.producer import TurnSender
from mnemolog.adapters.nats.subjects import ALL_DEAD_LETTERS, DEAD_LETTERS, Address, dead_letters_of
from mnemolog.adapters.nats.turn_message import CUT, ORIGINAL_HEADERS, REASON, REPLAY, read_turn
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound
from mnemolog.domain.principal import OPERATOR
from mnemolog.events.envelope import Receipt

MAX_ID = 2**63 - 1
"""JetStream numbers messages from 1, and refuses to look for a number that is no unsigned integer of 64 bits."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A refused turn. `size` is that of the original message; `body` is shorter if it was cut."""

    id: int
    address: Address
    at: datetime
    reason: Mapping[str, str]
    body: bytes
    size: int
    headers: Mapping[str, str]

    @classmethod
    def of(cls, message: RawStreamMsg) -> Self:
        headers, body = message.headers or {}, message.data or b""
        assert message.seq is not None
        assert message.subject is not None
        assert message.time is not None
        return cls(
            message.seq,
            Address.on(message.subject),
            message.time,
            json.loads(headers.get(REASON, '{"code": "error", "message": "", "field": "", "fix": ""}')),
            body,
            int(headers.get(CUT, len(body))),
            json.loads(headers.get(ORIGINAL_HEADERS, "{}")),
        )

    @property
    def tenant(self) -> str:
        return self.address.tenant

    @property
    def cut(self) -> bool:
        return self.size > len(self.body)

    @property
    def text(self) -> str:
        """The body as text; bytes that are not text are escaped."""
        return self.body.decode(errors="backslashreplace")

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "tenant": self.tenant,
            "producer": self.address.producer,
            "at": self.at.isoformat(),
            "reason": dict(self.reason),
            "headers": dict(self.headers),
            "size": self.size,
            "cut": self.cut,
            "text": self.text,
            "base64": base64.b64encode(self.body).decode(),
        }


class DeadLetters:
    """The dead letters of all tenants. Sending one again needs a running engine, which records it."""

    def __init__(self, client: Client) -> None:
        self._client, self._jetstream = client, client.jetstream()

    async def all(
        self, tenant: str | None = None, reason: str | None = None, after: int = 0
    ) -> AsyncIterator[DeadLetter]:
        """The letters after an id, oldest first; optionally of one tenant, or with one error code, such as
        `invalid_input`.
        """
        subjects = dead_letters_of(tenant) if tenant else (ALL_DEAD_LETTERS,)
        letter = await self._after(after, subjects)
        while letter:
            if reason in (None, letter.reason["code"]):
                yield letter
            letter = await self._after(letter.id, subjects)

    async def get(self, id_: int) -> DeadLetter:
        """The letter; NotFound if there is none with this id."""
        if not 0 < id_ <= MAX_ID:
            raise _none(id_)
        try:
            return DeadLetter.of(await self._jetstream.get_msg(DEAD_LETTERS, id_))
        except NotFoundError:
            raise _none(id_) from None

    async def replay(self, id_: int, body: bytes | None = None, producer: str | None = None) -> Receipt | MnemologError:
        """Send a letter's turn again, or `body` in its place; once it is in the log, the letter is removed.

        Returns the error if it is refused again; then the letter stays. A turn that is in the log already changes
        nothing there. InvalidInput for a letter that was cut, unless `body` is given, and for a letter of a known
        producer if `producer` is given, which is only for letters without one.
        """
        letter = await self.get(id_)
        if producer and letter.address.producer:
            what = f"the letter is {letter.address.producer}'s, and is sent in no other name"
            return InvalidInput(what, field="as", fix="omit it: this turn has a producer, whose scope applies")
        if body is None and letter.cut:
            return InvalidInput(
                f"only {len(letter.body):,} of its {letter.size:,} bytes were kept",
                field="id",
                fix="send it again from its source, or pass the whole turn with --file",
            )
        if body is not None:
            read_turn(body)
        of = letter.address._replace(producer=producer) if producer else letter.address
        async with TurnSender(self._client, of._replace(producer=OPERATOR)) as sender:
            outcome = await sender.send(letter.body if body is None else body, {**letter.headers, REPLAY: of.turns})
        if isinstance(outcome, Receipt):
            await self._remove(id_)
            return outcome
        assert outcome is not None
        return outcome

    async def discard(self, id_: int) -> None:
        """Remove a letter permanently; its bytes are overwritten. NotFound if there is none."""
        await self.get(id_)
        await self._remove(id_)

    async def _after(self, id_: int, subjects: Sequence[str]) -> DeadLetter | None:
        """The next letter on any of the subjects."""
        found = []
        for subject in subjects:
            with suppress(NotFoundError):
                found.append(DeadLetter.of(await self._jetstream.get_msg(DEAD_LETTERS, id_ + 1, subject, next=True)))
        return min(found, key=lambda letter: letter.id, default=None)

    async def _remove(self, id_: int) -> None:
        try:
            await self._jetstream.delete_msg(DEAD_LETTERS, id_)
        except NotFoundError:
            raise _none(id_) from None


def _none(id_: int) -> NotFound:
    return NotFound(f"there is no dead letter {id_}", field="id", fix="see `mnemolog dead-letter list`")
