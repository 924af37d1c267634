"""A todo: a commitment, habit, open thread or friction (D §What Persists Where)."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from mnemolog.domain import hydration
from mnemolog.domain.errors import Erased, NotFound
from mnemolog.domain.lazy_regex import lazy_compile
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


def asks_for_todos(question: str) -> bool:
    """Whether a question asks for all that is to do, instead of something about it.

    >>> asks_for_todos("What's on my todo list?"), asks_for_todos("What do I have to do?")
    (True, True)
    >>> asks_for_todos("What do I have to renew?"), asks_for_todos("What do I like to do?")
    (False, False)
    """
    asked = hydration.question_stems(_SPELT.sub("todo", question))
    return _TO_DO.match(question) is not None or (not asked.isdisjoint(_TODOS) and asked <= _TODOS | _OF_TODOS)


_TODOS, _OF_TODOS = hydration.stems("todo task open due commitment"), hydration.stems("list left pending outstanding")
_SPELT = lazy_compile(r"\bto(?:-do(?=s?\b)| do(?= list\b))", re.IGNORECASE)
_TO_DO = lazy_compile(
    r"\W*(?:what|anything|is there anything|do (?:i|we) have anything)\b[^.?!]{0,40}"
    r"\b(?:(?:i|we) (?:still )?(?:have|need|ought|'ve got)|(?:am i|are we|i'm|we're) supposed|left) to do"
    r"(?: today| tomorrow| now| next| soon| this (?:week|month))?\W*$",
    re.IGNORECASE,
)
