"""Fills several stores in one pass over the log: each event is read and decoded once."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain

from mnemolog.domain.errors import EngineError, TamperedEvent
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.log import EventLog, Head
from mnemolog.projections.applying import Step, apply, decoded
from mnemolog.projections.preparing import prepared
from mnemolog.projections.projector import Session, Store

_logger = logging.getLogger("mnemolog.projections")

PORTION = 2000
STREAMS = 500

Progressed = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Share:
    """One share of the streams, for several processes that work in parallel: every stream belongs to exactly one."""

    number: int = 0
    of: int = 1


EVERYTHING = Share()

Sessions = Callable[[Sequence[Store], Sequence[StreamId]], AbstractAsyncContextManager[Sequence[Session]]]
_Open = Callable[[Sequence[StreamId]], AbstractAsyncContextManager[Sequence[Session]]]
# A batch: consecutive events of one or several streams. A stream occurs once per batch, because a scan starts a new
# batch for each further part.
_Portion = Sequence[Sequence[StoredEvent]]


@asynccontextmanager
async def one_by_one(stores: Sequence[Store], streams: Sequence[StreamId]) -> AsyncIterator[Sequence[Session]]:
    """Opens a session of each store, each in its own transaction."""
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
    """Apply to each store the events it lacks; returns their number per store. Memory is bounded by a batch.

    `sessions` opens one session per store; stores in one database may share a transaction.

    If an event cannot be applied, its whole batch is left out; the runtime then finds and reports the event. An error
    of the stores, of the log (`transient`) or of the engine is raised; a second call continues from there.
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
            applied = await prepared(partial(_apply, log, stores, open_sessions, portion))
        except infrastructure:
            raise
        except Exception as error:  # noqa: BLE001  A projector may raise anything; its message may quote users.
            _logger.warning("a portion of %d events was left out: %s", sum(map(len, portion)), type(error).__name__)
            continue
        for store, count in zip(stores, applied, strict=True):
            taken[store.name] += count
        progressed(sum(applied))
    return taken


async def _portions(log: EventLog, sessions: _Open, share: Share) -> AsyncIterator[_Portion]:
    """The events that any store lacks: several whole streams together, or parts of a long one, each stream in order."""
    gathered: list[Sequence[StoredEvent]] = []
    count = 0
    async for heads in _heads(log, share):
        async with sessions([head.stream for head in heads]) as opened:
            known = [dict(session.progress) for session in opened]
        ends = [
            (head, min((one[head.stream] for one in known if head.stream in one), default=head.seq)) for head in heads
        ]
        for stream, after, until in [(head.stream, after, head.seq) for head, after in ends if after < head.seq]:
            try:
                async for batch in log.scan(stream, after=after, until=until, batch=PORTION):
                    gathered.append(batch)
                    count += len(batch)
                    if count >= PORTION:
                        yield gathered
                        gathered, count = [], 0
            except TamperedEvent as damage:
                _logger.error("a stream is left out from there on: %s", damage.message)
    if gathered:
        yield gathered


async def _heads(log: EventLog, share: Share) -> AsyncIterator[Sequence[Head]]:
    """The heads of the streams in a share, in batches large enough to be worth a transaction."""
    mine: list[Head] = []
    async for heads in log.heads(share.number, share.of):
        mine += heads
        while len(mine) >= STREAMS:
            yield mine[:STREAMS]
            mine = mine[STREAMS:]
    if mine:
        yield mine


async def _apply(log: EventLog, stores: Sequence[Store], sessions: _Open, portion: _Portion) -> Sequence[int]:
    """Decode while the sessions are open, so that an erasure that sweeps the stores comes before or after."""
    async with sessions(sorted(part[0].header.stream for part in portion)) as opened:
        events = await decoded(log.decode, stores, list(chain.from_iterable(portion)))
        steps = [Step(store, one, _wanted(one, portion)) for store, one in zip(stores, opened, strict=True)]
        await apply(steps, events)
    return [len(step.events) for step in steps]


def _wanted(session: Session, portion: _Portion) -> Sequence[StoredEvent]:
    """The next events of each stream, and none after an event that was left out."""
    wanted: list[StoredEvent] = []
    for part in portion:
        first = part[0].header
        after = session.progress.get(first.stream, -1)
        if first.seq - 1 <= after:
            wanted += part[after - first.seq + 1 :]
    return wanted
