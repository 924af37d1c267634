"""Folds summaries into rows. Exactly once: rows and progress share a transaction."""

from collections.abc import Sequence

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.conversation import EVERY_THREAD
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased, ThreadErased
from mnemolog.events.message import MessagesErased
from mnemolog.events.summaries import SummaryWritten
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import owner, owner_row
from mnemolog.projections.rows import Key, Row, primary_key, upsert
from mnemolog.projections.summaries.tables import NAME, READABLE_FROM, VERSION, metadata, summaries
from mnemolog.projections.threads import rows_of_threads

_ERASED = {"text": "", "summary_json": {}}


class SummariesProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(SummaryWritten, shapes=MessagesErased | MemoryErased | ThreadErased)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        """An erased summary keeps its row, without its words."""
        threads = {(*owner(event), thread_id) for event in batch for thread_id in _erased_threads(event)}
        known = await rows_of_threads(connection, summaries, threads)
        rows, changed = dict(known), dict[Key, Row]()
        for event in batch:
            after: dict[Key, Row] = {}
            if isinstance(event.payload, SummaryWritten):
                row = {
                    **owner_row(event),
                    "summary_id": event.event_id,
                    **event.payload.model_dump(include=_TAKEN),
                    **event.payload.generation.model_dump(),
                    "version": event.payload.number,
                    "created_at": event.recorded_at,
                    "seq": event.seq,
                }
                after = {primary_key(summaries)(row): row}
            for thread_id in _erased_threads(event):
                theirs = {key: row for key, row in rows.items() if key[:-1] == owner(event)}
                if isinstance(event.payload, MessagesErased) and event.payload.at_end_of_retention:
                    theirs = {key: row for key, row in theirs.items() if row["mechanical"]}
                after |= {key: {**row, **_ERASED} for key, row in theirs.items() if row["thread_id"] == thread_id}
            rows |= after
            changed |= after
        await upsert(connection, summaries, list(changed.values()), known)


def _erased_threads(event: Recorded) -> Sequence[str]:
    """The threads whose summaries an event destroys, and the place of the spine: as `shreds` says."""
    match event.payload:
        case MessagesErased(thread_id=thread_id) | ThreadErased(thread_id=thread_id):
            return [thread_id, EVERY_THREAD]
        case MemoryErased(turns=turns) if turns:
            return [*dict.fromkeys(turn.thread_id for turn in turns), EVERY_THREAD]
        case _:
            return []


_PLACE = {"kind", "agent_id", "thread_id", "session_id", "episode_id"}
_TAKEN = {*_PLACE, "first_turn_id", "last_turn_id", "messages", "mechanical", *_ERASED}
