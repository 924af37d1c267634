"""Watching a user's changes as they happen. Each interface streams it in its own way."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Literal, Self
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.cancellation import set_within
from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.requests import Request, viewer_of
from mnemolog.adapters.operations.results import Result
from mnemolog.domain.errors import ReadTimeout
from mnemolog.events.envelope import MAX_DIGITS
from mnemolog.events.fields import Instant

if TYPE_CHECKING:
    from mnemolog.projections.reads.watching import Watched

HEARTBEAT_SECONDS = 15.0


class Watch(Request):
    """The user whose changes are watched."""

    since: Annotated[
        int | None,
        Field(ge=0, lt=10**MAX_DIGITS, description="Start after this seq; 0 for all changes. Default: from now on."),
    ] = None
    wait: Annotated[
        float | None,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="End after this many seconds without a change; 0 for those there are. Default: never.",
        ),
    ] = None


class WatchedChange(Result):
    """One change of one memory, entity, fact, profile field, todo, artifact or episode. Read its text by its id."""

    id: UUID = Field(description="The id of this change: the same whenever it is told again.")
    seq: int = Field(description="Its place in the user's stream. Pass the last one seen as `since` to go on.")
    subject: str = Field(description="The kind of item: memory, entity, relation, profile, todo, artifact or episode.")
    subject_id: str
    event: Literal["ADD", "UPDATE", "DELETE", "MERGE", "LINK", "TTL", "RESTORE"]
    old_ref: str | None = Field(description="`<id>@<seq>` before the change, to be read with `as_of`.")
    new_ref: str | None = Field(description="`<id>@<seq>` after it.")
    actor: str | None
    agent_id: str
    thread_id: str
    run_id: str | None
    ts: Instant


class Changed(Result):
    """The changes up to a seq; none for a heartbeat."""

    seq: int
    changes: list[WatchedChange]

    @classmethod
    def of(cls, watched: "Watched") -> Self:
        return cls(seq=watched.seq, changes=[WatchedChange.model_validate(one) for one in watched.changes])


async def watch(
    engine: Engine,
    request: Watch,
    heartbeat: float = HEARTBEAT_SECONDS,
    stopping: asyncio.Event | None = None,
) -> AsyncGenerator[Changed, None]:
    """The changes of a user, oldest first, as they happen; every `heartbeat` seconds a `Changed` without any.

    The first one has where it starts, and no changes: never beyond the head, as a place from before a restore may be.
    Each change comes at least once. Whoever goes on after the last seq seen misses none. It ends once `stopping` is set
    and the engine's `appends` are woken.
    """
    from mnemolog.projections.visibility import viewed

    viewer = viewer_of(engine, request)
    head = await engine.reads.head(viewer)
    seq = head if request.since is None else min(request.since, head)
    yield Changed(seq=seq, changes=[])
    moved = monotonic()
    with engine.appends.of(viewed(viewer)) as appended:
        await engine.appends.listen()
        while stopping is None or not stopping.is_set():
            appended.clear()
            found = await _changes_after(engine, request, seq)
            if found.seq > seq:
                seq, moved = found.seq, monotonic()
                yield Changed.of(found)
                continue
            left = heartbeat if request.wait is None else min(heartbeat, moved + request.wait - monotonic())
            if left <= 0:
                return
            if not await set_within(appended, left) and left == heartbeat:
                yield Changed(seq=seq, changes=[])


async def _changes_after(engine: Engine, request: Watch, seq: int) -> "Watched":
    viewer = viewer_of(engine, request)
    while True:
        with suppress(ReadTimeout):  # A projection is behind, and a watcher has time.
            return await engine.reads.changes_after(viewer, seq)
