"""The one rule for every projector: next seq, apply; older, skip; a gap, read the log (design §4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from mnemolog.events.envelope import Position, StoredEvent, StreamId

# A position stands for an event that was too large for its message or did not fit into a queue: it is read from the
# log.
Delivered = StoredEvent | Position


@dataclass(frozen=True, slots=True)
class Unread:
    """Events of a stream with after < seq <= until that must be read from the log."""

    stream: StreamId
    after: int
    until: int


def outstanding(progress: int, delivered: Sequence[Delivered]) -> Sequence[StoredEvent] | None:
    """The delivered events to apply to a stream, in order; None if the log must be read.

    Whatever was lost, duplicated or reordered on the way, the result is a gapless continuation of `progress` or None.
    """
    by_seq = {event.header.seq: event for event in delivered if isinstance(event, StoredEvent)}
    announced = {seq_of(one) for one in delivered if seq_of(one) > progress}
    ordered = sorted(announced)
    if ordered != list(range(progress + 1, progress + 1 + len(ordered))) or not announced <= by_seq.keys():
        return None
    return [by_seq[seq] for seq in ordered]


def stream_of(delivery: Delivered) -> StreamId:
    return delivery.header.stream if isinstance(delivery, StoredEvent) else delivery.stream


def seq_of(delivery: Delivered) -> int:
    return delivery.header.seq if isinstance(delivery, StoredEvent) else delivery.seq


def by_stream(deliveries: Sequence[Delivered]) -> Mapping[StreamId, Sequence[Delivered]]:
    ordered = sorted(deliveries, key=stream_of)
    return {stream: list(group) for stream, group in groupby(ordered, key=stream_of)}
