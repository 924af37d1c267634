"""Which of all that is known a viewer may see, kind by kind."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, FromClause, Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import profile
from mnemolog.domain.viewer import Viewer
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.being_fold import BEING_ENTRY
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.episode_fold import EPISODE
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory_fold import LINK, MEMORY
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile_fold import FIELD, TODO
from mnemolog.events.subjects import SUBJECTS, of_each
from mnemolog.projections.artifacts.tables import artifacts
from mnemolog.projections.being import reader as being_reader
from mnemolog.projections.being.tables import entries
from mnemolog.projections.conversation import reader as message_reader
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.episodes.tables import episodes
from mnemolog.projections.graph.tables import entities, relations
from mnemolog.projections.knowledge.tables import documents
from mnemolog.projections.memories.filters import visible_to
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.profile.tables import todos
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.visibility import owned, shared


@dataclass(frozen=True, slots=True)
class Shown:
    """Where subjects of a kind are stored, one row each: the columns of their ids and of a merge's survivor.

    `seen` restricts a statement to what a viewer may see.
    """

    id: Column[Any]
    seen: Callable[[Viewer], Sequence[ColumnElement[bool]]]
    merged_into: Column[UUID] | None = None

    def ids(self, viewer: Viewer) -> Select[Any]:
        return select(self.id).where(*self.seen(viewer))


def _in_graph(viewer: Viewer, table: FromClause) -> list[ColumnElement[bool]]:
    return [owned(table, viewer), shared(table, viewer)]


SHOWN: Mapping[str, Shown | None] = of_each(
    "SHOWN in projections/shown.py",
    {
        MEMORY.name: Shown(memories.c.memory_id, visible_to, memories.c.merged_into),
        LINK.name: None,  # Visible with the memories at its ends.
        ENTITY.name: Shown(entities.c.entity_id, partial(_in_graph, table=entities), entities.c.merged_into),
        RELATION.name: Shown(relations.c.relation_id, partial(_in_graph, table=relations)),
        MESSAGE.name: Shown(messages.c.message_id, message_reader.visible_to),
        FIELD.name: None,  # Named by its field, for any viewer who may see the profile.
        ARTIFACT.name: Shown(artifacts.c.artifact_id, partial(_in_graph, table=artifacts)),
        TODO.name: Shown(
            todos.c.todo_id,
            lambda viewer: [owned(todos, viewer), todos.c.agent_id == viewer.agent_id],
        ),
        EPISODE.name: Shown(
            episodes.c.episode_id,
            lambda viewer: [owned(episodes, viewer), episodes.c.agent_id == viewer.agent_id],
            episodes.c.merged_into,
        ),
        BEING_ENTRY.name: Shown(entries.c.entry_id, being_reader.own),
        DOCUMENT.name: Shown(documents.c.document_id, lambda viewer: [owned(documents, viewer)]),
    },
)


async def visible(connection: AsyncConnection, viewer: Viewer, kind: str, ids: Collection[str]) -> frozenset[str]:
    """The ids, as text, that name a subject of this kind that the viewer may see."""
    uuids = {one: id_ for one in ids if (id_ := as_uuid(one))}
    if kind == FIELD.name:
        readable = viewer.categories is None or profile.CATEGORY in viewer.categories
        return frozenset(ids) - uuids.keys() if readable else frozenset()
    shown = SHOWN[kind]
    named: Collection[Any] = ids if kind == MESSAGE.name else uuids.values()
    if shown is None or not named:
        return frozenset()
    table = shown.id.table
    wanted = select(*stored(table)).where(*shown.seen(viewer), shown.id.in_(sorted(named)))
    return frozenset(str(row[shown.id.name]) for row in await fetch(connection, table, wanted))


async def kind_of(connection: AsyncConnection, viewer: Viewer, id_: str) -> str | None:
    """The kind of subject that an id names, if the viewer may see it."""
    for kind in SUBJECTS:
        if await visible(connection, viewer, kind, {id_}):
            return kind
    return None


def as_uuid(text: str) -> UUID | None:
    """The id that a text is; None if it is another name."""
    try:
        return UUID(text)
    except ValueError:
        return None
