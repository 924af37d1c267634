"""The proof: one line a place where the text could have been, how much was looked at there, how much can be read."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ProofPlace:
    """`looked_at`: rows, messages, keys or files; `readable` of them show the text, or what leads to it."""

    name: str
    looked_at: int
    readable: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found. `unseen`: places that no query reaches, each with what makes them unreadable."""

    places: tuple[ProofPlace, ...]
    unseen: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether the text can be read nowhere."""
        return not any(place.readable for place in self.places)

    def as_dict(self) -> dict[str, Any]:
        return {
            "erased": self.holds,
            "places": [asdict(place) for place in self.places],
            "unseen": list(self.unseen),
        }


def tallied(name: str, found: Iterable[bool], detail: str = "") -> ProofPlace:
    """A place from what was found at each thing there: whether it can be read."""
    verdicts = list(found)
    return ProofPlace(name, len(verdicts), sum(verdicts), detail)
