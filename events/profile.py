"""What happens to a user's profile, to his todos, and when he is seeded (B §10, D §What Persists Where).

Names of fields are no secret, their values are. A field may be called `goals_add`: its place is `goals`.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from mnemolog.domain.consent import PatchStatus as Decision
from mnemolog.domain.profile import Values, place_of
from mnemolog.domain.todo import Todo, TodoKind, TodoStatus
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import Event, Personal, PersonalText, blind_tag


class FieldEvent(Event):
    """An event of one field of the profile, sealed with that field's key."""

    field: str

    def tags(self) -> frozenset[str]:
        return frozenset({field_tag(self.field)})

    def key_scope(self) -> str:
        return field_tag(self.field)


class ProfileProposed(FieldEvent):
    """A change of the profile is proposed, or a proposal that waits is met by a further signal.

    Whole: `signals`, `confidence` (the highest), `proposed_by` and `source_turn_ids` count this one and all before it.
    """

    patch_id: UUID
    sensitive: bool
    signals: int
    confidence: float
    expires_at: datetime
    source: str
    proposed_by: tuple[str, ...]
    source_turn_ids: tuple[str, ...] = ()
    value: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return super().tags() | {patch_tag(self.patch_id), *map(turn_tag, self.source_turn_ids)}


class ProfileDecided(FieldEvent):
    """A proposal is granted, refused, expired or corroborated; `by` whom."""

    patch_id: UUID
    decision: Decision
    by: str

    def tags(self) -> frozenset[str]:
        return super().tags() | {patch_tag(self.patch_id)}


class ProfileSet(FieldEvent):
    """A place of the profile holds these values from now on; none when nothing is set any more.

    `patch_id` is the proposal that was applied. An undo names the event that it `undoes`.
    """

    patch_id: UUID | None = None
    source: str
    source_turn_ids: tuple[str, ...] = ()
    undoes: UUID | None = None
    values: Annotated[Values, Personal()] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(turn_tag, self.source_turn_ids))


class ProfileErased(FieldEvent):
    """Every value that a place of the profile ever held, or was proposed for it, is destroyed up to now."""

    def shreds(self) -> frozenset[str]:
        return frozenset({field_tag(self.field)})


class TodoEvent(Event):
    """An event of one todo, sealed with its key."""

    todo_id: UUID

    def tags(self) -> frozenset[str]:
        return frozenset({todo_tag(self.todo_id)})

    def key_scope(self) -> str:
        return todo_tag(self.todo_id)


class TodoOpened(TodoEvent):
    """A commitment, a habit, an open thread or a friction is noted for one agent."""

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
    """A todo reads so from now on. An undo names the event that it `undoes`."""

    kind: TodoKind
    status: TodoStatus
    due: datetime | None = None
    undoes: UUID | None = None
    text: PersonalText = ""


class TodoErased(TodoEvent):
    """The text of a todo is destroyed."""

    def shreds(self) -> frozenset[str]:
        return frozenset({todo_tag(self.todo_id)})


class UserSeeded(Event):
    """A user is given an initial profile. All that it writes carries `seed` as its correlation id.

    What it holds is not kept a second time: `digest` tells whether another one came under the same name.
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
    """A seed by its name. Blind, since the name may be a hash of what it holds."""
    return blind_tag("seed", seed_id)
