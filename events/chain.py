"""The keyed chain: each event's link covers the previous one, so a changed row cannot be chained again (X08)."""

import hmac
from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic_core import to_json

from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.envelope import Header, StoredEvent, StreamId

START = bytes(32)


def derived_key(master_key: bytes, purpose: str) -> bytes:
    """A 32-byte key for one purpose (HKDF-Expand of RFC 5869 with one block)."""
    return hmac.digest(master_key, f"mnemolog {purpose}".encode() + b"\x01", "sha256")


def link(key: bytes, previous: bytes, header: Header, data: bytes) -> bytes:
    """HMAC-SHA256 over the previous link, the header and the data as stored; 32 bytes."""
    shape = canonical(header)
    return hmac.digest(key, previous + len(shape).to_bytes(8, "big") + shape + data, "sha256")


def canonical(header: Header) -> bytes:
    """The header in a canonical form."""
    fields = [
        header.stream.tenant,
        header.stream.name,
        header.seq,
        str(header.event_id),
        header.type,
        header.version,
        sorted(header.tags),
        dict(sorted(dict(header.meta).items())),
        _instant(header.occurred_at),
        _instant(header.recorded_at),
    ]
    return to_json(fields)


def _instant(at: datetime) -> str:
    in_utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return in_utc.isoformat(timespec="microseconds")


class ChainReader:
    """Verifies the events of one stream against the keyed chain as they are read.

    `seq` and `link` are those of the event before the first one.
    """

    def __init__(self, key: bytes, stream: StreamId, seq: int = 0, at: bytes = START) -> None:
        self._key, self._stream, self.seq, self.link = key, stream, seq, at

    def take(self, events: Sequence[StoredEvent]) -> tuple[Sequence[StoredEvent], TamperedEvent | None]:
        """The events up to the first that is missing or does not match, and the error for that one."""
        for place, event in enumerate(events):
            if damage := self._damage(event):
                return events[:place], damage
            self.seq, self.link = event.header.seq, event.link
        return events, None

    def _damage(self, event: StoredEvent) -> TamperedEvent | None:
        header = event.header
        if header.seq != self.seq + 1:
            return gone(self._stream, self.seq + 1)
        if link(self._key, self.link, header, event.data) != event.link:
            return unfit(header)
        return None


def gone(stream: StreamId, seq: int) -> TamperedEvent:
    """The error for an event that was appended and is missing."""
    return TamperedEvent(str(stream), seq, "it is no longer in the log")


def unfit(header: Header) -> TamperedEvent:
    """The error for an event that was not appended in this form."""
    return TamperedEvent(str(header.stream), header.seq, "it does not match the chain", str(header.event_id))
