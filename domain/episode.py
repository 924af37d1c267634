"""An episode: a topic chapter of a thread (E §Threads & Episodes). `run_id` is its id."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Boundary(StrEnum):
    """Why an episode starts or closes (E §Episode Lifecycle). `first` starts a thread, `erased` ends an erased one."""

    FIRST = "first"
    TIME_GAP = "time_gap"
    TOPIC_SHIFT = "topic_shift"
    MARKER = "marker"
    ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Place:
    """A turn of a thread: its id, its number among the turns of the thread and agent, and when it was said."""

    turn_id: str
    number: int
    at: datetime
