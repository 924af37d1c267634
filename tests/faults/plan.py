"""What goes wrong, round by round: the same seed gives the same plan; when a fault strikes is up to the machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

FAULTS = (
    "engine",
    "engine and servers",
    "relay session",
    "projector sessions",
    "nats",
    "postgres",
    "postgres backend",
    "callers cancelled",
    "leader hung",
    "commits cut",
    "redis",
    "redis emptied",
    "jetstream wiped",
    "deliveries",
)


@dataclass(frozen=True, slots=True)
class Round:
    """One fault under load. `after` is the share of the round's writes that are acknowledged when it strikes."""

    number: int
    seed: int
    fault: str
    after: float

    def random(self, purpose: str) -> Random:
        """Chance of its own for each purpose, so that a round does not depend on the rounds before it."""
        return Random(f"{self.seed}/{self.number}/{purpose}")


def plan(seed: int, rounds: int) -> Sequence[Round]:
    """The rounds from 1 on. Every fault comes once before any comes again."""
    return [_round(seed, number) for number in range(1, rounds + 1)]


def _round(seed: int, number: int) -> Round:
    cycle, place = divmod(number - 1, len(FAULTS))
    order = Random(f"{seed}/cycle {cycle}").sample(FAULTS, len(FAULTS))
    return Round(number, seed, order[place], Random(f"{seed}/{number}").uniform(0.05, 0.7))
