"""On which day what messages state would be recorded, if only so many events a day are extracted (B13, X06)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from mnemolog.commands.extraction_requests import EXTRACTORS
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import sources_of


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was extracted from a message: the seqs of its events, and when the message was recorded."""

    turn_id: str
    day: date
    seqs: tuple[int, ...]


def extracted(events: Iterable[Recorded]) -> Sequence[Extracted]:
    """In the order in which the messages were read."""
    days, found = dict[str, date](), dict[tuple[str, str | None], list[int]]()
    last: tuple[str, str | None] | None = None
    for event in events:
        payload = event.payload
        if isinstance(payload, TurnRecorded):
            days[payload.turn_id] = event.recorded_at.date()
        if event.meta.actor not in EXTRACTORS:
            continue
        turns = sources_of(payload) or getattr(payload, "stated_in", ()) or getattr(payload, "turn_ids", ())
        known = (turns[-1], event.meta.run_id) if turns and turns[-1] in days else last
        if known is not None:  # An entity or a decision follows from what was stated.
            found.setdefault(known, []).append(event.seq)
            last = known
    return [Extracted(turn_id, days[turn_id], tuple(seqs)) for (turn_id, _), seqs in found.items()]


def days_of(each: Sequence[Extracted], writes_per_day: int, keep_for: timedelta) -> Sequence[date | None]:
    """When each would be recorded; None if it waits for so long that it is not read any more."""
    written, found = Counter[date](), list[date | None]()
    today = date.min
    for one in each:
        today = max(today, one.day)
        while written[today] >= writes_per_day and writes_per_day:
            today += timedelta(days=1)
        late = not writes_per_day or today - one.day >= keep_for
        found.append(None if late else today)
        written[today] += 0 if late else len(one.seqs)
    return found
