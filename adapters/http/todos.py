"""Routes of todos. They are of one agent, so a request must name it (D11)."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from mnemolog.adapters.http.requests import (
    Asker,
    HistoryRead,
    IdempotencyKey,
    TheEngine,
    When,
    Writer,
    fields_of,
    path_id,
    viewer_of,
)
from mnemolog.adapters.http.responses import HistoryEntry, HistoryView, ReceiptView
from mnemolog.domain.todo import Kind, Status
from mnemolog.events.fields import Id, Instant, Text

router = APIRouter(tags=["todos"])


class TodosRead(Asker, When):
    """An agent's todos, of one status or kind or of any."""

    agent_id: Id
    status: Status | None = None
    kind: Kind | None = None


class TodoHistoryRead(HistoryRead):
    """The newest entries of a todo's history, and the agent that it is of."""

    agent_id: Id


class NewTodo(Writer):
    """A commitment, a habit, an open thread or a friction."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"user_id": "ana", "agent_id": "coach", "kind": "commitment", "text": "walk tomorrow"}]
        }
    )

    agent_id: Id
    kind: Kind
    text: Text
    due: Instant | None = None
    source_turn_ids: tuple[Id, ...] = ()


class TodoChange(Writer):
    """What to change; fields that are left out or null stay as they are."""

    agent_id: Id
    status: Status | None = None
    kind: Kind | None = None
    text: Text | None = None
    due: Instant | None = None


class TodoView(BaseModel):
    """One todo of one agent."""

    todo_id: UUID
    agent_id: str
    kind: Kind
    text: str
    status: Status
    due: datetime | None
    source_turn_ids: list[str]
    created_at: datetime
    updated_at: datetime
    seq: int


class TodosView(BaseModel):
    """What is due first, then the oldest."""

    todos: list[TodoView]


class OpenedView(ReceiptView):
    """The receipt, and the id of the new todo."""

    todo_id: UUID


@router.get("/todos", summary="List an agent's todos")
async def list_todos(asked: Annotated[TodosRead, Query()], engine: TheEngine) -> TodosView:
    """No other agent sees them."""
    rows = await engine.reads.todos(viewer_of(engine, asked), asked.status, asked.kind, asked.moment())
    return TodosView(todos=[TodoView.model_validate(row) for row in rows])


@router.post("/todos", status_code=201, summary="Open a todo")
async def open_todo(body: NewTodo, key: IdempotencyKey, engine: TheEngine) -> OpenedView:
    """A retry with the same Idempotency-Key gives the first todo's id."""
    todo_id, receipt = await engine.writes.open_todo(fields_of(engine, body), key)
    return OpenedView.of(receipt, todo_id=todo_id)


@router.get("/todos/{todo_id}/history", summary="Read what happened to a todo")
async def get_todo_history(
    todo_id: Annotated[UUID, path_id("todo_id")], asked: Annotated[TodoHistoryRead, Query()], engine: TheEngine
) -> HistoryView:
    """How it was opened and changed, newest first."""
    rows = await engine.reads.todo_history(viewer_of(engine, asked), todo_id, asked.limit, asked.moment())
    return HistoryView(history=[HistoryEntry.model_validate(row) for row in rows])


@router.post("/todos/{todo_id}", summary="Change a todo, or close it")
async def change_todo(
    todo_id: Annotated[UUID, path_id("todo_id")],
    body: TodoChange,
    key: IdempotencyKey,
    engine: TheEngine,
) -> ReceiptView:
    """`POST /undo` takes it back."""
    fields = {**fields_of(engine, body), "todo_id": todo_id}
    return ReceiptView.of(await engine.writes.change_todo(fields, key))
