"""Rebuild a projection from the log beside the live one, compare, and swap (X05)."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from mnemolog.projections.projector import Store
from mnemolog.projections.runtime import Projection


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
    """
    shadow = run(await target.shadow())
    await live.catch_up()
    events = await shadow.catch_up(progressed, until=await live.store.all_progress())
    async with target.quiet():
        events += await shadow.catch_up(progressed, until=await live.store.all_progress())
        differences = await target.differences()
        await target.swap()
    return Rebuilt(target.name, events, differences)
