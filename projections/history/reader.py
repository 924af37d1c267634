"""Reads the history of a memory, an entity or a fact."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, and_, cast, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.errors import NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.subjects import SUBJECTS
from mnemolog.projections.history.tables import history
from mnemolog.projections.memories.filters import visible_to
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.owner import OWNER
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.shown import SHOWN, Shown
from mnemolog.projections.visibility import owned

_INTERNAL = frozenset(OWNER)
KINDS = (MEMORY.name, ENTITY.name, RELATION.name)


async def of(
    connection: AsyncConnection, viewer: Viewer, id_: UUID, limit: int = 100, kinds: Collection[str] = KINDS
) -> Sequence[dict[str, Any]]:
    """What happened to whatever has this id, newest first; NotFound when the agent may see nothing of it.

    A link to a memory that the agent may not see is not told of.
    """
    seen = or_(*(and_(history.c.subject == kind, _seen(kind, viewer, id_)) for kind in kinds))
    statement = (
        select(*stored(history))
        .where(owned(history, viewer), history.c.subject_id == str(id_), seen, _far_end_visible(viewer))
        .order_by(history.c.seq.desc())
        .limit(limit)
    )
    rows = await fetch(connection, history, statement)
    if not rows:
        raise _nothing(viewer.user_id, id_, kinds)
    return [{name: value for name, value in row.items() if name not in _INTERNAL} for row in rows]


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
    message = f"user {user_id!r} has no memory, entity or fact {id_}"
    return NotFound(message, field="id", fix="look it up with `mnemolog query`, `entities` or `facts`")


def _far_end_visible(viewer: Viewer) -> ColumnElement[bool]:
    far = memories.alias("far")
    seen = select(far.c.memory_id).where(*visible_to(viewer, far))
    return or_(~history.c.meta.has_key("to"), cast(history.c.meta["to"].astext, Uuid).in_(seen))
