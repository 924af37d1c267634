"""Reads the history of a memory, an entity or a fact."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, and_, cast, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.errors import NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.episode_fold import EPISODE
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.subjects import SUBJECTS
from mnemolog.projections.history.tables import history
from mnemolog.projections.memories.filters import visible_to
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.owner import without
from mnemolog.projections.paging import Slice, page_of, sliced
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.shown import SHOWN, Shown
from mnemolog.projections.visibility import owned

KINDS = (MEMORY.name, ENTITY.name, RELATION.name, ARTIFACT.name, EPISODE.name)
NEWEST = ("-seq", "id")


async def of(
    connection: AsyncConnection,
    viewer: Viewer,
    id_: UUID,
    limit: int = 100,
    cursor: str | None = None,
    kinds: Collection[str] = KINDS,
) -> Slice:
    """The changes of the subject with this id, newest first; NotFound if the agent may not see any.

    A link to a memory that the agent may not see is left out.
    """
    seen = or_(*(and_(history.c.subject == kind, _seen(kind, viewer, id_)) for kind in kinds))
    touching = owned(history, viewer), history.c.subject_id == str(id_), seen, _far_end_visible(viewer)
    statement = page_of(select(*stored(history)).where(*touching), history, NEWEST, limit, cursor)
    rows = await fetch(connection, history, statement)
    if not rows and cursor is None:
        raise _nothing(viewer.user_id, id_, kinds)
    shown = [without(row) for row in rows]
    return sliced(shown, NEWEST, limit)


def _shown(kind: str) -> Shown:
    shown = SHOWN[kind]
    assert shown, "history is asked of what has an id"
    return shown


def _seen(kind: str, viewer: Viewer, id_: UUID) -> ColumnElement[bool]:
    shown = _shown(kind)
    return shown.ids(viewer).where(shown.id == id_).exists()


def _nothing(user_id: str, id_: UUID, kinds: Collection[str]) -> NotFound:
    if len(kinds) == 1:
        [kind] = kinds
        return SUBJECTS[kind].missing(user_id, id_)
    message = f"user {user_id!r} has no memory, entity, fact, artifact or episode {id_}"
    return NotFound(message, field="id", fix="look it up with `mnemolog search`, `entity list` or `fact list`")


def _far_end_visible(viewer: Viewer) -> ColumnElement[bool]:
    far = memories.alias("far")
    seen = select(far.c.memory_id).where(*visible_to(viewer, far))
    return or_(~history.c.meta.has_key("to"), cast(history.c.meta["to"].astext, Uuid).in_(seen))
