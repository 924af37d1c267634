"""Rebuild a projection from the log beside the live one, compare, and swap (X05)."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from mnemolog.domain.errors import ProjectionPoisoned
from mnemolog.projections.projector import Store
from mnemolog.projections.runtime import Projection

ATTEMPTS = 5
RETRY_SECONDS = 0.2


class Rebuildable(Protocol):
    """A live projection and what it takes to build another beside it."""

    @property
    def name(self) -> str: ...

    async def shadow(self) -> Store:
        """An empty store beside the live one, or the one that an interrupted rebuild left."""
        ...

    def quiet(self) -> AbstractAsyncContextManager[None]:
        """While it lasts, nothing is written to the live store; readers go on."""
        ...

    async def differences(self) -> Mapping[str, int]:
        """By table, how many rows differ between the live store and the shadow."""
        ...

    async def swap(self) -> None:
        """Put the shadow in the live store's place, at once."""
        ...


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild did: how many events it read, and how many rows differed from the live ones, by table."""

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
    progressed: Callable[[int], None] = lambda count: None,
) -> Rebuilt:
    """Build the shadow while the live projection goes on; then hold that still, catch up, compare and swap.

    `progressed` is called with the number of events of each step. A crash leaves the shadow, and the next rebuild
    goes on from there. Both are compared at the live projection's own progress; what came later follows the swap.
    ProjectionPoisoned when an event cannot be applied: then nothing is swapped.
    """
    shadow = run(await target.shadow())
    await shadow.store.resume()
    await _come_to_the_head(live)
    events = await shadow.catch_up(progressed, until=await live.store.all_progress())
    async with target.quiet():
        events += await shadow.catch_up(progressed, until=await live.store.all_progress())
        await _require_whole(shadow)
        differences = await target.differences()
        await target.swap()
    return Rebuilt(target.name, events, differences)


async def _come_to_the_head(live: Projection) -> None:
    """A worker that is at it too, and first, is no reason to give up."""
    for left in reversed(range(ATTEMPTS)):
        try:
            await live.catch_up()
            return
        except live.transient:
            if not left:
                raise
            await asyncio.sleep(RETRY_SECONDS)


async def _require_whole(shadow: Projection) -> None:
    """What stopped at a poisoned event never takes the place of a live projection (design §4)."""
    stopped = [f"{stream} at {reason}" for stream, reason in (await shadow.store.stopped()).items()]
    if stopped:
        raise ProjectionPoisoned(
            f"the rebuild of {shadow.name} stopped in {'; '.join(stopped[:3])}",
            field="projection",
            fix="the live projection goes on as it was; run a Mnemolog that can apply this event, then rebuild again",
        )
