"""Reads the viewing being's own scenes: those similar to a text, those of a cluster, and those with some words (C)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, cast, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.cluster import cluster_id, cluster_of
from mnemolog.domain.memory import VISIBLE, Kind, Status
from mnemolog.domain.origin import TRUSTED
from mnemolog.domain.recall import AT_MOST, Mode, matches, terms_of
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories import reader
from mnemolog.projections.memories.filters import visible_to
from mnemolog.projections.memories.stored import experience_in
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question
from mnemolog.projections.words import Words

DEAD = Status.DORMANT


@dataclass(frozen=True, slots=True)
class OwnScenes:
    """The being's own active and dying scenes, as candidates of a search."""

    @property
    def words(self) -> tuple[Words, ...]:
        return ()

    def documents(self, viewer: Viewer) -> Select[Any]:
        """The candidates: each `id` with its full-text search terms as `search`."""
        column = memories.c
        return select(column.memory_id.label("id"), column.search.label("search")).where(*own(viewer, VISIBLE))


def own(viewer: Viewer, statuses: Collection[Status]) -> list[ColumnElement[bool]]:
    """The being's own scenes with one of these statuses. A being reads no scene of another, nor a shared one (C01)."""
    column = memories.c
    of_being = (column.kind == Kind.SCENE) & (column.scope == Scope.AGENT) & (column.agent_id == viewer.agent_id)
    return [*visible_to(viewer), of_being, column.status.in_(sorted(statuses)), column.text != ""]


async def similar(
    connection: AsyncConnection, viewer: Viewer, index: VectorIndex, question: Question, limit: int = AT_MOST
) -> Sequence[Row]:
    """The scenes most similar to the question, nearest first; without those below the model's `recall_floor`."""
    if question.vector is None:
        return []
    near = await index.search(connection, viewer, OwnScenes(), question.model, question.vector, limit)
    ids = [id_ for id_, score in near.items() if score >= question.calibration.recall_floor]
    rows = await reader.by_ids(connection, viewer, set(ids))
    return [rows[id_] for id_ in ids if id_ in rows]


async def last_activated(
    connection: AsyncConnection, viewer: Viewer, limit: int, *, trusted_only: bool = False
) -> Sequence[Row]:
    """The active scenes with an action that were activated last (C §Block 2-B)."""
    column = memories.c
    action = cast(column.experience, JSONB)["scene"]["action"].astext
    inside = [column.origin.in_(sorted(TRUSTED))] if trusted_only else []
    statement = (
        select(*stored(memories))
        .where(*own(viewer, VISIBLE), action != "", *inside)
        .order_by(column.last_accessed.desc(), column.memory_id)
        .limit(limit)
    )
    return await fetch(connection, memories, statement)


async def with_words(connection: AsyncConnection, viewer: Viewer, query: str, mode: Mode, limit: int) -> Sequence[Row]:
    """The scenes that contain these words, dead ones too, those last recalled first.

    The scenes of one being are few, and no index covers parts of words of any script: each of them is looked at.
    """
    terms = terms_of(query)
    rows = await _every(connection, viewer)
    found = [row for row in rows if matches(row["text"], experience_in(row), terms, mode)]
    return await _as_shown(connection, viewer, found[:limit])


async def of_cluster(connection: AsyncConnection, viewer: Viewer, cluster: str, limit: int) -> Sequence[Row]:
    """The scenes of a cluster, given by its label or its id, dead ones too, those last recalled first."""
    rows = await _every(connection, viewer)
    found = [row for row in rows if cluster in _names_of_cluster(viewer, row)]
    return await _as_shown(connection, viewer, found[:limit])


def _names_of_cluster(viewer: Viewer, row: Row) -> tuple[str, str]:
    """The label and the id of the cluster that a scene is in."""
    experience = experience_in(row)
    label = cluster_of(experience.cluster if experience else "")
    return label, str(cluster_id(viewer.agent_id, label))


async def _every(connection: AsyncConnection, viewer: Viewer) -> Sequence[Row]:
    """All scenes but those that somebody archived, which are not dead but hidden (D §status)."""
    column = memories.c
    shown = column.status.in_(sorted(VISIBLE)) | column.deleted_cause.is_(None)
    statement = select(*stored(memories)).where(*own(viewer, {*VISIBLE, DEAD}), shown)
    order = (column.last_accessed.desc(), column.memory_id)
    return await fetch(connection, memories, statement.order_by(*order))


async def _as_shown(connection: AsyncConnection, viewer: Viewer, rows: Sequence[Row]) -> Sequence[Row]:
    shown = await reader.by_ids(connection, viewer, {row["memory_id"] for row in rows})
    return [shown[row["memory_id"]] for row in rows]
