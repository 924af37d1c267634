"""The event of extraction: which messages a model read, and how (B13)."""

from uuid import UUID

from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.extraction.windows import Trigger
from mnemolog.events.conversation import escaped
from mnemolog.events.event import Event
from mnemolog.events.generation import Generation


class MessagesExtracted(Event):
    """A model read these messages of an agent's thread for what is worth remembering. They are not read again.

    What it proposed is recorded in the same append, except what was left out: `faults` says why, once for each.
    `summary_id`: the proposals are those of this final summary.
    """

    agent_id: str
    thread_id: str
    turn_ids: tuple[str, ...]
    trigger: Trigger
    generation: Generation
    proposals: int
    faults: tuple[Fault, ...] = ()
    summary_id: UUID | None = None

    def key_scope(self) -> str:
        return read_tag(self.agent_id, self.thread_id)


def read_tag(agent_id: str, thread_id: str) -> str:
    """What a model has read of an agent's thread is found by this, without the messages."""
    return f"read:{escaped(agent_id)}/{escaped(thread_id)}"
