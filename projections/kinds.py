"""The event types that a projection reads, and how much of each is decrypted for it."""

from dataclasses import dataclass
from enum import IntEnum

from mnemolog.events.erasure import UserErased
from mnemolog.events.registry import REGISTRY, Types


class Need(IntEnum):
    """How much of an event a projection reads. Of its shape, the personal fields stay sealed."""

    NOTHING = 0
    SHAPE = 1
    WHOLE = 2


@dataclass(frozen=True, slots=True)
class Kinds:
    """The events that leave anything in a projection: those that it reads whole, and those whose shape is enough."""

    whole: Types
    shapes: Types = ()

    def need(self, event_type: str) -> Need:
        """How much is read of events of this type; WHOLE where it is not known here, and nobody can tell."""
        if REGISTRY.is_one_of(event_type, (self.whole, UserErased)):  # Of an erased user everything goes, everywhere.
            return Need.WHOLE
        return Need.SHAPE if REGISTRY.is_one_of(event_type, self.shapes) else Need.NOTHING
