"""The panels of `mnemolog --help`, with the most common commands first."""

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from mnemolog.domain.errors import InvalidInput

CHANGE, READ, ERASE = "Change", "Read", "Erase"
RUN, LOOK_AFTER, REFERENCE = "Run", "Maintenance", "Reference"

ORDER = (CHANGE, READ, ERASE, RUN, LOOK_AFTER, REFERENCE)


class Ordered(TyperGroup):
    """Lists its commands panel by panel, each panel's in the order in which they were registered."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(super().list_commands(ctx), key=self._place)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """`restore` is that of a memory; it was once that of a backup, too."""
        file = next((one for one in args[1:] if Path(one).is_file()), None) if args[0] == "restore" else None
        if file is not None:
            fix = f"restore a backup with `mnemolog backup restore {file}`"
            raise InvalidInput(f"{file} is a file, not a memory", field="memory_id", fix=fix)
        return super().resolve_command(ctx, args)

    def _place(self, name: str) -> int:
        panel = getattr(self.commands[name], "rich_help_panel", None)
        return ORDER.index(panel) if panel in ORDER else len(ORDER)
