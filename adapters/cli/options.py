"""Options that several commands share."""

from collections.abc import Callable
from typing import Annotated

import typer

from mnemolog.domain.identity import identifier


def checked_as(field: str) -> Callable[[str], str]:
    """Validates an id and names this field in the error."""
    return lambda value: identifier(value, field)


User = Annotated[
    str,
    typer.Option("--user-id", "--user", "-u", envvar="MNEMOLOG_USER", help="The user.", callback=checked_as("user_id")),
]
Agent = Annotated[str, typer.Option("--agent-id", "--agent", "-a", help="The agent.", callback=checked_as("agent_id"))]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
Cursor = Annotated[str | None, typer.Option(help="The `next_cursor` of the previous page.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="The tenant. Default: the tenant in the settings.")]
