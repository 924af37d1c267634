"""The filters of a query, applied in the store and never after it (B §6, §6.1, B06)."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Strict
from sqlalchemy import ColumnElement, or_, true

from mnemolog.domain import identity
from mnemolog.domain.importance import from_five
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.envelope import DEFAULT_TENANT, StreamId
from mnemolog.events.fields import Flag, Id, checked_by
from mnemolog.projections.memories.tables import memories


def _day_or_instant(value: object, field: str) -> datetime:
    """A time with its offset, or a plain date, which is that day's start in UTC (the example of B §6)."""
    if isinstance(value, str) and len(value) == len("2025-07-01"):
        value = f"{value}T00:00:00Z"
    return identity.aware(value, field)


Moment = Annotated[datetime, checked_by(_day_or_instant)]
Level = Annotated[float, Strict()]


class Filters(BaseModel):
    """`user_id` is required: there is no read over several users. `importance_*` use B's scale, 1 to 5."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_id: Id
    agent_id: Id | None = None
    run_id: Id | None = None
    actor_id: Id | None = None
    role: Role | None = None
    category: Id | None = None
    pinned: Flag | None = None
    importance_min: Level | None = None
    importance_max: Level | None = None
    updated_after: Moment | None = None
    updated_before: Moment | None = None

    def stream(self, tenant: str = DEFAULT_TENANT) -> StreamId:
        return StreamId.of_user(self.user_id, tenant)

    def conditions(self) -> list[ColumnElement[bool]]:
        """What the caller narrowed down to."""
        column = memories.c
        equal: dict[str, Any] = self.model_dump(
            include={"agent_id", "run_id", "actor_id", "role", "category", "pinned"}, exclude_none=True
        )
        found: list[ColumnElement[bool]] = [column[name] == value for name, value in equal.items()]
        if self.importance_min is not None:
            found.append(column.importance >= from_five(self.importance_min, "filters.importance_min"))
        if self.importance_max is not None:
            found.append(column.importance <= from_five(self.importance_max, "filters.importance_max"))
        if self.updated_after is not None:
            found.append(column.updated_at > self.updated_after)
        if self.updated_before is not None:
            found.append(column.updated_at < self.updated_before)
        return found


def visible_to(stream: StreamId, agent_id: str, categories: frozenset[str] | None = None) -> list[ColumnElement[bool]]:
    """What every read of memories is confined to: one tenant, one user, and what this agent may see of it (A §5, B §5).

    `categories` is the agent's allowlist; None when it may see all.
    """
    column = memories.c
    return [
        column.tenant == stream.tenant,
        column.user_id == stream.owner,
        or_(column.scope == Scope.GLOBAL, column.agent_id == agent_id),
        true() if categories is None else column.category.in_(sorted(categories)),
    ]


def active() -> ColumnElement[bool]:
    """What may be shown: neither hidden nor erased. A moment before an erasure shows no text either (X07)."""
    return memories.c.status.in_(sorted(VISIBLE)) & (memories.c.text != "")


def identified(memory_ids: set[UUID]) -> ColumnElement[bool]:
    return memories.c.memory_id.in_(sorted(memory_ids))
