"""A todo: a commitment, habit, open thread or friction (D §What Persists Where)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from mnemolog.domain.errors import Erased, NotFound
from mnemolog.domain.scope import Scope


class TodoKind(StrEnum):
    COMMITMENT = "commitment"
    HABIT = "habit"
    THREAD = "thread"
    FRICTION = "friction"


class TodoStatus(StrEnum):
    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Todo:
    """The current state of a todo. It belongs to one agent, and no other agent sees it. An erased todo has no text."""

    todo_id: UUID
    agent_id: str
    kind: TodoKind
    text: str
    status: TodoStatus = TodoStatus.OPEN
    due: datetime | None = None
    source_turn_ids: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        return Scope.AGENT

    @property
    def is_erased(self) -> bool:
        return not self.text


def no_such_todo(user_id: str, todo_id: UUID) -> NotFound:
    """The error for a todo that does not exist or belongs to another agent."""
    return NotFound(
        f"user {user_id!r} has no todo {todo_id}", field="todo_id", fix="look it up with `mnemolog todo list`"
    )


def erased_todo(todo_id: UUID) -> Erased:
    return Erased(f"todo {todo_id} was erased", field="todo_id", fix="its text is destroyed; add it again")
