"""The audit: continuously verifies all streams and reports damage that reads would not notice (X08).

A row that is missing, or an older one that was put back, looks like nothing to a read; a tail that was cut looks like
the end. So each stream's events are held against the chain, its rows against a replay, and its last anchored head
against the log. Rows are healed where the log is sound. It works for a share of the time, and goes on where it stood.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.verify.anchoring import Anchoring, missing
from mnemolog.adapters.verify.damage import Damage, Part, Report
from mnemolog.adapters.verify.healing import heal
from mnemolog.adapters.verify.incidents import By, Done, Incidents
from mnemolog.adapters.verify.log_check import LogCheck, fetch
from mnemolog.adapters.verify.naming import named
from mnemolog.adapters.verify.rows_check import RowsCheck
from mnemolog.adapters.verify.witness import Witnesses
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import EventLog, Head
from mnemolog.projections.runtime import Projection

_logger = logging.getLogger("mnemolog.audit")

# Per step: few enough that others on the loop and the database do not wait long.
STREAMS, EVENTS = 50, 500
# Between two passes, and after a failure.
REST_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 600.0


class Audit:
    """Works at most this `share` of the time; `path` stores its position."""

    def __init__(
        self,
        pool: Pool,
        roots: Roots,
        engine: AsyncEngine,
        beside_log: AsyncEngine,
        log: EventLog,
        running: Mapping[str, Projection],
        anchoring: Anchoring,
        incidents: Incidents,
        path: Path,
        share: float,
    ) -> None:
        self._pool, self._roots, self._log = pool, roots, log
        self._engine, self._beside_log = engine, beside_log
        self._running, self._anchoring, self._incidents = running, anchoring, incidents
        self._path, self._share = path, share

    async def run(self) -> None:
        """Repeat passes until cancelled; not at all if its share is 0."""
        while self._share:
            try:
                await self.walk()
            except Exception as error:  # noqa: BLE001  Any error: the next pass covers what this one left out.
                _logger.warning("the audit is postponed: %r", error)
            await asyncio.sleep(REST_SECONDS)

    async def walk(self) -> None:
        """One pass over every stream, from where the last one stopped."""
        last = _read(self._path)
        while some := await self._next(last):
            began = time.monotonic()
            await self.examine(some)
            last = some[-1].stream
            try:
                self._path.write_text(json.dumps([last.tenant, last.name]))
            except OSError as error:
                _logger.warning("where the audit stands cannot be kept: %s", error)
            await self._pause(time.monotonic() - began)
        self._path.unlink(missing_ok=True)
        began = time.monotonic()
        async for head in self._anchoring.behind():
            damage = missing(head)
            detail = f"{damage.detail}: its end was cut, or the database is an older copy"
            await self._incidents.record(replace(damage, detail=detail), By.AUDIT, Done.REFUSED)
        await self._pause(time.monotonic() - began)

    async def examine(self, heads: Sequence[Head]) -> Report:
        """Check some streams: damage becomes an incident, and rows are healed if the log is sound."""
        report = Report()
        check = LogCheck(self._pool, self._roots, Codec(), report, lambda count: None)
        await check.streams([head.stream for head in heads])
        key = self._roots.derived("chain")
        witnesses = Witnesses(self._pool, key, report, [one.event for one in check.unfit])
        for damage in await named(self._pool, key, check.unfit, witnesses):
            report.add(damage)
        # Rows of a previous version would look changed.
        stores = {name: one.store for name, one in self._running.items()}
        shown = [name for name, store in stores.items() if isinstance(store, PostgresStore) and not await store.look()]
        present = {name: self._running[name] for name in shown}
        if present:
            rows = RowsCheck(
                self._engine, self._beside_log, self._log, present, report, lambda count: None, bringing=False
            )
            await rows.examine(heads)
        if not report.clean:
            await heal(report, self._pool, self._running)
            for damage in report.damages:
                await self._incidents.record(damage, By.AUDIT, _done(report, damage))
        return report

    async def _next(self, after: StreamId) -> Sequence[Head]:
        """The next streams, up to so many events."""
        place = {"tenant": after.tenant, "stream": after.name, "batch": STREAMS}
        async with self._pool.connection() as connection:
            rows = await fetch(connection, "page_of_heads", **place, only_tenant=None, only_stream=None)
        found: list[Head] = []
        for row in rows:
            found.append(Head(StreamId(row["tenant"], row["stream"]), row["seq"]))
            if sum(head.seq for head in found) >= EVENTS:
                break
        return found

    async def _pause(self, worked: float) -> None:
        await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, worked * (1 / self._share - 1) if self._share else 0))


def _done(report: Report, damage: Damage) -> Done:
    sound = damage.stream is not None and not report.log_damaged(damage.stream)
    if damage.part is Part.ROW and any(one.part is Part.KEY and one.stream == damage.stream for one in report.damages):
        return Done.REPORTED  # Nothing is healed from what cannot be read.
    if damage.part in (Part.ROW, Part.TAG, Part.HEAD) and sound:
        return Done.HEALED
    return Done.REFUSED if damage.part is Part.EVENT else Done.REPORTED


def _read(path: Path) -> StreamId:
    try:
        found: Any = json.loads(path.read_text())
        return StreamId(str(found[0]), str(found[1]))
    except (OSError, ValueError, LookupError, TypeError):
        return StreamId("", "")
