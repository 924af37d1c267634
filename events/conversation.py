"""What happens in a conversation: a turn is recorded, a speaker is seen for the first time."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from mnemolog.domain.scope import Scope
from mnemolog.domain.text import normalize_name
from mnemolog.domain.turn import Role
from mnemolog.events.event import Event, Personal, PersonalText, blind_tag

# What version 1 of EntityObserved is found by.
ENTITIES = "entities"


class Attachment(BaseModel):
    """Something shown in a turn. `type` is image, file, audio, video or link (E §4)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    url: str = ""
    caption: str = ""


class TurnRecorded(Event):
    """One message of a thread. `turn_id` is the producer's message id, unique in the stream."""

    turn_id: str
    thread_id: str
    role: Role
    run_id: str | None = None
    speaker_entity_id: UUID | None = None
    speaker: PersonalText = ""
    text: PersonalText = ""
    attachments: Annotated[tuple[Attachment, ...], Personal()] = ()

    def tags(self) -> frozenset[str]:
        return frozenset({turn_tag(self.turn_id), thread_tag(self.thread_id)})

    def key_scope(self) -> str:
        return turn_scope(self.thread_id, self.turn_id)


class EntityObserved(Event):
    """A person, place or thing is seen for the first time (A §4.1). `category` is Person, Location, Goal, ...

    Version 1 was found by the tag `entities`, which made each turn read all of a user's; version 2 by its name.
    """

    version = 2

    entity_id: UUID
    category: str
    scope: Scope
    agent_id: str | None = None
    confidence: float = 1.0
    name: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return frozenset({name_tag(self.name), f"entity:{self.entity_id}"})

    def key_scope(self) -> str:
        return "user"


def turn_tag(turn_id: str) -> str:
    return f"turn:{turn_id}"


def thread_tag(thread_id: str) -> str:
    return f"thread:{thread_id}"


def thread_scope(thread_id: str) -> str:
    """Covers every turn of the thread. A slash in an id is escaped: thread `a` has no part in thread `a/b`."""
    return f"thread:{_escaped(thread_id)}"


def turn_scope(thread_id: str, turn_id: str) -> str:
    return f"{thread_scope(thread_id)}/turn:{_escaped(turn_id)}"


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")


def name_tag(name: str) -> str:
    """The name of a person, place or thing as a tag. Blind: whoever reads the log does not learn it."""
    return blind_tag("name", normalize_name(name))
