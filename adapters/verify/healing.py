"""Repairs rows of projections, the tag index and heads from the log. Damage in the log itself stays."""

import logging
from collections.abc import Mapping

from sqlalchemy import delete

from mnemolog.adapters.postgres import pauses
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.progress import skipped_table
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.verify.damage import Part, Report
from mnemolog.adapters.verify.log_check import HERE
from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.envelope import StreamId
from mnemolog.projections.projector import Store
from mnemolog.projections.runtime import Projection

_logger = logging.getLogger("mnemolog.verify")


async def heal(report: Report, pool: Pool, running: Mapping[str, Projection]) -> None:
    """Rewrite what a report names, stream by stream, if the stream's events are sound."""
    if any(one.table == pauses.TABLE for one in report.damages):
        store = next(one.store for one in running.values() if isinstance(one.store, PostgresStore))
        await pauses.forget_forged(store.beside_log)
    sound = [one for one in report.damages if one.stream and not report.log_damaged(one.stream)]
    for stream in sorted({one.stream for one in sound if one.stream and one.part in (Part.TAG, Part.HEAD)}):
        # Head and tags from the events, while appends are blocked. The engine's own role may not delete tags.
        place = {"tenant": stream.tenant, "stream": stream.name}
        async with pool.connection() as connection, connection.transaction():
            await connection.execute("SET LOCAL ROLE NONE")
            for name in ("begin_head", "heal_head", "forget_tags", "heal_tags"):
                await connection.execute(query(name, HERE), place)
        for stopped in running.values():  # What stopped at a wrong head continues.
            await stopped.store.resume([stream])
    for one in sound:
        if one.stream and one.table == skipped_table.name:
            await _forget_skips(running[one.projection].store, one.stream)
    for projection, stream in sorted(
        {(one.projection, one.stream) for one in sound if one.stream and one.part is Part.ROW}
    ):
        await _heal_rows(running[projection], stream)


async def _heal_rows(projection: Projection, stream: StreamId) -> None:
    """Heal up to the head of the log, or to the projection's progress if that cannot be applied."""
    try:
        await projection.heal(stream)
    except projection.transient:
        raise
    except TamperedEvent as damage:  # Its rows stay: there is nothing true to replace them with.
        _logger.error("%s does not heal %s: %s", projection.name, stream, damage.message)
    except Exception as error:  # noqa: BLE001  A projector may raise anything: what was applied before is healed.
        _logger.warning("%s heals %s up to where it stopped: %s", projection.name, stream, type(error).__name__)
        await projection.heal(stream, until=await projection.store.progress(stream))


async def _forget_skips(store: Store, stream: StreamId) -> None:
    """An event that operators really skipped stops the stream again, and has to be skipped again."""
    assert isinstance(store, PostgresStore)
    own = (skipped_table.c.tenant == stream.tenant) & (skipped_table.c.stream == stream.name)
    async with store.engine.begin() as connection:
        await connection.execute(delete(skipped_table).where(own))
