"""Operations on todos. Each todo belongs to one agent, and no other agent sees it (D11)."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, Write, fields_of, viewer_of
from mnemolog.adapters.operations.results import HistoryEntry, Page, Result, Written, written
from mnemolog.commands.todos import ChangeTodo, OpenTodo
from mnemolog.domain.origin import Origin
from mnemolog.domain.todo import TodoKind, TodoStatus
from mnemolog.events.fields import Uuid


class TodosRead(PagedRead):
    """An agent's todos, by due time, then oldest first."""

    status: Annotated[
        Literal[TodoStatus.OPEN, TodoStatus.DONE, TodoStatus.DROPPED, "all"],
        Field(description="Only todos with this status, or `all`."),
    ] = TodoStatus.OPEN
    kind: Annotated[TodoKind | None, Field(description="Only todos of this kind.")] = None


class TodoHistoryRead(PagedRead):
    """The history of a todo, newest first."""

    todo_id: Annotated[Uuid, Field(description="The todo's id.")]


class Todo(Result):
    """A todo of one agent."""

    todo_id: UUID
    agent_id: str
    kind: TodoKind
    text: str
    status: TodoStatus
    due: datetime | None
    source_turn_ids: list[str]
    origin: Origin = Field(description="The least trusted origin of the turns it was extracted from.")
    created_at: datetime
    updated_at: datetime
    seq: int


class TodoAdded(Written):
    """The receipt, and the id of the new todo."""

    todo_id: UUID


@operation(
    "todo add",
    "POST /todos",
    OpenTodo,
    tag="todos",
    arguments=("text",),
    done="Added",
    status=201,
    example={"user_id": "ana", "agent_id": "coach", "text": "walk tomorrow", "due": "2026-01-04T00:00:00Z"},
)
async def add_todo(engine: Engine, request: Write) -> TodoAdded:
    """Add a todo for this agent.

    Commitments, habits, open threads and frictions; other agents do not see them.
    """
    todo_id, receipt = await engine.writes.open_todo(fields_of(engine, request), request.idempotency_key)
    return TodoAdded.of(receipt, todo_id=todo_id)


@operation("todo list", "GET /todos", tag="todos")
async def list_todos(engine: Engine, request: TodosRead) -> Page[Todo]:
    """List this agent's todos, by due time, then oldest first.

    Returns open todos, unless `status` is given.
    """
    status = None if request.status == "all" else request.status
    viewer, moment = viewer_of(engine, request), request.moment()
    return Page[Todo].of(await engine.reads.todos(viewer, status, request.kind, moment, request.limit, request.cursor))


@operation(
    "todo update",
    "PATCH /todos/{todo_id}",
    ChangeTodo,
    tag="todos",
    done="Updated",
    example={"user_id": "ana", "agent_id": "coach", "status": "done"},
)
async def update_todo(engine: Engine, request: Write) -> Written:
    """Update a todo, or close it with status `done` or `dropped`.

    Omitted fields stay the same.
    """
    return await written(engine, ChangeTodo, request)


@operation("todo history", "GET /todos/{todo_id}/history", tag="todos")
async def todo_history(engine: Engine, request: TodoHistoryRead) -> Page[HistoryEntry]:
    """Read the history of a todo, newest first.

    Returns how it was added and changed.
    """
    viewer, moment = viewer_of(engine, request), request.moment()
    rows = await engine.reads.todo_history(viewer, request.todo_id, request.limit, moment, request.cursor)
    return Page[HistoryEntry].of(rows)
