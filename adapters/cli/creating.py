"""Commands that keep what is new: add, create."""

from typing import Annotated

import typer

from mnemolog.adapters.cli import panels
from mnemolog.adapters.cli.options import Agent, IdempotencyKey, Importance, ImportanceScale, Json, Thread, User
from mnemolog.adapters.cli.writing import Who, given, shown, written
from mnemolog.adapters.engine.writes import Writes
from mnemolog.events.envelope import Receipt

Text = Annotated[str, typer.Argument(help="What to remember.")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.CHANGE)(add)
    app.command(rich_help_panel=panels.CHANGE)(create)


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

    async def record(writes: Writes, who: Who) -> tuple[object, Receipt]:
        return await writes.record_turn({**who, **fields, "turn_id": turn_id or writes.new_turn_id()})

    memory_id, receipt = written(context, user, agent, thread, record)
    shown(receipt, "remembered", json, memory_id=memory_id)


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
    entity: Annotated[list[str] | None, typer.Option(help="The id of an entity that it is about.")] = None,
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
    fields = {
        **given(category=category, importance=importance, type=type_, fact_type=fact_type),
        "text": text,
        "kind": kind,
        "importance_scale": importance_scale,
        "confidence": confidence,
        "pinned": pinned,
        "scope": scope,
        "entity_refs": tuple(ref or ()),
        "entity_ids": tuple(entity or ()),
        "entity_label": label,
        "topics": tuple(topic or ()),
        "memory_key": memory_key,
        "merge_similar": merge_similar,
    }
    memory_id, receipt = written(
        context, user, agent, thread, lambda writes, who: writes.create({**who, **fields}, key)
    )
    shown(receipt, "created", json, memory_id=memory_id)
