"""When an entity was hidden; the facts about it are hidden for the same time (A19, X13)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from mnemolog.domain.identity import utc_text
from mnemolog.events.envelope import Recorded

Span = Mapping[str, Any]


def after(spans: Sequence[Span], hidden: bool, event: Recorded) -> list[Span]:
    """The spans after an event hides or shows an entity. A span without an end is open."""
    now = {"at": utc_text(event.recorded_at), "seq": event.seq}
    is_open = bool(spans) and spans[-1]["until"] is None
    if hidden and not is_open:
        return [*spans, {"since": now, "until": None}]
    if is_open and not hidden:
        return [*spans[:-1], {**spans[-1], "until": now}]
    return list(spans)


def hidden_at(spans: Sequence[Span], known_at: datetime | int | None) -> bool:
    """Whether the entity was hidden at a time or a seq of the stream, or is hidden now."""
    return any(_reached(one["since"], known_at) and not _reached(one["until"], known_at) for one in spans)


def _reached(mark: Span | None, known_at: datetime | int | None) -> bool:
    if mark is None:
        return False
    if isinstance(known_at, int):
        return bool(mark["seq"] <= known_at)
    return known_at is None or datetime.fromisoformat(mark["at"]) <= known_at
