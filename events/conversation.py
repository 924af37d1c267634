"""What happens in a conversation: a turn is recorded, a speaker is seen for the first time."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.event import Event, Personal, PersonalText

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
        return frozenset({turn_tag(self.turn_id), f"thread:{self.thread_id}"})

    def key_scope(self) -> str:
        return f"thread:{self.thread_id}"


class EntityObserved(Event):
    """A person, place or thing is seen for the first time (A §4.1). `category` is Person, Location, Goal, ..."""

    entity_id: UUID
    category: str
    scope: Scope
    agent_id: str | None = None
    confidence: float = 1.0
    name: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return frozenset({ENTITIES, f"entity:{self.entity_id}"})

    def key_scope(self) -> str:
        return "user"


def turn_tag(turn_id: str) -> str:
    return f"turn:{turn_id}"
