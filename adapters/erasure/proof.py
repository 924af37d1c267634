"""The proof of an erasure: for each place, how much was checked and how much can be read."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

NAMED = 5  # Maximum number of findings named per place.


@dataclass(frozen=True, slots=True)
class ProofPlace:
    """`looked_at` counts rows, messages, keys or files; `readable` of them show the text or lead to it.

    `found` names the first of these: a row by its key and the matching columns, a message by its number in the stream,
    a file by its path and offset.
    """

    name: str
    looked_at: int
    readable: int
    detail: str = ""
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found. `unseen`: places that no query reaches, and what makes each unreadable."""

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


def tallied(name: str, looked_at: Iterable[tuple[str, bool]]) -> ProofPlace:
    """A place built from its items, each with a name and whether it can be read."""
    things = list(looked_at)
    readable = [name for name, shown in things if shown]
    return ProofPlace(name, len(things), len(readable), found=tuple(readable[:NAMED]))
