"""Options that several commands share."""

from typing import Annotated

import typer

User = Annotated[str, typer.Option("--user", "-u", envvar="MNEMOLOG_USER", help="Whose memory.")]
Agent = Annotated[str, typer.Option("--agent", "-a", help="The agent that asks.")]
Thread = Annotated[str, typer.Option("--thread", "-t", help="The conversation.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value, for programs.")]
MemoryId = Annotated[str, typer.Argument(help="The memory's id.")]
IdempotencyKey = Annotated[str | None, typer.Option("--key", help="Makes a retry of this very request change nothing.")]
