"""Commands that keep what is new: add, create."""

from typing import Annotated

import typer

from mnemolog.adapters.cli import panels
from mnemolog.adapters.cli.options import Agent, Json, Thread, User
from mnemolog.adapters.cli.writing import Who, shown, written
from mnemolog.adapters.engine.writes import Writes
from mnemolog.events.envelope import Receipt

Text = Annotated[str, typer.Argument(help="What to remember.")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.CHANGE)(add)


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
