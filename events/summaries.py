"""Events of summaries (D §SessionState, E §Summarization Strategy)."""

from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import JsonValue

from mnemolog.domain.summary import SummaryKind
from mnemolog.events.conversation import extracts_scope, extracts_tag, summaries_scope, summaries_tag
from mnemolog.events.event import Event, Personal, PersonalText
from mnemolog.events.generation import Generation


class SummaryWritten(Event):
    """A summary of an agent's messages in a thread, the `number`th of its kind. Earlier ones stay readable.

    `first_turn_id` and `last_turn_id` are the first and the last of the `messages` that it covers. `mechanical`: it was
    written without a model, from sentences that were said.

    The summaries of a thread share one key, which is destroyed when a message of the thread is erased. Mechanical ones
    have another below it, which is also destroyed when the retention of a message ends. A spine has `EVERY_THREAD` and
    no agent; its key is destroyed when a message of any thread is erased.

    `session_id`: of which session it is; `episode_id`: of which episode.
    """

    version: ClassVar[int] = 2

    kind: SummaryKind
    agent_id: str
    thread_id: str
    number: int
    first_turn_id: str
    last_turn_id: str
    messages: int
    mechanical: bool
    generation: Generation
    session_id: UUID | None = None
    episode_id: UUID | None = None
    text: PersonalText = ""
    summary_json: Annotated[dict[str, JsonValue], Personal()] = {}  # noqa: RUF012

    def tags(self) -> frozenset[str]:
        extracts = {extracts_tag(self.thread_id)} if self.mechanical else set()
        return frozenset({summaries_tag(self.thread_id), *extracts})

    def key_scope(self) -> str:
        return extracts_scope(self.thread_id) if self.mechanical else summaries_scope(self.thread_id)

    def key_tag(self) -> str:
        return extracts_tag(self.thread_id) if self.mechanical else summaries_tag(self.thread_id)
