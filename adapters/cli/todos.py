"""Commands of todos: add, list, done, drop."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import IdempotencyKey, Json, Thread, User, checked_as
from mnemolog.adapters.cli.reading import Limit, asked
from mnemolog.adapters.cli.writing import shown, written
from mnemolog.domain.identity import parse_uuid
from mnemolog.domain.todo import Kind, Status

Owner = Annotated[
    str,
    typer.Option("--agent", "-a", help="Whose todos: no other agent sees them.", callback=checked_as("agent_id")),
]
TodoId = Annotated[str, typer.Argument(help="The todo's id.")]

todos_app = typer.Typer(
    help="Commitments, habits, open threads and frictions that one agent keeps for a user.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    app.add_typer(todos_app, name="todos", rich_help_panel=panels.CHANGE)


@todos_app.command("add")
def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What is to be done.")],
    user: User,
    agent: Owner,
    kind: Annotated[Kind, typer.Option(help="What it is.")] = Kind.COMMITMENT,
    due: Annotated[str | None, typer.Option(help="A time with its offset, such as 2026-01-03T01:02:10Z.")] = None,
    turn: Annotated[list[str] | None, typer.Option(help="A turn that it was drawn from; may be repeated.")] = None,
    thread: Thread = "main",
    key: IdempotencyKey = None,
    json: Json = False,
) -> None:
    """Open a todo."""
    fields = {"text": text, "kind": kind, "due": due, "source_turn_ids": tuple(turn or ())}
    todo_id, receipt = written(
        context, user, agent, thread, lambda writes, who: writes.open_todo({**who, **fields}, key)
    )
    shown(receipt, "opened", json, todo_id=todo_id)


@todos_app.command("list")
def list_todos(
    context: typer.Context,
    user: User,
    agent: Owner,
    status: Annotated[Status | None, typer.Option(help="Only these; `open` unless said.")] = Status.OPEN,
    everything: Annotated[bool, typer.Option("--all", help="Done and dropped ones, too.")] = False,
    kind: Annotated[Kind | None, typer.Option(help="Only these.")] = None,
    json: Json = False,
) -> None:
    """What is due first, then the oldest."""
    wanted = None if everything else status
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.todos(viewer, wanted, kind, at))
    output.as_json(rows) if json else _show(rows)


@todos_app.command("history")
def history(
    context: typer.Context, todo_id: TodoId, user: User, agent: Owner, limit: Limit = 100, json: Json = False
) -> None:
    """How a todo was opened and changed, newest first."""
    id_ = parse_uuid(todo_id, "todo_id")
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.todo_history(viewer, id_, limit, at))
    output.as_json(rows) if json else output.history(rows)


@todos_app.command("done")
def done(
    context: typer.Context, todo_id: TodoId, user: User, agent: Owner, thread: Thread = "main", json: Json = False
) -> None:
    """Close a todo that was done."""
    _close(context, todo_id, Status.DONE, user, agent, thread, json)


@todos_app.command("drop")
def drop(
    context: typer.Context, todo_id: TodoId, user: User, agent: Owner, thread: Thread = "main", json: Json = False
) -> None:
    """Close a todo that will not be done."""
    _close(context, todo_id, Status.DROPPED, user, agent, thread, json)


def _close(
    context: typer.Context, todo_id: str, status: Status, user: str, agent: str, thread: str, json: bool
) -> None:
    wanted = {"todo_id": parse_uuid(todo_id, "todo_id"), "status": status}
    receipt = written(context, user, agent, thread, lambda writes, who: writes.change_todo({**who, **wanted}))
    shown(receipt, status, json, todo_id=wanted["todo_id"])


def _show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Their status only where it is not the same for all."""
    mixed = len({row["status"] for row in rows}) > 1
    told = [(row["kind"], row["text"], *([row["status"]] if mixed else []), _due(row), row["todo_id"]) for row in rows]
    output.show(("kind", "text", *(["status"] if mixed else []), "due", "id"), told, nothing="nothing to do")


def _due(row: Mapping[str, Any]) -> str:
    return output.when(row["due"])[:16] if row["due"] else "–"
