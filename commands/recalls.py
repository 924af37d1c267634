"""Record recalls of memories, for their last access and reactivation (B §7, C)."""

from collections.abc import Sequence
from typing import Self

from pydantic import model_validator

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.event import Event
from mnemolog.events.fields import Uuid
from mnemolog.events.memory import RECALLS, MemoriesRecalled, Recall


class RecordRecalls(Command):
    """Memories and how often each was found."""

    memory_ids: tuple[Uuid, ...]
    weights: tuple[int, ...]
    by: Recall = Recall.QUERY

    @model_validator(mode="after")
    def _paired(self) -> Self:
        if len(self.memory_ids) != len(self.weights) or min(self.weights, default=0) < 1:
            raise InvalidInput(
                "each memory needs a weight of 1 or more", field="weights", fix="give one weight per memory"
            )
        return self


def decide(state: None, command: RecordRecalls) -> Sequence[Event]:
    return [MemoriesRecalled(memory_ids=command.memory_ids, weights=command.weights, by=command.by)]


RECALLING: Decider[RecordRecalls, None] = Decider(
    initial=None,
    subject=lambda command: RECALLS,
    tags=lambda state, command: frozenset(),  # It depends on nothing, so it never conflicts.
    evolve=lambda state, event: None,
    decide=decide,
)
