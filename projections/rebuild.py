"""Rebuild projections from the log beside the live ones, compare, and swap (X05)."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from mnemolog.domain.errors import ProjectionPoisoned
from mnemolog.projections.projector import Store
from mnemolog.projections.runtime import Projection

ATTEMPTS = 5
MANY = 1_000_000
RETRY_SECONDS = 0.2

Progressed = Callable[[int], None]
# Brings shadows to the head of the log in one pass; returns the number of events for each, by name.
Fill = Callable[[Sequence[Store], Progressed], Awaitable[Mapping[str, int]]]


class Rebuildable(Protocol):
    """A live projection and the means to build another one beside it."""

    @property
    def name(self) -> str: ...

    async def shadow(self) -> Store:
        """An empty store beside the live one, or the one left by an interrupted rebuild."""
        ...

    async def compare(self) -> None:
        """Compare the rows that do not change any more. This may take long, so that `differences` does not."""
        ...

    def quiet(self) -> AbstractAsyncContextManager[None]:
        """Blocks writes to the live store; readers continue."""
        ...

    async def differences(self) -> Mapping[str, Counter[Any]]:
        """How many rows differ between the live store and the shadow, by table and owner. Inside `quiet` only."""
        ...

    async def drop_former(self) -> Sequence[str]:
        """Drop the tables of other versions of the projection; returns their names."""
        ...

    async def swap(self) -> None:
        """Replace the live store with the shadow, atomically. Inside `quiet` only."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A projection to rebuild, and the means to do so. `upgrade`: readers currently see its previous version."""

    live: Projection
    beside: Rebuildable
    upgrade: bool = False


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The result of a rebuild: how many events it read, and how many rows differed from the live ones, by table."""

    name: str
    events: int
    differences: Mapping[str, int]

    @property
    def equal(self) -> bool:
        return not any(self.differences.values())


async def rebuild(
    live: Projection,
    target: Rebuildable,
    run: Callable[[Store], Projection],
    progressed: Progressed = lambda count: None,
) -> Rebuilt:
    """Rebuild one projection event by event, as `rebuild_all` does for several at once."""

    async def nothing(shadows: Sequence[Store], progressed: Progressed) -> Mapping[str, int]:
        return {}

    [rebuilt] = await rebuild_all([Target(live, target)], run, nothing, progressed)
    return rebuilt


async def rebuild_all(
    targets: Sequence[Target],
    run: Callable[[Store], Projection],
    fill: Fill,
    progressed: Progressed = lambda count: None,
) -> list[Rebuilt]:
    """Fill the shadows in one pass while the live projections continue; then catch up, compare and swap one by one.

    `progressed` is called with the number of events of each step, counted per projection. A crash leaves the shadows,
    and the next rebuild continues from there. Both are compared at the live projection's progress; later events are
    applied after the swap. ProjectionPoisoned if an event cannot be applied: that projection is not swapped, the others
    are.
    """
    shadows = await asyncio.gather(*map(_shadow, targets))
    filled = await fill(shadows, progressed)
    building = [
        _Building(target, run(shadow), progressed, filled.get(target.beside.name, 0))
        for target, shadow in zip(targets, shadows, strict=True)
    ]
    await asyncio.gather(*(one.come_close() for one in building))
    rebuilt, poisoned = list[Rebuilt](), list[ProjectionPoisoned]()
    for one in building:
        try:
            rebuilt.append(await one.end())
        except ProjectionPoisoned as error:
            poisoned.append(error)
    if poisoned:
        raise poisoned[0]
    return rebuilt


async def _shadow(target: Target) -> Store:
    shadow = await target.beside.shadow()
    await shadow.resume()
    return shadow


@dataclass
class _Building:
    """One projection between a filled shadow and the swap."""

    target: Target
    shadow: Projection
    progressed: Progressed
    events: int

    async def come_close(self) -> None:
        """Do everything slow before writes to the live projection are blocked."""
        await _come_to_the_head(self.target.live)
        await self._catch_up()
        if self.target.upgrade:
            await self._pass_over()
        await self.target.beside.compare()

    async def end(self) -> Rebuilt:
        """An erasure that the live projection has not applied yet has taken the text from events that it has applied,
        and the shadow lacks that text. So only what differs each time counts, while the live one goes on in between.
        """
        found: Mapping[str, Counter[Any]] = {}
        for left in reversed(range(ATTEMPTS)):
            async with self.target.beside.quiet():
                await self._catch_up()
                await _require_whole(self.shadow, self.target.live if self.target.upgrade else None)
                again = await self.target.beside.differences()
                found = {table: _in_both(found[table], rows) if found else rows for table, rows in again.items()}
                if not (left and any(found.values())):
                    await self.target.beside.swap()
                    break
            await _come_to_the_head(self.target.live)
        return Rebuilt(self.target.beside.name, self.events, {table: rows.total() for table, rows in found.items()})

    async def _pass_over(self) -> None:
        """Skip what an operator skipped in the previous version, if it cannot be applied in this one either."""
        skipped = {(one.stream, one.seq): one for one in await self.target.live.store.skipped(MANY)}
        while True:
            stopped = await self.shadow.store.stopped()
            known = [one for stream, stop in stopped.items() if (one := skipped.get((stream, stop.seq)))]
            if not known:
                return
            for one in known:
                await self.shadow.store.skip(one)
                head = await self.target.live.store.progress(one.stream)
                self.events += await self.shadow.read_on(one.stream, one.seq, head)

    async def _catch_up(self) -> None:
        until = await self.target.live.store.all_progress()
        self.events += await self.shadow.catch_up(self.progressed, until=until)


def _in_both(earlier: Counter[Any], later: Counter[Any]) -> Counter[Any]:
    return Counter({owner: rows for owner, rows in later.items() if owner in earlier})


async def _come_to_the_head(live: Projection) -> None:
    """If another worker is faster, that is not a failure."""
    for left in reversed(range(ATTEMPTS)):
        try:
            await live.catch_up()
            return
        except live.transient:
            if not left:
                raise
            await asyncio.sleep(RETRY_SECONDS)


async def _require_whole(shadow: Projection, former: Projection | None) -> None:
    """A shadow that stopped at a poisoned event never replaces a live projection (design §4).

    Except if the previous version came no further in that stream.
    """
    reached = dict(await former.store.all_progress()) if former else {}
    stopped = [
        f"{stream} at {stop}"
        for stream, stop in (await shadow.store.stopped()).items()
        if former is None or stop.seq <= reached.get(stream, 0)
    ]
    if stopped:
        raise ProjectionPoisoned(
            f"the rebuild of {shadow.name} stopped in {'; '.join(stopped[:3])}",
            field="projection",
            fix="the live projection is unchanged; run a Mnemolog that can apply this event, then rebuild again",
        )
