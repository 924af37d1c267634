"""What of some ids a viewer may see, by the kind of what they name."""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import profile
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.graph.tables import entities, relations
from mnemolog.projections.memories.filters import visible_to
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.profile.tables import todos
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.visibility import owned, shared

MEMORY, PROFILE = "memory", "profile"
Reader = Callable[[AsyncConnection, Viewer, Collection[str]], Coroutine[Any, Any, frozenset[str]]]


def _among(table: Table, name: str, seen: Callable[[Viewer], Sequence[ColumnElement[bool]]]) -> Reader:
    """Which of some ids stand in a table and may be seen."""

    async def read(connection: AsyncConnection, viewer: Viewer, ids: Collection[str]) -> frozenset[str]:
        wanted = select(*stored(table)).where(*seen(viewer), table.c[name].in_(_uuids(ids)))
        return frozenset(str(row[name]) for row in await fetch(connection, table, wanted))

    return read


async def _fields(connection: AsyncConnection, viewer: Viewer, ids: Collection[str]) -> frozenset[str]:
    """A field of the profile is what its name says, set or only proposed, for whoever may see the profile."""
    readable = viewer.categories is None or profile.CATEGORY in viewer.categories
    return frozenset(ids) - frozenset(map(str, _uuids(ids))) if readable else frozenset()


READERS: Mapping[str, Reader] = {
    MEMORY: _among(memories, "memory_id", visible_to),
    "entity": _among(entities, "entity_id", lambda viewer: [owned(entities, viewer), shared(entities, viewer)]),
    "relation": _among(relations, "relation_id", lambda viewer: [owned(relations, viewer), shared(relations, viewer)]),
    "todo": _among(todos, "todo_id", lambda viewer: [owned(todos, viewer), todos.c.agent_id == viewer.agent_id]),
    PROFILE: _fields,
}


def _uuids(ids: Collection[str]) -> list[UUID]:
    found = []
    for one in ids:
        try:
            found.append(UUID(one))
        except ValueError:
            continue
    return found
