"""A memory, its lifecycle and the changes that its status allows (design §2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from mnemolog.domain import importance
from mnemolog.domain.errors import Erased, InvalidInput, NotFound, TransitionRefused
from mnemolog.domain.memory_key import NOTHING_SAID, Identity
from mnemolog.domain.origin import Origin
from mnemolog.domain.scene import Experience
from mnemolog.domain.scope import Scope

PURGE_AFTER = timedelta(days=30)  # B §7
MAX_MERGE = 50


class Kind(StrEnum):
    FACT = "fact"
    EPISODE = "episode"
    INSIGHT = "insight"
    PROCEDURE = "procedure"
    SCENE = "scene"
    SUMMARY = "summary"


class Status(StrEnum):
    """`dormant` is hidden and can be revived; `soft_deleted` has a purge time."""

    ACTIVE = "active"
    DYING = "dying"
    DORMANT = "dormant"
    SOFT_DELETED = "soft_deleted"
    PURGED = "purged"


class Cause(StrEnum):
    """Why a memory was hidden: on request, it expired, its scope was forgotten, its creation was undone, a newer one
    contradicts it, or it is trivial and nobody used it.
    """

    ASKED = "asked"
    TTL = "ttl"
    SCOPE = "scope"
    UNDONE = "undone"
    OUTDATED = "outdated"
    UNUSED = "unused"


VISIBLE = frozenset({Status.ACTIVE, Status.DYING})
SEMANTIC = frozenset({Kind.FACT, Kind.INSIGHT, Kind.PROCEDURE})
"""Knowledge, as opposed to events: linked to its neighbours when it is written (B §2)."""
EPISODIC = frozenset(Kind) - SEMANTIC


def default_importance(kind: Kind) -> float:
    """The default importance: level 1 of D; 0.5 for episodes (A §4.3, C ❶), and 2 of 5 for insights (B §3)."""
    match kind:
        case Kind.EPISODE | Kind.SCENE:
            return 0.5
        case Kind.INSIGHT:
            return importance.from_five(2)
        case Kind.FACT | Kind.PROCEDURE | Kind.SUMMARY:
            return importance.STANDARD


@dataclass(frozen=True, slots=True)
class Content:
    """The fields that an update may change. `importance` and `confidence` are in [0, 1]; pinned memories have
    importance 1.

    `metadata` is the caller's own JSON object. Only scenes have an `experience`.
    """

    text: str
    category: str
    importance: float
    confidence: float
    pinned: bool
    metadata: Mapping[str, Any] = field(default_factory=dict)
    experience: Experience | None = None

    def weighed(self) -> "Content":
        """With the importance of a pinned memory, if pinned (D §pinned)."""
        return replace(self, importance=importance.PINNED) if self.pinned else self


@dataclass(frozen=True, slots=True)
class Memory:
    """The current state of a memory."""

    memory_id: UUID
    kind: Kind
    scope: Scope
    agent_id: str | None
    content: Content
    status: Status = Status.ACTIVE
    merged_into: UUID | None = None
    purge_at: datetime | None = None
    cause: Cause | None = None
    identity: Identity = NOTHING_SAID
    origin: Origin = Origin.USER

    @property
    def visible(self) -> bool:
        return self.status in VISIBLE

    def rewritten(self, content: Content, origin: Origin | None = None) -> "Memory":
        """Pinned memories do not fade (D §pinned). Without an `origin`, it keeps its own."""
        revived = content.pinned and self.status is Status.DYING
        status = Status.ACTIVE if revived else self.status
        return replace(self, content=content, status=status, origin=origin or self.origin)

    def placed(self, cluster: str) -> "Memory":
        """A scene in the cluster with this label (C04)."""
        experience = replace(self.content.experience or Experience(), cluster=cluster)
        return replace(self, content=replace(self.content, experience=experience))

    def absorbed(self, survivor: UUID) -> "Memory":
        """A merge hides the absorbed memories but never destroys them, so it can be undone (X03)."""
        return replace(self, status=Status.DORMANT, merged_into=survivor)

    def soft_deleted(self, purge_at: datetime, cause: Cause = Cause.ASKED) -> "Memory":
        return replace(self, status=Status.SOFT_DELETED, purge_at=purge_at, cause=cause)

    def turned(self, status: Status, cause: Cause | None) -> "Memory":
        """Between active, dying and dormant (C03)."""
        return replace(self, status=status, cause=None if status in VISIBLE else cause)

    def restored(self) -> "Memory":
        return replace(self, status=Status.ACTIVE, purge_at=None, merged_into=None, cause=None)

    def erased(self, cause: Cause | None = None) -> "Memory":
        """The erased memory. Its shape stays, so that merges stay intact (X07)."""
        content = replace(self.content, text="", metadata={}, experience=None)
        gone = replace(self, content=content, identity=self.identity.erased(), cause=cause or self.cause)
        return replace(gone, status=Status.PURGED, purge_at=None)

    def holds(self, other: "Memory") -> bool:
        """Whether it has the same key, scope and agent as another; only one visible memory may (D04)."""
        place = (self.identity.key, self.scope, self.agent_id)
        same = place == (other.identity.key, other.scope, other.agent_id)
        return bool(self.identity.key) and self.visible and same and self.memory_id != other.memory_id


def no_such_memory(user_id: str, memory_id: UUID, path: str = "memory_id") -> NotFound:
    """The error for a memory that does not exist or is not visible to the caller (A01)."""
    return NotFound(
        f"user {user_id!r} has no memory {memory_id}",
        field=path,
        fix="look it up with `mnemolog search`; for a fact or an entity, use `mnemolog fact` or `mnemolog entity`, or "
        "undo an event of its history",
    )


def erased_memory(memory_id: UUID, path: str = "memory_id") -> Erased:
    return Erased(f"memory {memory_id} was erased", field=path, fix="its text is destroyed; create it again")


def require_visible(memory: Memory, change: str, field: str = "memory_id") -> None:
    """Refuse a change to a hidden or erased memory; `field` is its field in the request."""
    if memory.visible:
        return
    fix = f"it was merged into {memory.merged_into}: change that one, or undo the merge"
    if memory.merged_into is None:
        fix = "restore it first"
    raise TransitionRefused(
        f"memory {memory.memory_id} is {memory.status} and cannot be {change}", field=field, fix=fix
    )


def require_unpinned(memory: Memory, change: str, field: str = "memory_id") -> None:
    """Refuse to let a pinned memory fade or be absorbed (D §pinned)."""
    if memory.content.pinned:
        raise TransitionRefused(
            f"memory {memory.memory_id} is pinned and cannot be {change}", field=field, fix="unpin it first"
        )


def require_mergeable(survivor: Memory, absorbed: tuple[Memory, ...]) -> None:
    """Refuse a merge across owners, with itself, or without other memories."""
    ids = [memory.memory_id for memory in absorbed]
    if not ids or len(ids) > MAX_MERGE or len({*ids, survivor.memory_id}) != len(ids) + 1:
        raise InvalidInput(
            f"a merge takes 1 to {MAX_MERGE} different memories besides the survivor",
            field="absorbed_ids",
            fix="give each memory once, without the survivor",
        )
    for index, memory in enumerate(absorbed):
        require_visible(memory, "merged", f"absorbed_ids[{index}]")
        require_unpinned(memory, "merged away", f"absorbed_ids[{index}]")
        if (memory.scope, memory.agent_id) != (survivor.scope, survivor.agent_id):
            raise TransitionRefused(
                f"memory {memory.memory_id} has a different scope or agent than {survivor.memory_id}",
                field="absorbed_ids",
                fix="merge memories with the same scope and agent",
            )
