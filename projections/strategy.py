"""What a projection does with an event that it cannot apply: four words (design §4)."""

from dataclasses import dataclass
from enum import StrEnum


class OnPoison(StrEnum):
    """`fail` stops the stream until an operator acts; `skip` skips the event and records that."""

    FAIL = "fail"
    SKIP = "skip"
    RETRY_AND_FAIL = "retry_and_fail"
    RETRY_AND_SKIP = "retry_and_skip"


@dataclass(frozen=True, slots=True)
class Strategy:
    """`retries` is the number of further attempts; each waits twice as long (seconds) as the previous one."""

    on_poison: OnPoison = OnPoison.FAIL
    retries: int = 3
    pause: float = 0.05

    @property
    def skips(self) -> bool:
        return self.on_poison in (OnPoison.SKIP, OnPoison.RETRY_AND_SKIP)

    @property
    def pauses(self) -> list[float]:
        """The pause before each further attempt, in seconds."""
        retried = self.on_poison in (OnPoison.RETRY_AND_FAIL, OnPoison.RETRY_AND_SKIP)
        return [self.pause * 2**number for number in range(self.retries if retried else 0)]


FAIL = Strategy()
