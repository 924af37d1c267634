"""Events of profiles, todos and seeds (B §10, D §What Persists Where).

Field names are not encrypted, their values are. A field may be called `goals_add`; it adds to the field `goals`.
"""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from mnemolog.domain.consent import PatchStatus as Decision
from mnemolog.domain.origin import Origin
from mnemolog.domain.profile import Values, place_of
from mnemolog.domain.todo import Todo, TodoKind, TodoStatus
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import Event, Personal, PersonalText, ShredsItsKey, blind_tag


class FieldEvent(Event):
    """An event of one profile field, encrypted with that field's key."""

    field: str

    def key_scope(self) -> str:
        return field_tag(self.field)


class ProfileProposed(FieldEvent):
    """A profile change was proposed, or an open proposal got another signal.

    Complete: `signals`, `confidence` (the highest), `proposed_by` and `source_turn_ids` include earlier signals.
    """

    version: ClassVar[int] = 2

    patch_id: UUID
    sensitive: bool
    signals: int
    confidence: float
    expires_at: datetime
    source: str
    origin: Origin = Origin.USER
    proposed_by: tuple[str, ...]
    source_turn_ids: tuple[str, ...] = ()
    value: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return super().tags() | {patch_tag(self.patch_id), *map(turn_tag, self.source_turn_ids)}


class ProfileDecided(FieldEvent):
    """A proposal was granted, refused, expired or corroborated; `by` is the actor.

    An undo names the event that it `undoes`: of a refusal, it leaves the proposal `proposed`; of a proposal, `refused`.
    """

    version: ClassVar[int] = 2

    patch_id: UUID
    decision: Decision
    by: str
    undoes: UUID | None = None

    def tags(self) -> frozenset[str]:
        return super().tags() | {patch_tag(self.patch_id)}


class ProfileSet(FieldEvent):
    """A profile field has these values; empty if it is unset.

    `patch_id` is the proposal that was applied. An undo names the event that it `undoes`.
    """

    version: ClassVar[int] = 2

    patch_id: UUID | None = None
    source: str
    origin: Origin = Origin.USER
    source_turn_ids: tuple[str, ...] = ()
    undoes: UUID | None = None
    values: Annotated[Values, Personal()] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(turn_tag, self.source_turn_ids))


class ProfileErased(ShredsItsKey, FieldEvent):
    """All past values and proposals of a profile field are destroyed."""


class TodoEvent(Event):
    """An event of one todo, encrypted with its key."""

    todo_id: UUID

    def key_scope(self) -> str:
        return todo_tag(self.todo_id)


class TodoOpened(TodoEvent):
    """A commitment, habit, open thread or friction was recorded for one agent."""

    kind: TodoKind
    agent_id: str
    due: datetime | None = None
    source_turn_ids: tuple[str, ...] = ()
    text: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(turn_tag, self.source_turn_ids))

    @property
    def todo(self) -> Todo:
        return Todo(
            self.todo_id, self.agent_id, self.kind, self.text, due=self.due, source_turn_ids=self.source_turn_ids
        )


class TodoChanged(TodoEvent):
    """A todo changed. An undo names the event that it `undoes`."""

    kind: TodoKind
    status: TodoStatus
    due: datetime | None = None
    undoes: UUID | None = None
    text: PersonalText = ""


class TodoErased(ShredsItsKey, TodoEvent):
    """The text of a todo is destroyed."""


class UserSeeded(Event):
    """A user was given an initial profile. All its events have `seed` as their correlation id.

    The content is not stored here; `digest` detects different content under the same seed id.
    """

    seed: UUID
    source: str
    fields: tuple[str, ...] = ()
    memories: int = 0
    facts: int = 0
    seed_id: PersonalText = ""
    digest: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return frozenset({seed_tag(self.seed_id), f"seed:{self.seed}"})

    def key_scope(self) -> str:
        return f"seed:{self.seed}"


def field_tag(field: str) -> str:
    return f"profile:{place_of(field)}"


def patch_tag(patch_id: UUID) -> str:
    return f"patch:{patch_id}"


def todo_tag(todo_id: UUID) -> str:
    return f"todo:{todo_id}"


def seed_tag(seed_id: str) -> str:
    """Tag of a seed's id. Stored as an HMAC, since the id may be a hash of the content."""
    return blind_tag("seed", seed_id)
