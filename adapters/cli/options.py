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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value, for programs.")]
