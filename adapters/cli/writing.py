"""Commands that change memories: add, create, update, merge, link, delete, restore, undo."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, IdempotencyKey, Json, MemoryId, Thread, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.memories import (
    ChangeStatus,
    LinkMemories,
    MemoryCommand,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.domain.identity import identifier, parse_uuid
from mnemolog.domain.memory import Status
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.fields import validated

Text = Annotated[str, typer.Argument(help="What to remember.")]
Importance = Annotated[float | None, typer.Option(help="0 to 1, or on the scale that is named.")]
ImportanceScale = Annotated[str, typer.Option(help="unit: 0 to 1; level3: 0 to 3; level5: 1 to 5.")]


def register(app: typer.Typer) -> None:
    for name, command in (
        ("add", add),
        ("create", create),
        ("update", update),
        ("merge", merge),
        ("link", link),
        ("archive", archive),
        ("delete", delete),
        ("restore", restore),
        ("undo", undo),
    ):
        app.command(name, rich_help_panel=panels.CHANGE)(command)


def add(
    context: typer.Context,
    text: Text,
    user: User,
    speaker: Annotated[str, typer.Option(help="The name of who says it.")] = "",
    role: Annotated[str, typer.Option(help="user, assistant, system or tool.")] = "user",
    turn_id: Annotated[str | None, typer.Option(help="Your id of the turn: adding it again changes nothing.")] = None,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Record what was said, and remember it."""
    fields = {"text": text, "speaker": speaker, "role": role, "actor": role}

    async def record(engine: Engine) -> tuple[object, Receipt]:
        named = {"turn_id": turn_id or engine.writes.new_turn_id()}
        return await engine.writes.record_turn({**_who(engine, user, agent, thread), **fields, **named})

    _written(context, record, "remembered", json)


def create(
    context: typer.Context,
    text: Text,
    user: User,
    category: Annotated[
        str | None, typer.Option(help="Such as profile, preferences or tasks; note unless said.")
    ] = None,
    kind: Annotated[str, typer.Option(help="fact, episode, insight, procedure, scene or summary.")] = "fact",
    importance: Importance = None,
    importance_scale: ImportanceScale = "unit",
    confidence: Annotated[float, typer.Option(help="0 to 1.")] = 1.0,
    pinned: Annotated[bool, typer.Option("--pinned", help="Never let it fade.")] = False,
    scope: Annotated[str, typer.Option(help="global, or agent: for this agent's eyes only.")] = "global",
    type_: Annotated[str | None, typer.Option("--type", help="PROFILE, PEOPLE or PROJECT.")] = None,
    fact_type: Annotated[str | None, typer.Option(help="fact, preference, relationship, friction or habit.")] = None,
    ref: Annotated[
        list[str] | None, typer.Option(help="Whom it is about, as person:ana_silva; the first makes the key.")
    ] = None,
    label: Annotated[str, typer.Option(help="The name of whom it is about, as it is shown.")] = "",
    topic: Annotated[list[str] | None, typer.Option(help="A topic; may be repeated.")] = None,
    memory_key: Annotated[
        str, typer.Option(help="A key of yours: the memory that has it is updated or observed instead.")
    ] = "",
    merge_similar: Annotated[
        bool, typer.Option("--merge-similar", help="Where one says the same, update or observe that instead.")
    ] = False,
    agent: Agent = "default",
    thread: Thread = "main",
    key: IdempotencyKey = None,
    json: Json = False,
) -> None:
    """Write one memory as it is; where its memory key is known, on the memory that has it."""
    given = {"category": category, "importance": importance, "type": type_, "fact_type": fact_type}
    fields = {
        **{name: value for name, value in given.items() if value is not None},
        "text": text,
        "kind": kind,
        "importance_scale": importance_scale,
        "confidence": confidence,
        "pinned": pinned,
        "scope": scope,
        "entity_refs": tuple(ref or ()),
        "entity_label": label,
        "topics": tuple(topic or ()),
        "memory_key": memory_key,
        "merge_similar": merge_similar,
    }

    async def write(engine: Engine) -> tuple[object, Receipt]:
        return await engine.writes.create({**_who(engine, user, agent, thread), **fields}, key)

    _written(context, write, "created", json)


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


def restore(
    context: typer.Context,
    memory_id: MemoryId,
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Bring back a forgotten memory."""
    _execute(context, RestoreMemory, {"memory_id": memory_id}, "restored", user, agent, thread, json)


def undo(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="A memory, to undo its last change; or an event.")],
    user: User,
    event: Annotated[bool, typer.Option("--event", help="ID is an event's id, from `history`.")] = False,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Undo an update, a merge or a deletion."""
    wanted = parse_uuid(id_, "event_id" if event else "memory_id")

    async def revert(engine: Engine) -> tuple[object, Receipt]:
        stream = StreamId.of_user(identifier(user, "user_id"), engine.settings.tenant)
        act = engine.writes.undo_event if event else engine.writes.undo_last
        return wanted, await act(stream, wanted, agent_id=agent, thread_id=thread)

    _written(context, revert, "undone", json)


def _who(engine: Engine, user: str, agent: str, thread: str) -> dict[str, str]:
    return {"tenant": engine.settings.tenant, "user_id": user, "agent_id": agent, "thread_id": thread}


def _execute(
    context: typer.Context,
    command: type[MemoryCommand],
    fields: dict[str, Any],
    sentence: str,
    user: str,
    agent: str,
    thread: str,
    json: bool,
) -> None:
    async def run(engine: Engine) -> tuple[object, Receipt]:
        now = {"at": engine.writes.now()} if command is SoftDeleteMemory else {}
        request = validated(command, {**_who(engine, user, agent, thread), **fields, **now})
        return request.memory_id, await engine.writes.execute(request)

    _written(context, run, sentence, json)


def _written(
    context: typer.Context, write: Callable[[Engine], Awaitable[tuple[object, Receipt]]], sentence: str, json: bool
) -> None:
    memory_id, receipt = with_engine(settings_of(context.obj), write)
    if json:
        output.as_json({"memory_id": str(memory_id), "receipt": receipt.as_dict()})
    else:
        output.receipt(f"{sentence}: [cyan]{memory_id}[/]", receipt)
