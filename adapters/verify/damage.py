"""A finding of verification: the event, row or key, and what was done to it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mnemolog.events.envelope import StreamId
from mnemolog.projections.owner import OWNER

SHOWN = 10_000


class DamageKind(StrEnum):
    """The kind of damage, as far as it can be determined."""

    CHANGED = "changed"
    FORGED = "forged"
    REMOVED = "removed"
    REORDERED = "reordered"
    REPLAYED = "replayed"
    COPIED = "copied"
    TAIL_CUT = "tail_cut"
    ROLLED_BACK = "rolled_back"
    BEHIND = "behind"
    KEY_MISSING = "key_missing"


class Part(StrEnum):
    """Where the damage is. Only what REBUILT names can be rebuilt from the log."""

    EVENT = "event"
    HEAD = "head"
    TAG = "tag"
    RECEIPT = "receipt"
    KEY = "key"
    ANCHOR = "anchor"
    ROW = "row"


REBUILT = frozenset({Part.HEAD, Part.TAG, Part.ROW})


@dataclass(frozen=True, slots=True)
class Damage:
    """One place that differs from what the engine wrote. `seq` is 0 unless it is a single event."""

    part: Part
    kind: DamageKind
    stream: StreamId | None
    detail: str
    seq: int = 0
    event_id: str = ""
    projection: str = ""
    table: str = ""
    key: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> tuple[Any, ...]:
        """The key that damage at the same place has in common."""
        return self.part, self.stream, self.seq, self.projection, self.table, *sorted(self.key.items())

    @property
    def where(self) -> str:
        """The place in words: a stream, and the event or row in it."""
        parts = [str(self.stream or ""), f"seq {self.seq}" if self.seq else "", self.event_id]
        if self.table:
            parts.append(f"{self.projection}.{self.table}" if self.projection else self.table)
        parts += [one for name, one in self.key.items() if not self.stream or name not in OWNER]
        return " ".join(part for part in parts if part)

    def as_dict(self) -> dict[str, Any]:
        """For programs; fields that do not apply are omitted."""
        found = {
            "part": self.part,
            "kind": self.kind,
            "stream": str(self.stream) if self.stream else "",
            "seq": self.seq,
            "event_id": self.event_id,
            "projection": self.projection,
            "table": self.table,
            "key": dict(self.key),
            "detail": self.detail,
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Damage":
        """From the output of `as_dict`; unknown fields are ignored."""
        stream = StreamId.from_text(fields["stream"]) if "stream" in fields else None
        names = ("seq", "event_id", "projection", "table", "key")
        rest = {name: fields[name] for name in names if name in fields}
        return cls(Part(fields["part"]), DamageKind(fields["kind"]), stream, fields["detail"], **rest)


@dataclass(frozen=True, slots=True)
class Unverified:
    """A stream, or all, whose rows could only be compared up to `seq`: the projection is stopped or being upgraded."""

    projection: str
    stream: StreamId | None
    seq: int
    why: str

    def as_dict(self) -> dict[str, Any]:
        stream = str(self.stream) if self.stream else ""
        return {"projection": self.projection, "stream": stream, "seq": self.seq, "why": self.why}


class Report:
    """Collects damage: all of it is counted, the first ten thousand in full."""

    def __init__(self) -> None:
        self.damages: list[Damage] = []
        self.unverified: list[Unverified] = []
        self.counts: Counter[tuple[Part, DamageKind]] = Counter()
        self.events = self.copies = self.anchors = self.rows = 0
        self._streams: set[StreamId] = set()

    def add(self, damage: Damage) -> None:
        self.counts[damage.part, damage.kind] += 1
        if len(self.damages) < SHOWN:
            self.damages.append(damage)
        if damage.stream and damage.part is Part.EVENT:
            self.suspect(damage.stream)

    def take(self, other: "Report") -> None:
        """Add another report on rows."""
        for damage in other.damages:
            self.add(damage)
        self.unverified += other.unverified
        self.rows += other.rows

    def suspect(self, stream: StreamId) -> None:
        """Record that an event of the stream is damaged, before it is known how."""
        self._streams.add(stream)

    @property
    def clean(self) -> bool:
        return not self.counts

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def log_damaged(self, stream: StreamId) -> bool:
        """Whether an event of the stream is damaged, so that projections cannot be compared with the log."""
        return stream in self._streams

    def as_dict(self) -> dict[str, Any]:
        return {
            "clean": self.clean,
            "events": self.events,
            "copies": self.copies,
            "anchors": self.anchors,
            "rows": self.rows,
            "damages": self.total,
            "unverified": [one.as_dict() for one in self.unverified],
            "found": [damage.as_dict() for damage in self.damages],
        }
