"""Writes one row per subject of an event. Exactly once: rows and progress share a transaction.

A reference is `<id>@<seq>`: the subject as the stream's event `seq` left it, which `as-of` can show.
"""

from collections.abc import Sequence
from functools import cache
from uuid import UUID, uuid5

from psycopg.sql import SQL, Identifier
from sqlalchemy import MetaData, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded
from mnemolog.events.memory_fold import MEMORY
from mnemolog.projections.history.entries import ENTRIES, Ref, entry, erased, left, subjects
from mnemolog.projections.history.tables import NAME, READABLE_FROM, VERSION, history, metadata
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import indexed, owner, owner_row
from mnemolog.projections.raw_sql import fetch_all, keyed, names, relation, schema_of
from mnemolog.projections.rows import Key, Row, fetch, stored, upsert


class HistoryProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(tuple(ENTRIES))

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        touched = [(_key(event, one), event, one) for event in batch for one in subjects(event.payload)]
        last = await _last_seqs(connection, {key for key, _, _ in touched})
        rows: list[Row] = []
        for key, event, subject in touched:
            rows.append(_row(event, subject, last.get(key)))
            last[key] = event.seq
        await upsert(connection, history, rows, known=())
        await _forget_reasons(connection, batch)


def _key(event: Recorded, subject: Ref) -> Key:
    return (*owner(event), *subject)


async def _last_seqs(connection: AsyncConnection, keys: set[Key]) -> dict[Key, int]:
    if not keys:
        return {}
    found = await fetch_all(connection, _last(schema_of(connection, history)), [keyed(_SUBJECT, keys)])
    return {row[:-1]: row[-1] for row in found if row[-1] is not None}


_SUBJECT = (*indexed(history), history.c.subject, history.c.subject_id)


@cache
def _last(schema: str) -> bytes:
    statement = SQL("SELECT *, (SELECT max(seq) FROM {} AS held WHERE ({}) = ({})) FROM {}")
    place, held, wanted = Identifier(schema, history.name), names(_SUBJECT, "held"), names(_SUBJECT, "wanted")
    return statement.format(place, held, wanted, relation(_SUBJECT, "wanted")).as_bytes()


async def _forget_reasons(connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
    """A reason is personal: the rows of erased subjects stay, with the reasons that a rebuild would give them.

    A subject that was hidden again since then has a reason of its own.
    """
    gone = {_key(event, subject): event.seq for event in batch if (subject := erased(event.payload))}
    if not gone:
        return
    wanted = select(*stored(history)).where(tuple_(*_SUBJECT).in_(sorted(gone)), history.c.meta.has_key("reason"))
    rows = await fetch(connection, history, wanted)
    before = [row for row in rows if row["seq"] <= gone[tuple(row[column.name] for column in _SUBJECT)]]
    await upsert(connection, history, [{**row, "meta": {**row["meta"], "reason": ""}} for row in before])


def _row(event: Recorded, subject: Ref, last_seq: int | None) -> Row:
    word, meta = entry(event.payload, subject)
    return {
        **owner_row(event),
        "id": uuid5(event.event_id, subject.id),
        "subject": subject.kind,
        "subject_id": subject.id,
        "memory_id": UUID(subject.id) if subject.kind == MEMORY.name else None,
        "event": "UPDATE" if word == "ADD" and last_seq else word,  # A fact that is stated again, for another time.
        "old_ref": f"{subject.id}@{last_seq}" if last_seq else None,
        "new_ref": f"{left(event.payload, subject)}@{event.seq}",
        "actor": event.meta.actor,
        "meta": {"event_id": str(event.event_id), "type": event.header.type, **meta},
        "seq": event.seq,
        "ts": event.recorded_at,
    }
