"""Resolves abbreviated ids."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, Uuid, and_, cast, or_, select, union
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.errors import AmbiguousId, NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.history.tables import history
from mnemolog.projections.shown import SHOWN, Shown
from mnemolog.projections.visibility import owned

LISTED_IDS = 5
EVENT = "event"  # Not a subject, but histories show the ids of events, and an undo takes one.


async def ids_beginning(
    connection: AsyncConnection, viewer: Viewer, prefix: str, kind: str | None, limit: int
) -> Sequence[str]:
    """Ids that begin with these digits, of subjects that the viewer may see or of their events; at most `limit`.

    `kind` is a kind of subject, EVENT, or None for any kind of subject.
    """
    if kind == EVENT:
        id_ = cast(history.c.meta["event_id"].astext, Uuid)
        seen = (
            and_(history.c.subject == name, history.c.subject_id.in_(_texts(one, viewer)))
            for name, one in SHOWN.items()
            if one and isinstance(one.id.type, Uuid)
        )
        events = select(id_).where(owned(history, viewer), or_(*seen))
        places: list[tuple[ColumnElement[Any], Select[Any]]] = [(id_, events)]
    else:
        places = [(one.id, one.ids(viewer)) for name, one in SHOWN.items() if one and kind in (None, name)]
    begin = [
        ids.with_only_columns(text := cast(id_, Text)).where(text.startswith(prefix.lower(), autoescape=True))
        for id_, ids in places
    ]
    found = await connection.execute(union(*begin).limit(limit))
    return sorted(found.scalars())


def _texts(shown: Shown, viewer: Viewer) -> Select[Any]:
    """The ids as history stores them."""
    return shown.ids(viewer).with_only_columns(cast(shown.id, Text))


def one_of(found: Sequence[str], prefix: str, field: str) -> str:
    """The id that a prefix stands for; NotFound if there is none, AmbiguousId if there are several."""
    if not found:
        raise NotFound(f"no id begins with {prefix}", field=field, fix="give a longer prefix, or the full id")
    if len(found) > 1 and prefix not in found:
        listed = ", ".join(map(str, found[:LISTED_IDS])) + (" and others" if len(found) > LISTED_IDS else "")
        raise AmbiguousId(f"several ids begin with {prefix}: {listed}", field=field, fix="give a longer prefix")
    return prefix if prefix in found else found[0]
