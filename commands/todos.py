"""Commands on todos: add, update, undo. A todo belongs to one agent, and no other agent sees it (D11)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from mnemolog.commands.change_history import ChangeHistory
from mnemolog.commands.decider import Command, Decider, Decisions
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput
from mnemolog.domain.todo import Todo, TodoKind, TodoStatus, erased_todo, no_such_todo
from mnemolog.domain.updated import updated
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.fields import Ids, Instant, Text, Uuid
from mnemolog.events.profile import TodoChanged, TodoOpened, todo_tag
from mnemolog.events.profile_fold import TODO


class TodoCommand(Command):
    """A request about one todo of the agent."""

    todo_id: Annotated[Uuid, Field(description="The todo's id.")]


class OpenTodo(TodoCommand):
    """Adds a todo, visible to its agent only."""

    generated: ClassVar[frozenset[str]] = frozenset({"todo_id"})

    text: Annotated[Text, Field(description="The text.")]
    kind: Annotated[TodoKind, Field(description="The kind of todo.")] = TodoKind.COMMITMENT
    due: Annotated[Instant | None, Field(description="When it is due: a time with an offset.")] = None
    source_turn_ids: Annotated[Ids, Field(description="The turns it was extracted from.")] = ()


class ChangeTodo(TodoCommand):
    """Updates a todo. Omitted fields stay the same."""

    status: Annotated[TodoStatus | None, Field(description="Its new status: `done` and `dropped` close it.")] = None
    kind: Annotated[TodoKind | None, Field(description="Its new kind.")] = None
    text: Annotated[Text | None, Field(description="Its new text.")] = None
    due: Annotated[Instant | None, Field(description="The new due time, with an offset.")] = None


class UndoTodo(TodoCommand):
    """Undoes the change `event_id`. Default: the last one in effect."""

    event_id: Uuid | None = None


@dataclass(frozen=True, slots=True)
class Todos:
    """The todos of a decision, and every change of them."""

    known: Mapping[UUID, Todo] = field(default_factory=dict)
    opened: Mapping[UUID, Todo] = field(default_factory=dict)
    changes: ChangeHistory[Todo] = field(default_factory=ChangeHistory)


def evolve(state: Todos, event: Happened) -> Todos:
    payload = event.payload
    changed = TODO.evolve(state.known, payload)
    if isinstance(payload, TodoOpened):
        state = replace(state, opened=updated(state.opened, changed))
    if changed and isinstance(payload, TodoOpened | TodoChanged):
        befores, undoes = TODO.befores(state.known, payload), getattr(payload, "undoes", None)
        state = replace(state, changes=state.changes.with_change(event, befores, undoes))
    return replace(state, known=updated(state.known, changed))


_decide = Decisions[TodoCommand, Todos]()


@_decide.register
def _open(command: OpenTodo, state: Todos) -> Sequence[Event]:
    opened = TodoOpened(
        todo_id=command.todo_id,
        kind=command.kind,
        agent_id=command.agent_id,
        due=command.due,
        source_turn_ids=command.source_turn_ids,
        text=command.text,
    )
    if command.todo_id not in state.known:
        return [opened]
    if state.known[command.todo_id].text and state.opened[command.todo_id] != opened.todo:
        raise IdempotencyConflict(
            f"todo {command.todo_id} already exists with different content", field="todo_id", fix="generate a new id"
        )
    return []


@_decide.register
def _change(command: ChangeTodo, state: Todos) -> Sequence[Event]:
    found = _get(state, command)
    given = command.model_dump(include={"status", "kind", "text", "due"}, exclude_none=True)
    if not given:
        raise InvalidInput("no change is given", field="status", fix="give at least one of status, kind, text, due")
    then = replace(found, **given)
    return [] if then == found else [_changing(then)]


@_decide.register
def _undo(command: UndoTodo, state: Todos) -> Sequence[Event]:
    """A todo that was added by the change is dropped."""
    _get(state, command)
    event_id = command.event_id or state.changes.last(todo_tag(command.todo_id))
    if event_id is None:
        raise no_such_todo(command.user_id, command.todo_id)
    if state.changes.undone(event_id):
        return []
    befores = state.changes.befores(event_id)
    return [reverted(state, event_id, subject, before) for subject, before in befores.items()]


def reverted(state: Todos, event_id: UUID, subject: str, before: Todo | None) -> TodoChanged:
    """The event that restores a todo to its state before the event; a todo that it added is dropped."""
    now = state.known[TODO.id_of(subject)]
    return _changing(before or replace(now, status=TodoStatus.DROPPED), undoes=event_id)


def _changing(todo: Todo, undoes: UUID | None = None) -> TodoChanged:
    return TodoChanged(
        todo_id=todo.todo_id, kind=todo.kind, status=todo.status, due=todo.due, undoes=undoes, text=todo.text
    )


def _get(state: Todos, command: TodoCommand) -> Todo:
    found = state.known.get(command.todo_id)
    if found is None or found.agent_id != command.agent_id:
        raise no_such_todo(command.user_id, command.todo_id)
    if not found.text:
        raise erased_todo(command.todo_id)
    return found


TODOS: Decider[TodoCommand, Todos] = Decider(
    initial=Todos(),
    subject=lambda command: todo_tag(command.todo_id),
    tags=lambda state, command: frozenset({USER, todo_tag(command.todo_id)}),
    evolve=evolve,
    decide=_decide,
)
