"""The delta header: what changed in a thread since the reader last looked (B §1, B01)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from mnemolog.domain import category as categories
from mnemolog.domain import importance
from mnemolog.domain.origin import Origin, quoted

MAX_BULLETS = 3
MAX_TEXT = 120
ERASED = "(erased)"


class Change(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    MERGED = "merged"
    DELETED = "deleted"
    SOFT_DELETED = "soft_deleted"
    RESTORED = "restored"


# B §1 defines the first three signs; the others are analogous.
SIGNS = {
    Change.CREATED: "+",
    Change.UPDATED: "↑",
    Change.MERGED: "↔",
    Change.DELETED: "-",
    Change.SOFT_DELETED: "-",
    Change.RESTORED: "↺",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the change log, with the current memory. `combined` is the number of merged memories."""

    rev: int
    memory_id: UUID
    change: Change
    category: str
    text: str
    importance: float
    combined: int = 0
    origin: Origin = Origin.USER


def header(since: int, entries: Iterable[Entry]) -> str:
    """The header with the newest three changes, oldest first; "" if nothing changed since revision `since`.

    Each memory is listed once, with its last change; one that was created and then updated counts as created.
    """
    last: dict[UUID, Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.rev):
        if entry.rev <= since:
            continue
        before = last.pop(entry.memory_id, None)
        last[entry.memory_id] = entry if before is None else _combined(before, entry)
    shown = list(last.values())[-MAX_BULLETS:]
    if not shown:
        return ""
    return "\n".join([f"Memory updates since rev {since}:", *map(bullet, shown)])


def bullet(entry: Entry) -> str:
    """One line, such as `- +created: [Personal] Preferred name is Ana (imp=2)`."""
    line = f"- {SIGNS[entry.change]}{entry.change}: "
    text = shortened(entry.text) or ERASED
    if entry.origin.external:
        text = f"{quoted(text)} ({entry.origin.label})"
    if entry.change is Change.MERGED:
        return f"{line}Combined {entry.combined} notes about {text}"
    tail = f" (imp={importance.to_five(entry.importance)})" if entry.change is Change.CREATED else ""
    return f"{line}[{categories.label(entry.category)}] {text}{tail}"


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    """One line of at most `limit` characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut).rstrip(",;:") + "…"


def _combined(before: Entry, after: Entry) -> Entry:
    if before.change is Change.CREATED and after.change is Change.UPDATED:
        return replace(after, change=Change.CREATED)
    return after
