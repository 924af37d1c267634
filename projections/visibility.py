"""What every read is confined to: the rows of one tenant and user, and of those what an agent may see (A §4.2)."""

from sqlalchemy import ColumnElement, FromClause, or_

from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import USER


def owned(table: FromClause, viewer: Viewer) -> ColumnElement[bool]:
    """Whether a row belongs to the viewer's tenant and user."""
    mine = (table.c.stream_kind == USER) & (table.c.user_id == viewer.user_id)
    return (table.c.tenant == viewer.tenant) & mine


def shared(table: FromClause, viewer: Viewer) -> ColumnElement[bool]:
    """Whether a row with a scope is global, or the viewing agent's own."""
    return or_(table.c.scope == Scope.GLOBAL, table.c.agent_id == viewer.agent_id)
