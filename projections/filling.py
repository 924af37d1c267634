"""One pass of the log into several stores: each event is read and decoded once, whatever number of them takes it."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

from mnemolog.domain.errors import EngineError
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.log import EventLog, Head
from mnemolog.projections.projector import Session, Store

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


async def fill(
    log: EventLog,
    stores: Sequence[Store],
    share: Share = EVERYTHING,
    progressed: Progressed = lambda count: None,
    transient: tuple[type[Exception], ...] = (),
) -> Mapping[str, int]:
    """Apply to each store what it lacks of the log; how many events each took. Memory is bounded by a portion.

    What cannot be applied is left out together with its portion: the runtime finds the event, and says which it was.
    An error of the stores, of the log (`transient`) or of the engine is raised; done again, it goes on from there.
    """
    taken: Counter[str] = Counter({store.name: 0 for store in stores})
    infrastructure: tuple[type[Exception], ...] = (
        *transient,
        EngineError,
        *chain.from_iterable(store.transient for store in stores),
    )
    async for portion in _portions(log, stores, share):
        try:
            applied = await _apply(log, stores, portion)
        except infrastructure:
            raise
        except Exception as error:  # noqa: BLE001  Whatever a projector raises; its text may be what somebody said.
            _logger.warning("a portion of %d events was left out: %s", len(portion), type(error).__name__)
            continue
        taken.update(applied)
        progressed(sum(applied.values()))
    return taken


async def _portions(log: EventLog, stores: Sequence[Store], share: Share) -> AsyncIterator[Sequence[StoredEvent]]:
    """What any store lacks: whole streams together, or a long one in parts, each stream in its order."""
    gathered: list[StoredEvent] = []
    async for heads in log.heads():
        mine = [head for head in heads if share.takes(head.stream)]
        for first in range(0, len(mine), STREAMS):
            for stream, after, until in await _lacking(stores, mine[first : first + STREAMS]):
                async for batch in log.scan(stream, after=after, until=until, batch=PORTION):
                    gathered += batch
                    if len(gathered) >= PORTION:
                        yield gathered
                        gathered = []
    if gathered:
        yield gathered


async def _lacking(stores: Sequence[Store], heads: Sequence[Head]) -> Sequence[tuple[StreamId, int, int]]:
    """The streams that some store has not all of, with the lowest progress and the head."""
    known: list[Mapping[StreamId, int]] = []
    for store in stores:
        async with store.session([head.stream for head in heads]) as session:
            known.append(dict(session.progress))
    ends = [(head, min((one[head.stream] for one in known if head.stream in one), default=head.seq)) for head in heads]
    return [(head.stream, after, head.seq) for head, after in ends if after < head.seq]


async def _apply(log: EventLog, stores: Sequence[Store], portion: Sequence[StoredEvent]) -> Mapping[str, int]:
    """Decoded while the sessions are open, so that an erasure that sweeps the stores comes before or after it."""
    streams = sorted({event.header.stream for event in portion})
    applied: dict[str, int] = {}
    async with AsyncExitStack() as stack:
        sessions = [(store.name, await stack.enter_async_context(store.session(streams))) for store in stores]
        parts = _by_stream(await log.decode(portion))
        for name, session in sessions:
            wanted = _wanted(session, parts)
            if wanted:
                await session.apply(wanted)
            applied[name] = len(wanted)
    return applied


def _by_stream(events: Sequence[Recorded]) -> Mapping[StreamId, Sequence[Recorded]]:
    parts: dict[StreamId, list[Recorded]] = {}
    for event in events:
        parts.setdefault(event.stream, []).append(event)
    return parts


def _wanted(session: Session, parts: Mapping[StreamId, Sequence[Recorded]]) -> Sequence[Recorded]:
    """What comes next in each stream, and nothing behind an event that was left out."""
    wanted: list[Recorded] = []
    for stream, events in parts.items():
        after = session.progress.get(stream, -1)
        if after >= events[0].seq - 1:
            wanted += events[after - events[0].seq + 1 :]
    return wanted
