"""A document in an agent's library, and the chunks it is divided into (A §2.4).

A chunk is identified by its heading path and its text. When a document changes, chunks that are still in it keep their
id; those whose order is unchanged keep their rank, too, so that nothing else is written about them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from uuid import UUID

from mnemolog.domain.errors import Erased, NotFound
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope

# Numbers by which chunks are sorted.
Ranks = Mapping[UUID, float]


class Outcome(StrEnum):
    """What adding a document did."""

    ADDED = "added"
    CHANGED = "changed"
    RESTORED = "restored"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Revision:
    """The state of a document's file. `domain` is the field of knowledge that it belongs to."""

    title: str = ""
    domain: str = ""
    mime: str = ""
    sha256: str = ""
    size_bytes: int = 0
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """The current state of a document. `source` is its path or name; `ranks` are the ranks of its current chunks."""

    document_id: UUID
    agent_id: str
    source: str
    revision: Revision
    ranks: Ranks = field(default_factory=dict)
    status: Status = Status.ACTIVE
    purge_at: datetime | None = None

    @property
    def scope(self) -> Scope:
        """A library belongs to one agent."""
        return Scope.AGENT

    @property
    def is_erased(self) -> bool:
        return self.status is Status.PURGED

    def erased(self) -> "Document":
        """Without text."""
        gone = Revision(size_bytes=self.revision.size_bytes, reader=self.revision.reader)
        return replace(self, source="", revision=gone, ranks={}, status=Status.PURGED, purge_at=None)


@dataclass(frozen=True, slots=True)
class Reordering:
    """The difference between two sequences of chunks: `added` and `moved` ones with their ranks, and `removed` ones."""

    added: Ranks
    moved: Ranks
    removed: tuple[UUID, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.moved or self.removed)


def reordered(before: Ranks, now: Sequence[UUID]) -> Reordering:
    """The smallest change of ranks that puts the chunks in this order."""
    left = frozenset(now)
    removed = tuple(one for one in before if one not in left)
    kept = _longest_ascending([one for one in now if one in before], before)
    ranks = _ranked(now, {one: before[one] for one in kept})
    if len(set(ranks.values())) < len(now):  # No number is left between two ranks: all are numbered again.
        ranks = {one: float(place) for place, one in enumerate(now, start=1)}
    changed = {one: rank for one, rank in ranks.items() if before.get(one) != rank}
    return Reordering(
        added={one: rank for one, rank in changed.items() if one not in before},
        moved={one: rank for one, rank in changed.items() if one in before},
        removed=removed,
    )


def after(ranks: Ranks, added: Ranks, moved: Ranks, removed: Iterable[UUID]) -> Ranks:
    gone = set(removed)
    return {**{one: rank for one, rank in ranks.items() if one not in gone}, **moved, **added}


def _longest_ascending(ids: Sequence[UUID], ranks: Ranks) -> Sequence[UUID]:
    """The longest subsequence whose ranks ascend (patience sorting)."""
    ends: list[float] = []
    last: list[int] = []
    before: list[int | None] = []
    for place, one in enumerate(ids):
        pile = bisect_left(ends, ranks[one])
        before.append(last[pile - 1] if pile else None)
        ends[pile : pile + 1] = [ranks[one]]
        last[pile : pile + 1] = [place]
    found: list[UUID] = []
    at = last[-1] if last else None
    while at is not None:
        found.append(ids[at])
        at = before[at]
    return found[::-1]


def _ranked(ids: Sequence[UUID], fixed: Ranks) -> Ranks:
    """Ranks in this order: evenly between two `fixed` ones, and by whole numbers at the end."""
    ranks: dict[UUID, float] = {}
    ends = [-1, *(place for place, one in enumerate(ids) if one in fixed), len(ids)]
    for left, right in pairwise(ends):
        low = fixed[ids[left]] if left >= 0 else 0.0
        high = fixed[ids[right]] if right < len(ids) else low + right - left
        for place in range(left + 1, min(right + 1, len(ids))):
            ranks[ids[place]] = high if place == right else low + (high - low) * (place - left) / (right - left)
    return ranks


def indexed_text(place: str, text: str) -> str:
    """The text by which a chunk is found: with its headings, which often name the subject."""
    return f"{place}\n\n{text}" if place else text


def no_such_document(agent_id: str, document_id: UUID) -> NotFound:
    """The error for a document that is not in the agent's library."""
    return NotFound(
        f"agent {agent_id!r} has no document {document_id}",
        field="document_id",
        fix="look it up with `mnemolog knowledge list`",
    )


def erased_document(document_id: UUID) -> Erased:
    fix = "its content is destroyed; add it again"
    return Erased(f"document {document_id} was erased", field="document_id", fix=fix)
