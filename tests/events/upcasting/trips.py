"""TripPlanned at version 3, and the two upcasters that lift versions 1 and 2."""

from typing import Any, ClassVar

from mnemolog.events.event import Event, PersonalText
from mnemolog.events.registry import Registry


class TripPlanned(Event):
    """Somebody plans to travel."""

    version: ClassVar[int] = 3

    trip_id: str
    nights: int
    price_cents: int
    currency: str
    traveller: PersonalText = ""
    place: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return frozenset({f"trip:{self.trip_id}"})

    def key_scope(self) -> str:
        return f"trip:{self.trip_id}"


def trip_planned_1_to_2(fields: dict[str, Any]) -> dict[str, Any]:
    """The route became traveller and place. Erased, an event has no route."""
    lifted = {name: value for name, value in fields.items() if name != "route"}
    if "route" in fields:
        lifted["traveller"], _, lifted["place"] = fields["route"].partition(" to ")
    return lifted


def trip_planned_2_to_3(fields: dict[str, Any]) -> dict[str, Any]:
    """A price in euros became one in cents, with its currency."""
    lifted = {name: value for name, value in fields.items() if name != "euros"}
    return {**lifted, "price_cents": round(100 * fields["euros"]), "currency": "EUR"}


TRIPS = Registry([TripPlanned], {("TripPlanned", 1): trip_planned_1_to_2, ("TripPlanned", 2): trip_planned_2_to_3})
