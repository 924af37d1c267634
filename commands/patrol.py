"""Close a patrol cycle of an agent: its scenes age, faded ones become dying, recalled ones are revived (C ❷, ❸, ❺)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self
from uuid import UUID

from pydantic import model_validator

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import VISIBLE, Memory
from mnemolog.domain.patrol import Node, is_node
from mnemolog.domain.updated import updated
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.fields import Uuid
from mnemolog.events.memory import MemoryStatusChanged
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.patrol import CycleClosed, cycle_tag

Memories = Mapping[UUID, Memory]


class CloseCycle(Command):
    """`memory_ids` are the scenes of `agent_id` whose status is due to change according to a reader, with the cycles it
    counted. The change is decided again on their current state.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"memory_ids", "session_counts"})

    memory_ids: tuple[Uuid, ...] = ()
    session_counts: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _paired(self) -> Self:
        if len(self.memory_ids) != len(self.session_counts) or min(self.session_counts, default=0) < 0:
            raise InvalidInput(
                "each scene needs a count of 0 or more", field="session_counts", fix="give one count per scene"
            )
        return self


def decide(state: Memories, command: CloseCycle) -> Sequence[Event]:
    turned: list[Event] = []
    for memory_id, session_count in zip(command.memory_ids, command.session_counts, strict=True):
        found = state.get(memory_id)
        if found is None or not is_node(found.kind, found.scope) or found.agent_id != command.agent_id:
            continue
        after = Node.of(found, session_count).after_cycle().status
        if found.status in VISIBLE and after is not found.status:
            turned.append(MemoryStatusChanged(memory_id=memory_id, was=found.status, status=after))
    return [CycleClosed(agent_id=command.agent_id), *turned]


def _evolve(state: Memories, event: Happened) -> Memories:
    return updated(state, MEMORY.evolve(state, event.payload))


PATROL: Decider[CloseCycle, Memories] = Decider(
    initial={},
    subject=lambda command: cycle_tag(command.agent_id),
    tags=lambda state, command: frozenset({USER, *map(memory_tag, command.memory_ids)}),
    evolve=_evolve,
    decide=decide,
)
