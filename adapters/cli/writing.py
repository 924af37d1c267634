"""Commands that change memories: update, merge, link, archive, delete, restore, undo; and how any command writes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast
from uuid import UUID

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import (
    Agent,
    IdempotencyKey,
    Importance,
    ImportanceScale,
    Json,
    MemoryId,
    Thread,
    User,
)
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.writes import Writes
from mnemolog.commands.decider import Command
from mnemolog.commands.memories import (
    ChangeStatus,
    LinkMemories,
    MemoryCommand,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.commands.rollback import Plan
from mnemolog.domain.identity import parse_uuid
from mnemolog.domain.memory import Status
from mnemolog.domain.principal import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.fields import validated

T = TypeVar("T")
CommandType = TypeVar("CommandType", bound=Command)
Who = Mapping[str, str]


def register(app: typer.Typer) -> None:
    for name, command in (
        ("update", update),
        ("merge", merge),
        ("link", link),
        ("archive", archive),
        ("delete", delete),
        ("undo", undo),
    ):
        app.command(name, rich_help_panel=panels.CHANGE)(command)


def written(
    context: typer.Context, user: str, agent: str, thread: str, write: Callable[[Writes, Who], Awaitable[T]]
) -> T:
    """What `write` gives, which is told whose memory changes, by which agent and in which thread."""

    async def run(engine: Engine) -> T:
        who = {"tenant": engine.settings.tenant, "user_id": user, "agent_id": agent, "thread_id": thread}
        return await write(engine.writes, who)

    return with_engine(settings_of(context.obj), run)


def written_with_variants(
    context: typer.Context,
    user: str,
    agent: str,
    thread: str,
    write: Callable[[Writes, Who], Awaitable[tuple[UUID, Receipt]]],
) -> tuple[UUID, Receipt, Sequence[Mapping[str, Any]]]:
    """As `written`, and the entities whose names may be spellings of those that it named."""

    async def run(engine: Engine) -> tuple[UUID, Receipt, Sequence[Mapping[str, Any]]]:
        who = {"tenant": engine.settings.tenant, "user_id": user, "agent_id": agent, "thread_id": thread}
        id_, receipt = await write(engine.writes, who)
        viewer = Viewer(engine.settings.tenant, user, agent)
        may_read = engine.writes.may(Role.READ)
        return id_, receipt, await engine.reads.suggested(viewer, receipt) if may_read else []

    return with_engine(settings_of(context.obj), run)


def command_of(kind: type[CommandType], writes: Writes, who: Who, fields: Mapping[str, Any]) -> CommandType:
    """The command, with the time if it tells one."""
    now = {"at": writes.now()} if "at" in kind.model_fields else {}
    return validated(kind, {**who, **now, **fields})


def shown(
    receipt: Receipt,
    done: str,
    json: bool,
    *,
    variants: Sequence[Mapping[str, Any]] | None = None,
    **ids: object,
) -> None:
    """What was done, to whom or what; `ids` by their names in JSON. `variants`: who else a name may mean."""
    if json:
        told = {} if variants is None else {"variants": variants}
        output.as_json({**{name: str(id_) for name, id_ in ids.items()}, **told, "receipt": receipt.as_dict()})
        return
    output.receipt(": ".join([done, *(f"[cyan]{id_}[/]" for id_ in ids.values())]), receipt)
    for one in variants or ():
        output.line("the same as?", f"{one['name']} ({one['entity_id']}): `mnemolog entity merge` makes them one")


def given(**fields: Any) -> dict[str, Any]:
    """Without what was left out."""
    return {name: value for name, value in fields.items() if value is not None}


def update(
    context: typer.Context,
    memory_id: MemoryId,
    user: User,
    text: Annotated[str | None, typer.Option(help="Its new text.")] = None,
    category: Annotated[str | None, typer.Option(help="Its new category.")] = None,
    importance: Importance = None,
    importance_scale: ImportanceScale = "unit",
    pinned: Annotated[bool | None, typer.Option("--pinned/--unpinned", help="Whether it may fade.")] = None,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Change a memory."""
    asked = {"text": text, "category": category, "importance": importance, "pinned": pinned}
    fields = {"memory_id": memory_id, "importance_scale": importance_scale, **asked}
    _execute(context, UpdateMemory, fields, "updated", user, agent, thread, json)


def archive(
    context: typer.Context,
    memory_id: MemoryId,
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Keep a memory out of sight, dormant, until `restore` or `undo` brings it back."""
    fields = {"memory_id": memory_id, "status": Status.DORMANT}
    _execute(context, ChangeStatus, fields, "archived; `restore` brings it back", user, agent, thread, json)


def merge(
    context: typer.Context,
    memory_id: MemoryId,
    absorbed: Annotated[list[str], typer.Argument(help="The memories that it absorbs.")],
    user: User,
    text: Annotated[str | None, typer.Option(help="What it reads afterwards; without it, as before.")] = None,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Fold memories into one. `undo` brings them back."""
    fields = {"memory_id": memory_id, "absorbed_ids": tuple(absorbed), "text": text}
    _execute(context, MergeMemories, fields, f"merged {len(absorbed) + 1} memories", user, agent, thread, json)


def link(
    context: typer.Context,
    memory_id: MemoryId,
    to_id: Annotated[str, typer.Argument(help="The memory that it is linked to.")],
    user: User,
    strength: Annotated[float, typer.Option(help="0 to 1.")] = 1.0,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Link one memory to another."""
    fields = {"memory_id": memory_id, "to_id": to_id, "strength": strength}
    _execute(context, LinkMemories, fields, "linked", user, agent, thread, json)


def delete(
    context: typer.Context,
    memory_id: MemoryId,
    user: User,
    reason: Annotated[str, typer.Option(help="Why; it stands in the history.")] = "",
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Forget a memory softly: hidden from now on, until `restore` or `undo` brings it back."""
    fields = {"memory_id": memory_id, "reason": reason}
    _execute(context, SoftDeleteMemory, fields, "forgotten; `restore` brings it back", user, agent, thread, json)


def restore_memory(context: typer.Context, memory_id: str, user: str, agent: str, thread: str, json: bool) -> None:
    """Bring back a forgotten memory: `mnemolog restore`, which also restores backups (cli/backing_up.py)."""
    _execute(context, RestoreMemory, {"memory_id": memory_id}, "restored", user, agent, thread, json)


def undo(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="A memory, to undo its last change; or an event.")],
    user: User,
    event: Annotated[bool, typer.Option("--event", help="ID is an event's id, from `history`.")] = False,
    agent: Agent = "default",
    thread: Thread = "main",
    key: IdempotencyKey = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    json: Json = False,
) -> None:
    """Undo the last change of a memory, or any one change by its event; an undo, too.

    Each call on a memory goes one change further back; with --key, a retry does not.
    """
    kind = "event_id" if event else "memory_id"
    wanted = parse_uuid(id_, kind)

    if dry_run:

        async def plan(engine: Engine) -> Plan:
            stream, what = StreamId.of_user(user, engine.settings.tenant), (None, wanted) if event else (wanted, None)
            return await engine.writes.undo_plan(stream, *what, agent_id=agent, thread_id=thread)

        _show_undo(with_engine(settings_of(context.obj), plan), json=json)
        return

    async def revert(writes: Writes, who: Who) -> Receipt:
        act = writes.undo_event if event else writes.undo_last
        return await act(StreamId.of_user(user, who["tenant"]), wanted, key, agent_id=agent, thread_id=thread)

    shown(written(context, user, agent, thread, revert), "undone", json, **cast(dict[str, Any], {kind: wanted}))


def _show_undo(plan: Plan, *, json: bool) -> None:
    if json:
        output.as_json({**plan.as_dict(), "receipt": None})
        return
    for change in plan.changes:
        output.line("  would write", f"{change['type']} on {change['subject']}")
    for conflict in plan.conflicts:
        output.line("  ! conflict", f"{conflict.event_id}: {conflict.error.message}")
        output.line("    →", conflict.error.fix)
    if not plan.changes and not plan.conflicts:
        output.console.print("undone already: nothing would change")


def _execute(
    context: typer.Context,
    command: type[MemoryCommand],
    fields: dict[str, Any],
    done: str,
    user: str,
    agent: str,
    thread: str,
    json: bool,
) -> None:
    async def execute(writes: Writes, who: Who) -> tuple[object, Receipt]:
        request = command_of(command, writes, who, fields)
        return request.memory_id, await writes.execute(request)

    memory_id, receipt = written(context, user, agent, thread, execute)
    shown(receipt, done, json, memory_id=memory_id)
