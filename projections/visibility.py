"""What every read is confined to: the rows of one stream, and of those what an agent may see (A §4.2)."""

from sqlalchemy import ColumnElement, FromClause, or_

from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId


def viewed(viewer: Viewer) -> StreamId:
    """The stream that a viewer reads: the user's, or that of the agent's library."""
    if viewer.library:
        return StreamId.of_agent(viewer.agent_id, viewer.tenant)
    return StreamId.of_user(viewer.user_id, viewer.tenant)


def owned(table: FromClause, viewer: Viewer) -> ColumnElement[bool]:
    """Whether a row belongs to the stream that the viewer reads."""
    stream = viewed(viewer)
    mine = (table.c.stream_kind == stream.kind) & (table.c.user_id == stream.owner)
    return (table.c.tenant == stream.tenant) & mine


def shared(table: FromClause, viewer: Viewer) -> ColumnElement[bool]:
    """Whether a row with a scope is global, or the viewing agent's own."""
    return or_(table.c.scope == Scope.GLOBAL, table.c.agent_id == viewer.agent_id)
