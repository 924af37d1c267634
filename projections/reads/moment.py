"""The moment of a read: live, once a write is visible, or as of earlier."""

from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime
from math import inf
from typing import Literal

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import aware
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.log import EventLog

Consistency = Literal["strong", "eventual"]


@dataclass(frozen=True, slots=True)
class Moment:
    """When to read: live, or as of a time or a seq of the stream.

    A live read sees every write that was acknowledged before it began, by any process. With `after` it sees that write,
    and with `eventual` consistency whatever the projections show now. It waits at most `deadline` seconds, by default
    `read_deadline`. A read as of a moment queues for at most as long, by default `replay_deadline`. Reads refuse a
    deadline above the setting `max_deadline`.
    """

    as_of: datetime | int | None = None
    after: Position | None = None
    deadline: float | None = None
    consistency: Consistency = "strong"

    def __post_init__(self) -> None:
        if self.deadline is not None and not 0 < self.deadline < inf:
            raise InvalidInput(
                f"{self.deadline!r} is not a deadline", field="deadline", fix="give seconds, more than 0"
            )
        # What is shown reaches days before and after the moment, and the calendar ends.
        if isinstance(self.as_of, datetime) and not MINYEAR < self.as_of.year < MAXYEAR:
            raise InvalidInput("is at the end of the calendar", field="as_of", fix="give a year from 2 to 9998")


NOW = Moment(consistency="eventual")


async def seq_of(log: EventLog, stream: StreamId, point: datetime | int) -> int:
    """The last event of a stream at a moment; InvalidInput for a seq that it has not reached."""
    if isinstance(point, datetime):
        return await log.seq_at(stream, aware(point, "as_of"))
    head = await log.head(stream)
    if point > head:
        raise InvalidInput(f"{point} is after the last event, {head}", field="as_of", fix="omit it to read now")
    return point
