"""The event types that a projection reads, and how much of each is decrypted for it."""

from dataclasses import dataclass
from enum import IntEnum

from mnemolog.events.erasure import UserErased
from mnemolog.events.registry import REGISTRY, Types


class Need(IntEnum):
    """How much of an event a projection reads. With SHAPE, the personal fields stay encrypted."""

    NOTHING = 0
    SHAPE = 1
    WHOLE = 2


@dataclass(frozen=True, slots=True)
class Kinds:
    """The event types that a projection folds: those it reads in full, and those it reads without personal fields."""

    whole: Types
    shapes: Types = ()

    def need(self, event_type: str) -> Need:
        """How much is read of events of this type; WHOLE if the type is unknown."""
        if REGISTRY.is_one_of(event_type, (self.whole, UserErased)):  # An erased user is deleted everywhere.
            return Need.WHOLE
        return Need.SHAPE if REGISTRY.is_one_of(event_type, self.shapes) else Need.NOTHING
