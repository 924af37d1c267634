"""What changed of a user after a seq, in the order of the log: what a watcher is told."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Position, Recorded
from mnemolog.events.profile_fold import FIELD
from mnemolog.events.unread import Unread
from mnemolog.projections.history.entries import subjects
from mnemolog.projections.history.tables import history
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.reads.reading import HISTORY, PROFILE, Reading
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.shown import SHOWN, visible
from mnemolog.projections.visibility import owned, viewed

PAGE = 200


@dataclass(frozen=True, slots=True)
class Watched:
    """The changes up to `seq` that the viewer may see, oldest first. None of them has a text."""

    seq: int
    changes: Sequence[Mapping[str, Any]]


class WatchReads(Reading):
    """The part of `Reads` for watchers."""

    async def head(self, viewer: Viewer) -> int:
        """The seq of the last event of the viewer's stream."""
        return await self._log.head(viewed(self._admitted(viewer)))

    async def changes_after(self, viewer: Viewer, since: int, deadline: float | None = None) -> Watched:
        """The changes of at most PAGE events with seq > since; the same `seq` and none at the head of the log.

        Waits until the projections show them. TamperedEvent if the log of the user is damaged.
        """
        admitted = self._admitted(viewer)
        self._require_sound_log(admitted)
        stream = viewed(admitted)
        events: list[Recorded] = []
        async for batch in self._log.scan(stream, after=since, until=since + PAGE):
            events += await self._log.decode(batch, unread=True)  # Several batches, while somebody writes.
        if not events:
            return Watched(since, ())
        # The event of each row of the history, by the id of the row.
        known = (event for event in events if not isinstance(event.payload, Unread))
        touched = {uuid5(event.event_id, one.id): event for event in known for one in subjects(event.payload)}
        seq = events[-1].seq
        if not touched:
            return Watched(seq, ())
        moment = Moment(after=Position(stream, seq), deadline=deadline)
        kinds = {one.kind for event in touched.values() for one in subjects(event.payload)}
        of_kinds = (PROFILE if kind == FIELD.name else _schema(kind) for kind in kinds)
        rows = await self._read(viewer, moment, sorted({HISTORY, *of_kinds}), partial(_rows, ids=list(touched)))
        return Watched(seq, [_change(row, touched[row["id"]]) for row in rows])


def _schema(kind: str) -> str:
    shown = SHOWN[kind]
    assert shown, "history has rows of what has an id"
    return str(shown.id.table.schema)


async def _rows(connection: AsyncConnection, viewer: Viewer, ids: Sequence[UUID]) -> Sequence[Row]:
    wanted = select(*stored(history)).where(owned(history, viewer), history.c.id.in_(ids))
    rows = await fetch(connection, history, wanted.order_by(history.c.seq, history.c.id))
    named: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        named[row["subject"]].add(row["subject_id"])
    seen = {kind: await visible(connection, viewer, kind, of_kind) for kind, of_kind in named.items()}
    return [row for row in rows if row["subject_id"] in seen[row["subject"]]]


def _change(row: Row, event: Recorded) -> Mapping[str, Any]:
    shown = ("id", "seq", "subject", "subject_id", "event", "old_ref", "new_ref", "actor", "ts")
    return {
        **{name: row[name] for name in shown},
        "agent_id": event.meta.agent_id,
        "thread_id": event.meta.thread_id,
        "run_id": event.meta.run_id,
    }
