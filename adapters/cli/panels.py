"""The panels of `mnemolog --help`, with the most common commands first."""

import typer
from typer.core import TyperGroup

CHANGE, READ, ERASE = "Change", "Read", "Erase"
RUN, LOOK_AFTER, REFERENCE = "Run", "Maintenance", "Reference"

ORDER = (CHANGE, READ, ERASE, RUN, LOOK_AFTER, REFERENCE)


class Ordered(TyperGroup):
    """Lists its commands panel by panel, each panel's in the order in which they were registered."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(super().list_commands(ctx), key=self._place)

    def _place(self, name: str) -> int:
        panel = getattr(self.commands[name], "rich_help_panel", None)
        return ORDER.index(panel) if panel in ORDER else len(ORDER)
