"""Events of a graph's checkpoints. The checkpoints themselves are beside the log (ADR 54)."""

from mnemolog.events.conversation import escaped, thread_scope, thread_tag
from mnemolog.events.event import Event, PersonalText, ShredsItsKey


class CheckpointsEvent(Event):
    """An event of the checkpoints of an agent's graph in a thread."""

    agent_id: str
    thread_id: str

    def tags(self) -> frozenset[str]:
        return frozenset({thread_tag(self.thread_id), checkpoints_tag(self.agent_id, self.thread_id)})

    def key_scope(self) -> str:
        return checkpoints_scope(self.agent_id, self.thread_id)


class CheckpointsStarted(CheckpointsEvent):
    """An agent's graph began to save checkpoints in a thread, with their own key.

    `key_check` is encrypted with that key, so that the key is created with this event, and its loss is detected.
    """

    key_check: PersonalText = ""

    def key_tag(self) -> str:
        return checkpoints_tag(self.agent_id, self.thread_id)


class CheckpointsErased(ShredsItsKey, CheckpointsEvent):
    """Every checkpoint of an agent's graph in a thread up to now is destroyed; later ones get a new key."""


def checkpoints_tag(agent_id: str, thread_id: str) -> str:
    return f"checkpoints:{escaped(agent_id)}/{escaped(thread_id)}"


def checkpoints_scope(agent_id: str, thread_id: str) -> str:
    """Below the thread's, so that erasing the thread destroys its key."""
    return f"{thread_scope(thread_id)}/checkpoints:{escaped(agent_id)}"
