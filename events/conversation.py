"""Events of a conversation."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from mnemolog.domain.turn import Role
from mnemolog.events.event import Event, Personal, PersonalText


class Attachment(BaseModel):
    """An attachment of a turn. `type` is image, file, audio, video or link (E §4)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    url: str = ""
    caption: str = ""


class TurnEvent(Event):
    """An event of one turn, sealed under the turn's key."""

    turn_id: str
    thread_id: str

    def tags(self) -> frozenset[str]:
        return frozenset({turn_tag(self.turn_id), thread_tag(self.thread_id)})

    def key_scope(self) -> str:
        return turn_scope(self.thread_id, self.turn_id)

    def key_tag(self) -> str:
        return turn_tag(self.turn_id)


class TurnRecorded(TurnEvent):
    """One message of a thread. `turn_id` is the producer's message id, unique in the stream.

    `remembered`: a memory with the same text was created with it, as in every log before version 3. `mentioned_ids`:
    the entities that it names in passing, as far as they were known then.
    """

    version: ClassVar[int] = 4

    role: Role
    run_id: str | None = None
    speaker_entity_id: UUID | None = None
    remembered: bool = False
    mentioned_ids: tuple[UUID, ...] = ()
    speaker: PersonalText = ""
    text: PersonalText = ""
    attachments: Annotated[tuple[Attachment, ...], Personal()] = ()
    metadata: Annotated[dict[str, JsonValue], Personal()] = {}  # noqa: RUF012


def turn_tag(turn_id: str) -> str:
    return f"turn:{turn_id}"


class ChatEvent(Event):
    """A change of an agent's working memory of one chat."""

    agent_id: str
    chat_id: str

    def tags(self) -> frozenset[str]:
        return frozenset({thread_tag(self.chat_id)})

    def key_scope(self) -> str:
        return thread_scope(self.chat_id)


class SessionForgotten(ChatEvent):
    """The working memory of an agent in one chat was reset; the turns stay in the log (A §9)."""

    version: ClassVar[int] = 2

    def tags(self) -> frozenset[str]:
        return super().tags() | {session_tag(self.agent_id, self.chat_id)}

    def key_scope(self) -> str:
        return "user"


class SessionReverted(ChatEvent):
    """Undo: the working memory of an agent in one chat contains the turns since the `SessionForgotten` `since` again.

    None: all turns. `undoes` is the event that is undone.
    """

    undoes: UUID
    since: UUID | None = None


class AttentionEvent(ChatEvent):
    """A change of the mood or the focus of an agent's chat."""

    def tags(self) -> frozenset[str]:
        return super().tags() | {session_tag(self.agent_id, self.chat_id)}


class AffectSet(AttentionEvent):
    """Sets the mood of an agent's chat (A §3.2). An undo names the event that it `undoes`.

    Without a `label`, the mood is removed. How it fades follows from the turns after it.
    """

    confidence: float
    decay_at: datetime
    every_n_messages: int
    undoes: UUID | None = None
    label: PersonalText = ""
    markers: Annotated[tuple[str, ...], Personal()] = ()
    interaction_mode: PersonalText = ""


class FocusSet(AttentionEvent):
    """Sets the focus of an agent's chat (A §3.1). An undo names the event that it `undoes`.

    `active_entity_ids` replaces those that were active; None leaves them.
    """

    active_entity_ids: tuple[UUID, ...] | None = None
    undoes: UUID | None = None
    topic_focus: PersonalText = ""
    mode: PersonalText = ""
    pending_questions: Annotated[tuple[str, ...], Personal()] = ()


def session_tag(agent_id: str, chat_id: str) -> str:
    """Finds an agent's affect and focus in a chat, without the turns of the chat."""
    return f"session:{escaped(agent_id)}/{escaped(chat_id)}"


def divided_tag(agent_id: str, thread_id: str) -> str:
    """What an agent's sessions and episodes of a thread are found by, without the turns of the thread."""
    return f"divided:{escaped(agent_id)}/{escaped(thread_id)}"


def thread_tag(thread_id: str) -> str:
    return f"thread:{thread_id}"


def thread_scope(thread_id: str) -> str:
    """Covers every turn of the thread. Slashes in ids are escaped, so thread `a` does not include thread `a/b`."""
    return f"thread:{escaped(thread_id)}"


EVERY_THREAD = ""
"""In place of a thread: of summaries that are made of the messages of all threads."""


def summaries_scope(thread_id: str) -> str:
    """Covers the summaries of the thread, which go when any of its messages is erased, or the thread."""
    return f"{thread_scope(thread_id)}/summaries"


def extracts_scope(thread_id: str) -> str:
    """Covers those of the summaries that quote the messages, and go with the retention of any of them, too."""
    return f"{summaries_scope(thread_id)}/extracts"


def summaries_tag(thread_id: str) -> str:
    return f"summaries:{thread_id}"


def extracts_tag(thread_id: str) -> str:
    return f"extracts:{thread_id}"


def turn_scope(thread_id: str, turn_id: str) -> str:
    return f"{thread_scope(thread_id)}/turn:{escaped(turn_id)}"


def escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")
