"""When and why a row was hidden (A19)."""

from collections.abc import Mapping
from typing import Any

from mnemolog.events.envelope import Recorded
from mnemolog.projections.rows import Row

NOT_FORGOTTEN: Mapping[str, Any] = {"forgotten_at": None, "forget_reason": ""}
"""The columns of a row that is not hidden."""


def forgotten(event: Recorded, reason: str) -> dict[str, Any]:
    """The columns of a row that this event hides. The reason is destroyed with the row's text."""
    return {"forgotten_at": event.recorded_at, "forget_reason": reason}


def reverted(event: Recorded, before: Row, *, hidden: bool) -> Mapping[str, Any]:
    """The columns of a row that this undo hides or shows. What was hidden already is so since then."""
    if not hidden:
        return NOT_FORGOTTEN
    return {} if before["forgotten_at"] else forgotten(event, "")
