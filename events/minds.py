"""The event of a mind: what it read, and how (A17, B03, B04, D12)."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict

from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.minds.mind import Mind
from mnemolog.events.conversation import escaped
from mnemolog.events.event import Event
from mnemolog.events.generation import Generation


class Pair(BaseModel):
    """Two memories that were compared; `score` is their similarity or the strength of their link, to two decimals.

    `changed`: the mind changed them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id_a: UUID
    id_b: UUID
    score: float
    changed: bool = False


class MindRan(Event):
    """A mind read these messages, memories and pairs of memories, and proposed something, or nothing.

    What it proposed is recorded in the same append, except what was left out: `faults` says why, once for each. What
    was read is not read again, even if what came of it is undone.
    """

    mind: Mind
    agent_id: str
    thread_id: str
    generation: Generation
    turn_ids: tuple[str, ...] = ()
    memory_ids: tuple[UUID, ...] = ()
    pairs: tuple[Pair, ...] = ()
    proposals: int = 0
    faults: tuple[Fault, ...] = ()

    def key_scope(self) -> str:
        return mind_tag(self.mind, self.agent_id)


def mind_tag(mind: Mind, agent_id: str) -> str:
    """What a mind did for an agent is found by this, without what it read."""
    return f"mind:{mind}/{escaped(agent_id)}"
