"""Resolves abbreviated ids."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, Uuid, and_, cast, or_, select, union
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.errors import AmbiguousId, NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.episodes.tables import sessions
from mnemolog.projections.history.tables import history
from mnemolog.projections.profile.reader import require_profile
from mnemolog.projections.profile.tables import consent
from mnemolog.projections.shown import SHOWN, Shown
from mnemolog.projections.summaries import reader as summary_reader
from mnemolog.projections.summaries.tables import summaries
from mnemolog.projections.visibility import owned

LISTED_IDS = 5
# None of these is a subject. Histories show the ids of events, and an undo takes one.
EVENT, SESSION, SUMMARY, PROPOSAL = "event", "session", "summary", "proposal"


def _proposals(viewer: Viewer) -> list[ColumnElement[bool]]:
    require_profile(viewer)
    return [owned(consent, viewer)]


_LISTED: Mapping[str, Shown] = {
    SESSION: Shown(
        sessions.c.session_id,
        lambda viewer: [owned(sessions, viewer), sessions.c.agent_id == viewer.agent_id, ~sessions.c.erased],
    ),
    SUMMARY: Shown(summaries.c.summary_id, lambda viewer: [*summary_reader.visible_to(viewer), summaries.c.text != ""]),
    PROPOSAL: Shown(consent.c.patch_id, _proposals),
}


async def ids_beginning(
    connection: AsyncConnection, viewer: Viewer, prefix: str, kind: str | None, limit: int
) -> Sequence[str]:
    """Ids that begin with these digits, of what the viewer may see; at most `limit`.

    `kind` is a kind of subject, EVENT, SESSION, SUMMARY, PROPOSAL, or None for whatever a search may find.
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
        wanted = [SHOWN.get(kind) or _LISTED[kind]] if kind else [*SHOWN.values(), _LISTED[SUMMARY]]
        places = [(one.id, one.ids(viewer)) for one in wanted if one]
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
        raise AmbiguousId(
            f"{prefix} is the beginning of several ids: {listed}", field=field, fix="give a longer prefix"
        )
    return prefix if prefix in found else found[0]
