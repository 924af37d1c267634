"""The items in a scope, which `forget` hides or erases (A §9)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import VISIBLE, Kind, Status
from mnemolog.domain.profile import place_of
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.being_fold import BEING_ENTRY
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.episode_fold import EPISODE
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory_fold import LINK, MEMORY
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile_fold import FIELD, TODO
from mnemolog.events.subjects import of_each
from mnemolog.projections.artifacts.tables import artifacts
from mnemolog.projections.being import reader as being_reader
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.graph.tables import entities, relations
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.profile.tables import consent, profile_fields, todos
from mnemolog.projections.visibility import owned

# The field of `Extent` that holds the subjects of a kind; links go with their memories. Facts go before their entities.
HELD: Mapping[str, str | None] = of_each(
    "HELD in projections/extent.py",
    {
        MEMORY.name: "memories",
        LINK.name: None,
        RELATION.name: "facts",
        ENTITY.name: "entities",
        TODO.name: "todos",
        BEING_ENTRY.name: "entries",
        MESSAGE.name: "messages",
        FIELD.name: "profile",
        ARTIFACT.name: "artifacts",
        EPISODE.name: None,  # Its text is that of its turns.
        DOCUMENT.name: None,  # It belongs to an agent, not to a user.
    },
)


@dataclass(frozen=True, slots=True)
class Extent:
    """What a deletion by scope covers. `todos`, `entries` and `profile` (field names without the operation) can only be
    erased.

    `messages` does not include those of older logs, each of which has a memory with the same text.
    """

    memories: Sequence[UUID] = ()
    facts: Sequence[UUID] = ()
    entities: Sequence[UUID] = ()
    todos: Sequence[UUID] = ()
    profile: Sequence[str] = ()
    artifacts: Sequence[UUID] = ()
    messages: Sequence[str] = ()
    entries: Sequence[UUID] = ()

    @property
    def known(self) -> Sequence[tuple[str, object]]:
        """The kind and the id of each subject except memories and messages."""
        listed = [(kind, name) for kind, name in HELD.items() if name and kind not in (MEMORY.name, MESSAGE.name)]
        return [(kind, id_) for kind, name in listed for id_ in getattr(self, name)]

    def as_dict(self) -> dict[str, Any]:
        return {name: [str(one) for one in found] for name, found in asdict(self).items()}


async def load(connection: AsyncConnection, viewer: Viewer, scope: Scope, *, hard: bool) -> Extent:
    """The visible subjects; with `hard`, also the hidden ones, the agent's todos and entries, and the shared profile.

    For the scope `agent`, only those of the viewing agent.
    """
    tables = {
        memories: memories.c.memory_id,
        relations: relations.c.relation_id,
        entities: entities.c.entity_id,
        artifacts: artifacts.c.artifact_id,
    }
    found, facts, known, files = [
        await _ids(connection, table, id_, _within(table, viewer, scope, hard=hard)) for table, id_ in tables.items()
    ]
    own = await _todos(connection, viewer) if hard and scope is Scope.AGENT else ()
    kept = await being_reader.not_erased(connection, viewer) if hard and scope is Scope.AGENT else ()
    places = await _places(connection, viewer) if hard and scope is Scope.GLOBAL else ()
    said = await _messages(connection, viewer, hard=hard) if scope is Scope.GLOBAL else ()
    return Extent(found, facts, known, own, places, files, said, kept)


async def since(connection: AsyncConnection, viewer: Viewer, thread_id: str, moment: datetime, *, hard: bool) -> Extent:
    """What the viewer may see of a thread since then: messages and episodic memories; `hard`: also hidden ones."""
    column = memories.c
    seen = _within(memories, viewer, Scope.GLOBAL, hard=hard) | _within(memories, viewer, Scope.AGENT, hard=hard)
    episodes = (column.kind == Kind.EPISODE) & (column.thread_id == thread_id) & (column.occurred_at >= moment)
    of_thread = (messages.c.thread_id == thread_id) & (messages.c.occurred_at >= moment)
    return Extent(
        await _ids(connection, memories, column.memory_id, seen & episodes),
        messages=await _messages(connection, viewer, of_thread, hard=hard),
    )


async def _messages(
    connection: AsyncConnection, viewer: Viewer, within: ColumnElement[bool] | None = None, *, hard: bool
) -> Sequence[str]:
    column = messages.c
    taken = column.status != Status.PURGED if hard else column.status.in_(sorted(VISIBLE))
    own = [owned(messages, viewer), taken, ~column.remembered, *([] if within is None else [within])]
    found = await connection.execute(select(column.message_id).where(*own).order_by(column.seq))
    return found.scalars().all()


def _within(table: Table, viewer: Viewer, scope: Scope, *, hard: bool) -> ColumnElement[bool]:
    taken = table.c.status != Status.PURGED if hard else table.c.status.in_(sorted(VISIBLE))
    shown = owned(table, viewer) & (table.c.scope == scope) & taken
    return shown & (table.c.agent_id == viewer.agent_id) if scope is Scope.AGENT else shown


async def _todos(connection: AsyncConnection, viewer: Viewer) -> Sequence[UUID]:
    """Open or not; a todo without text was erased."""
    own = owned(todos, viewer) & (todos.c.agent_id == viewer.agent_id) & (todos.c.text != "")
    return await _ids(connection, todos, todos.c.todo_id, own)


async def _places(connection: AsyncConnection, viewer: Viewer) -> Sequence[str]:
    """Each profile field that has a value, or a proposal that is not erased.

    The earlier values of an empty field are in its proposals.
    """
    is_set = owned(profile_fields, viewer) & (func.cardinality(profile_fields.c.held) > 0)
    fields = select(profile_fields.c.field).where(is_set)
    proposed = select(consent.c.field).where(owned(consent, viewer), consent.c.value != "")
    # In the order of the tables' names, in which a swap locks them.
    found = (await connection.execute(proposed.union(fields))).scalars()
    return sorted({place_of(field) for field in found})


async def _ids(
    connection: AsyncConnection, table: Table, id_: ColumnElement[UUID], where: ColumnElement[bool]
) -> Sequence[UUID]:
    return (await connection.execute(select(id_).select_from(table).where(where).order_by(id_))).scalars().all()
