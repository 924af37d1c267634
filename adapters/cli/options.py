"""Options that several commands share."""

from collections.abc import Callable
from typing import Annotated

import typer

from mnemolog.domain.identity import identifier


def checked_as(field: str) -> Callable[[str], str]:
    """Refuses by this field's name what is no id."""
    return lambda value: identifier(value, field)


User = Annotated[
    str, typer.Option("--user", "-u", envvar="MNEMOLOG_USER", help="Whose memory.", callback=checked_as("user_id"))
]
Agent = Annotated[str, typer.Option("--agent", "-a", help="The agent that asks.", callback=checked_as("agent_id"))]
Thread = Annotated[str, typer.Option("--thread", "-t", help="The conversation.", callback=checked_as("thread_id"))]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value, for programs.")]
MemoryId = Annotated[str, typer.Argument(help="The memory's id.")]
IdempotencyKey = Annotated[str | None, typer.Option("--key", help="Makes a retry of this very request change nothing.")]
Importance = Annotated[float | None, typer.Option(help="0 to 1, or on the scale that is named.")]
ImportanceScale = Annotated[str, typer.Option(help="unit: 0 to 1; level3: 0 to 3; level5: 1 to 5.")]
Confidence = Annotated[float | None, typer.Option(help="How sure it is, 0 to 1.")]
Reason = Annotated[str, typer.Option(help="Why.")]
