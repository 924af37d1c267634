"""One pass of the log into several stores: each event is read and decoded once, whatever number of them takes it."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain

from mnemolog.domain.errors import EngineError
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.log import EventLog, Head
from mnemolog.projections.projector import Session, Store, reached_by

_logger = logging.getLogger("mnemolog.projections")

PORTION = 2000
STREAMS = 500

Progressed = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Share:
    """Which streams one of several that work side by side takes: every stream belongs to one of them."""

    number: int = 0
    of: int = 1

    def takes(self, stream: StreamId) -> bool:
        digest = blake2b(str(stream).encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") % self.of == self.number


EVERYTHING = Share()

Sessions = Callable[[Sequence[Store], Sequence[StreamId]], AbstractAsyncContextManager[Sequence[Session]]]
_Open = Callable[[Sequence[StreamId]], AbstractAsyncContextManager[Sequence[Session]]]


@asynccontextmanager
async def one_by_one(stores: Sequence[Store], streams: Sequence[StreamId]) -> AsyncIterator[Sequence[Session]]:
    """A session of each store, each in its own transaction."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(store.session(streams)) for store in stores]


async def fill(
    log: EventLog,
    stores: Sequence[Store],
    share: Share = EVERYTHING,
    progressed: Progressed = lambda count: None,
    transient: tuple[type[Exception], ...] = (),
    sessions: Sessions = one_by_one,
) -> Mapping[str, int]:
    """Apply to each store what it lacks of the log; how many events each took. Memory is bounded by a portion.

    `sessions` opens one of each store: stores of one database may share a transaction.

    What cannot be applied is left out together with its portion: the runtime finds the event, and says which it was.
    An error of the stores, of the log (`transient`) or of the engine is raised; done again, it goes on from there.
    """
    taken: Counter[str] = Counter({store.name: 0 for store in stores})
    infrastructure: tuple[type[Exception], ...] = (
        *transient,
        EngineError,
        *chain.from_iterable(store.transient for store in stores),
    )
    open_sessions = partial(sessions, stores)
    async for portion in _portions(log, open_sessions, share):
        try:
            applied = await _apply(log, stores, open_sessions, portion)
        except infrastructure:
            raise
        except Exception as error:  # noqa: BLE001  Whatever a projector raises; its text may be what somebody said.
            _logger.warning("a portion of %d events was left out: %s", len(portion), type(error).__name__)
            continue
        for store, count in zip(stores, applied, strict=True):
            taken[store.name] += count
        progressed(sum(applied))
    return taken


async def _portions(log: EventLog, sessions: _Open, share: Share) -> AsyncIterator[Sequence[StoredEvent]]:
    """What any store lacks: whole streams together, or a long one in parts, each stream in its order."""
    gathered: list[StoredEvent] = []
    async for heads in _heads(log, share):
        for stream, after, until in await _lacking(sessions, heads):
            async for batch in log.scan(stream, after=after, until=until, batch=PORTION):
                gathered += batch
                if len(gathered) >= PORTION:
                    yield gathered
                    gathered = []
    if gathered:
        yield gathered


async def _heads(log: EventLog, share: Share) -> AsyncIterator[Sequence[Head]]:
    """Those of a share, so many at a time that asking for their progress is worth a transaction."""
    mine: list[Head] = []
    async for heads in log.heads():
        mine += [head for head in heads if share.takes(head.stream)]
        while len(mine) >= STREAMS:
            yield mine[:STREAMS]
            mine = mine[STREAMS:]
    if mine:
        yield mine


async def _lacking(sessions: _Open, heads: Sequence[Head]) -> Sequence[tuple[StreamId, int, int]]:
    """The streams that some store has not all of, with the lowest progress and the head."""
    async with sessions([head.stream for head in heads]) as opened:
        known = [dict(session.progress) for session in opened]
    ends = [(head, min((one[head.stream] for one in known if head.stream in one), default=head.seq)) for head in heads]
    return [(head.stream, after, head.seq) for head, after in ends if after < head.seq]


async def _apply(
    log: EventLog, stores: Sequence[Store], sessions: _Open, portion: Sequence[StoredEvent]
) -> Sequence[int]:
    """Decoded while the sessions are open, so that an erasure that sweeps the stores comes before or after it."""
    types = {event.header.type for event in portion}
    taken = [frozenset(filter(store.takes, types)) for store in stores]
    needed = frozenset[str]().union(*taken)
    applied: list[int] = []
    async with sessions(sorted({event.header.stream for event in portion})) as opened:
        decoded = iter(await log.decode([event for event in portion if event.header.type in needed]))
        parts = _by_stream([(event, next(decoded) if event.header.type in needed else None) for event in portion])
        for session, own in zip(opened, taken, strict=True):
            wanted = _wanted(session, parts)
            if wanted:
                told = [one for event, one in wanted if one is not None and event.header.type in own]
                await session.apply(told, reached_by(event for event, _ in wanted))
            applied.append(len(wanted))
    return applied


_Read = tuple[StoredEvent, Recorded | None]


def _by_stream(events: Sequence[_Read]) -> Mapping[StreamId, Sequence[_Read]]:
    parts: dict[StreamId, list[_Read]] = {}
    for one in events:
        parts.setdefault(one[0].header.stream, []).append(one)
    return parts


def _wanted(session: Session, parts: Mapping[StreamId, Sequence[_Read]]) -> Sequence[_Read]:
    """What comes next in each stream, and nothing behind an event that was left out."""
    wanted: list[_Read] = []
    for stream, events in parts.items():
        after, first = session.progress.get(stream, -1), events[0][0].header.seq
        if after >= first - 1:
            wanted += events[after - first + 1 :]
    return wanted
