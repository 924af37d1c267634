"""Numbers the changes of each thread. Exactly once: rows and progress share a transaction."""

from collections.abc import Sequence

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.delta import Change
from mnemolog.domain.memory import VISIBLE, Status
from mnemolog.events import memory as events
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased
from mnemolog.events.event import Event
from mnemolog.projections.changes.tables import NAME, READABLE_FROM, VERSION, change_log, metadata, thread_revision
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import OWNER, owner, owner_row
from mnemolog.projections.rows import Key, Row, load, upsert


class ChangesProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(events.MemoryEvent | MemoryErased)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        keys = {_thread(event) for event in batch}
        known = await load(connection, thread_revision, keys)
        revisions = {key: row["rev"] for key, row in known.items()}
        entries: list[Row] = []
        moved = set()
        for event in batch:
            if (change := change_of(event.payload)) is not None:
                key = _thread(event)
                revisions[key] = revisions.get(key, 0) + 1
                moved.add(key)
                entries.append(_entry(event, change, revisions[key]))
        names = (*OWNER, "thread_id")
        rows = [{**dict(zip(names, key, strict=True)), "rev": revisions[key]} for key in sorted(moved)]
        await upsert(connection, thread_revision, rows, known)
        await upsert(connection, change_log, entries, known=())


def _thread(event: Recorded) -> Key:
    return (*owner(event), event.meta.thread_id)


def change_of(payload: Event) -> Change | None:
    """The change to report to readers; None if memories read as before."""
    match payload:
        case events.MemoryCreated():
            return Change.CREATED
        case events.MemoryUpdated():
            return Change.UPDATED
        case events.MemoriesMerged():
            return Change.MERGED
        case events.MemorySoftDeleted():
            return Change.SOFT_DELETED
        case MemoryErased():
            return Change.DELETED
        case events.MemoryRestored():
            return Change.RESTORED
        case events.MemoryReverted(was=was, status=status):
            return _turn(was, status) or Change.UPDATED
        case events.MemoryStatusChanged(was=was, status=status):
            return _turn(was, status)
        case _:
            return None


def _turn(was: Status, status: Status) -> Change | None:
    """Whether a memory appeared or disappeared."""
    if (was in VISIBLE) == (status in VISIBLE):
        return None
    return Change.RESTORED if status in VISIBLE else Change.SOFT_DELETED


def _entry(event: Recorded, change: Change, rev: int) -> Row:
    payload = event.payload
    assert isinstance(payload, events.MemoryEvent | MemoryErased)
    absorbed = payload.absorbed_ids if isinstance(payload, events.MemoriesMerged) else ()
    return {
        **owner_row(event),
        "id": event.event_id,
        "thread_id": event.meta.thread_id,
        "rev": rev,
        "seq": event.seq,
        "memory_id": payload.memory_id,
        "event": change,
        "meta": {"absorbed": [str(id_) for id_ in absorbed]} if absorbed else {},
        "ts": event.recorded_at,
    }
