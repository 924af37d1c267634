"""What was put into a prompt (X18)."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from mnemolog.domain.authority import Slot
from mnemolog.domain.gate import Signal
from mnemolog.events.event import Event

SERVED = "served"


class Purpose(StrEnum):
    """What it was put together for: `context`, `recall` (a search), `envelope`, or an answer by `respond`."""

    CONTEXT = "context"
    RECALL = "recall"
    ENVELOPE = "envelope"
    RESPONSE = "response"


class ServedItem(BaseModel):
    """Something that was shown, by its kind and id: its text is where it always is, and is erased there.

    `seq`: of the last event that it was made of, so that a read as of it shows what was shown; None for what is kept in
    working memory. `overruled`: it was marked as contradicted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    id: str
    seq: int | None = None
    slot: Slot | None = None
    overruled: bool = False


class ContextServed(Event):
    """An agent was given these items for a prompt of so many tokens.

    `searched` and `signals` are the decision of the gate; None where there is none. `question_id` and `answer_id` are
    the messages that it was for, as far as they are known.

    It changes nothing and has its own tags, so it never conflicts with writers.
    """

    agent_id: str
    thread_id: str
    purpose: Purpose
    items: tuple[ServedItem, ...]
    tokens: int
    searched: bool | None = None
    signals: tuple[Signal, ...] = ()
    question_id: str | None = None
    answer_id: str | None = None

    def tags(self) -> frozenset[str]:
        messages = (one for one in (self.question_id, self.answer_id) if one)
        return frozenset({SERVED, *map(served_tag, messages)})

    def key_scope(self) -> str:
        return "user"


def served_tag(message_id: str) -> str:
    """What was served for a message, or for the answer to it."""
    return f"{SERVED}:{message_id}"
