"""Reads how often operations happened, in total or over time."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.viewer import Viewer
from mnemolog.projections.operations.counted import Over, Period, Wanted
from mnemolog.projections.operations.tables import operations
from mnemolog.projections.paging import in_pages
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.visibility import owned

PAGE = 5000
_MILLION = 1_000_000
_GROUP = ("node", "op", "status", "subject")


async def counts(connection: AsyncConnection, viewer: Viewer, wanted: Wanted) -> Sequence[dict[str, Any]]:
    """The latest period first, and in each the most frequent operation."""
    found: dict[tuple[Any, ...], list[int]] = {}
    numbers = ("count", "compared", "similarity_sum")
    statement = select(*stored(operations)).where(_among(viewer, wanted))
    key = list(operations.primary_key.columns)
    async for rows in in_pages(partial(fetch, connection, operations), statement, key, PAGE):
        for row in rows:
            group = (_period(row["hour"], wanted.by), *(row[name] for name in _GROUP))
            sums = found.setdefault(group, [0, 0, 0])
            for place, name in enumerate(numbers):
                sums[place] += row[name]
    counted = [_count(group, sums) for group, sums in found.items()]
    counted.sort(key=lambda one: (-one["count"], *(one[name] for name in _GROUP)))
    counted.sort(key=lambda one: one["period"] or "", reverse=True)
    return counted


def _count(group: tuple[Any, ...], sums: Sequence[int]) -> dict[str, Any]:
    count, compared, similarity_sum = sums
    similarity = similarity_sum / compared / _MILLION if compared else None
    named = dict(zip(("period", *_GROUP), group, strict=True))
    return {**named, "count": count, "similarity": similarity, "id": "|".join(str(one) for one in group)}


def _period(hour: datetime, by: Period) -> datetime | None:
    match by:
        case Period.TOTAL:
            return None
        case Period.DAY:
            return hour.replace(hour=0)
        case Period.HOUR:
            return hour


def _among(viewer: Viewer, wanted: Wanted) -> ColumnElement[bool]:
    column = operations.c
    whose = column.tenant == viewer.tenant if wanted.over is Over.TENANT else owned(operations, viewer)
    conditions = [whose]
    if wanted.over is Over.AGENT:
        conditions.append(column.agent_id == viewer.agent_id)
    if wanted.since:
        conditions.append(column.hour >= wanted.since.astimezone(UTC).replace(minute=0, second=0, microsecond=0))
    if wanted.until:
        conditions.append(column.hour < wanted.until)
    for name in ("node", "op", "status"):
        if value := getattr(wanted, name):
            conditions.append(column[name] == value)
    return and_(*conditions)
