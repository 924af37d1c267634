"""Events of the patrol, which ages an agent's scenes and puts them in order."""

from enum import StrEnum
from uuid import UUID

from mnemolog.events.conversation import escaped
from mnemolog.events.event import Event
from mnemolog.events.generation import Generation


class CycleClosed(Event):
    """A patrol cycle of an agent ended: each of its active scenes is one cycle older (C ❷).

    It does not list the scenes; those that become dying or are revived get their own events. It changes no memory as
    seen by deciders and has its own tag, so it never conflicts with writers.
    """

    agent_id: str

    def tags(self) -> frozenset[str]:
        return frozenset({cycle_tag(self.agent_id)})


class Purpose(StrEnum):
    """What a model was asked about scenes: a root for each, what to merge, how to split, or what to write down."""

    CLASSIFY = "classify"
    CONSOLIDATE = "consolidate"
    SPLIT = "split"
    REFLECT = "reflect"


class ScenesReviewed(Event):
    """A model answered a patrol about these scenes of an agent. What came of it is recorded in the same append.

    Scenes that were reviewed to `consolidate` are no longer fresh (C ❹).
    """

    agent_id: str
    purpose: Purpose
    memory_ids: tuple[UUID, ...]
    generation: Generation

    def tags(self) -> frozenset[str]:
        return frozenset({f"reviewed:{escaped(self.agent_id)}"})


def cycle_tag(agent_id: str) -> str:
    return f"cycle:{agent_id}"
