"""Options that several commands share."""

from collections.abc import Callable
from typing import Annotated

import typer

from mnemolog.domain.identity import identifier


def _id(field: str) -> Callable[[str], str]:
    return lambda value: identifier(value, field)


User = Annotated[
    str, typer.Option("--user", "-u", envvar="MNEMOLOG_USER", help="Whose memory.", callback=_id("user_id"))
]
Agent = Annotated[str, typer.Option("--agent", "-a", help="The agent that asks.", callback=_id("agent_id"))]
Thread = Annotated[str, typer.Option("--thread", "-t", help="The conversation.", callback=_id("thread_id"))]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value, for programs.")]
MemoryId = Annotated[str, typer.Argument(help="The memory's id.")]
IdempotencyKey = Annotated[str | None, typer.Option("--key", help="Makes a retry of this very request change nothing.")]
