"""The one rule for every projector: next seq, apply; older, skip; a gap, read the log (design §4)."""

from collections.abc import Sequence

from mnemolog.events.envelope import StoredEvent


def outstanding(progress: int, delivered: Sequence[StoredEvent]) -> Sequence[StoredEvent] | None:
    """What of a stream's delivery is to be applied, in order; None when an event before it is missing.

    Whatever was lost, doubled or reordered on the way, the outcome is a gapless continuation of `progress` or None.
    """
    by_seq = {event.header.seq: event for event in delivered if event.header.seq > progress}
    ordered = sorted(by_seq)
    if ordered != list(range(progress + 1, progress + 1 + len(ordered))):
        return None
    return [by_seq[seq] for seq in ordered]
