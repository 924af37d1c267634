"""Verifies the whole log or one user: chain, witnesses, index, keys, receipts, rows; and repairs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nats.js import JetStreamContext
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.verify.anchor_file import AnchorFile
from mnemolog.adapters.verify.damage import Report, Unverified
from mnemolog.adapters.verify.log_check import LogCheck, fetch, named
from mnemolog.adapters.verify.naming import named as named_events
from mnemolog.adapters.verify.outside import Outside
from mnemolog.adapters.verify.rows_check import RowsCheck
from mnemolog.adapters.verify.witness import Witnesses
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.runtime import Projection


@dataclass(frozen=True)
class Verifier:
    """What verification reads: the log's pool, the live projections, JetStream, and the anchor file."""

    pool: Pool
    roots: Roots
    engine: AsyncEngine
    beside_log: AsyncEngine
    log: EventLog
    running: Mapping[str, Projection]
    jetstream: JetStreamContext
    anchors: AnchorFile

    async def size(self, only: StreamId | None = None) -> int:
        """How many steps `verify` reports: one per event in the chain, and one per replayed event."""
        async with self.pool.connection() as connection:
            [row] = await fetch(connection, "count_events", **named(only))
        return 2 * int(row["count"])

    async def verify(
        self, only: StreamId | None = None, progressed: Callable[[int], None] = lambda count: None
    ) -> Report:
        """Everything that was changed outside the engine, as far as it can be detected.

        Changes nothing, except that lagging projections are caught up.
        """
        report, chain_key = Report(), self.roots.derived("chain")
        log_check = LogCheck(self.pool, self.roots, Codec(), report, progressed)
        await log_check.run(only)
        witnesses = Witnesses(self.pool, chain_key, report, [one.event for one in log_check.unfit])
        keys = self.roots.derived("anchors"), self.roots.derived("wire")
        await Outside(self.anchors, self.jetstream, *keys, report, only).tell(witnesses)
        await witnesses.conclude()
        for damage in await named_events(self.pool, chain_key, log_check.unfit, witnesses):
            report.add(damage)
        if present := await self._present(report, only):
            await RowsCheck(self.engine, self.beside_log, self.log, present, report, progressed).run(only)
        return report

    async def _present(self, report: Report, only: StreamId | None) -> Mapping[str, Projection]:
        """Postgres projections that show their current version.

        Rows of a previous one followed other rules: only their MACs are checked, whenever they are read.
        """
        present: dict[str, Projection] = {}
        for name, projection in self.running.items():
            store = projection.store
            if not isinstance(store, PostgresStore):
                continue
            if await store.look():
                report.unverified.append(Unverified(name, only, 0, "being upgraded"))
            else:
                present[name] = projection
        return present
