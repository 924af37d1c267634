"""Writes anchors every few seconds and at a clean stop, and refuses an older database (X08).

An anchor is made from what this process committed, as it held it in memory: what the database gives back afterwards may
be less. What the relay published of other processes' events is anchored too, once it fits the chain. So nothing is
asked of the database; only when an anchoring begins are heads read once, for those that a crash kept from being
anchored.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from nats.errors import Error as NatsError

from mnemolog.adapters.postgres.chained import single_damage, stored
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.verify.anchor import FIRST, Anchor, AnchoredHead, mac_of, pack, unpack
from mnemolog.adapters.verify.anchor_file import AnchorFile
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part
from mnemolog.adapters.verify.latest_heads import LatestHeads
from mnemolog.adapters.verify.log_check import fetch
from mnemolog.domain.errors import DatabaseRolledBack, MalformedEvent
from mnemolog.events.chain import gone
from mnemolog.events.envelope import StoredEvent, StreamId

_logger = logging.getLogger("mnemolog.anchors")

HEADS = 5000
# Events read at once, with their data.
AT_ONCE = 500
# A commit may come after others that were recorded later.
MARGIN = timedelta(seconds=60)
EPOCH = datetime.fromtimestamp(0, UTC)
COMPACT_FROM = 50_000
COMPACT_FACTOR = 4


# The anchors of short-lived processes: an engine includes them in its own.
CLIENTS = "clients"
ACCEPTED = b'"accepted":true'


class Anchoring:
    """`node` names the chain of anchors in a new file; a client has no file, and only publishes.

    Without `chain_key`, the content of the database cannot be verified, and none of it is anchored. `abandoned` tells
    that JetStream will not answer any more, because the program ends without closing its connection.
    """

    def __init__(
        self,
        file: AnchorFile | None,
        stream: AnchorStream,
        pool: Pool,
        key: bytes,
        now: Callable[[], datetime],
        node: str,
        seconds: float,
        known: LatestHeads | None = None,
        chain_key: bytes | None = None,
        abandoned: Callable[[], bool] = lambda: False,
    ) -> None:
        self._chain_key, self._abandoned = chain_key, abandoned
        self._file, self._stream, self._pool, self._key, self._now = file, stream, pool, key, now
        self._node, self._seconds = node, seconds
        self._number, self._previous, self._written = 0, FIRST, 0
        self._pending: dict[StreamId, AnchoredHead] = {}
        self._accepted: dict[StreamId, datetime] = {}
        self._heard = 0
        self.known = known or LatestHeads()

    def take(self, events: Sequence[StoredEvent]) -> None:
        """Take events committed here, or published and verified: the last one of each stream is its head."""
        heads = {
            event.header.stream: AnchoredHead(event.header.stream, event.header.seq, event.link) for event in events
        }
        self.known.take(heads.values())
        for stream, head in heads.items():
            before = self._pending.get(stream)
            if self.known.holds(head) and (before is None or before.seq < head.seq):
                self._pending[stream] = head

    async def begin(self, *, accept: bool = False) -> Sequence[Damage]:
        """Continue from the last anchors. DatabaseRolledBack if the database lacks any of them, unless `accept`.

        Returns what was accepted.
        """
        at = await self._learn()
        behind = [head async for head in self.behind()]
        if behind and not accept:
            raise _rolled_back(behind)
        if behind:
            await self._write([AnchoredHead(head.stream, 0, b"") for head in behind], accepted=True)
            for head in behind:
                self.known.forget(head.stream)
        # A crash may have left heads without an anchor: anchor those whose events match the chain.
        async with self._pool.connection() as connection:
            rows = await fetch(connection, "heads_since", since=max(at - MARGIN, EPOCH))
        heads = [AnchoredHead(StreamId(row["tenant"], row["stream"]), row["seq"], bytes(row["link"])) for row in rows]
        heads = [head for head in heads if head.seq > self.known.seq(head.stream)]
        for first in range(0, len(heads), AT_ONCE):
            if sound := await self._sound(heads[first : first + AT_ONCE]):
                self.known.take(sound)
                await self._write(sound)
        return [missing(head) for head in behind]

    async def require_whole(self) -> None:
        """TamperedEvent if the database lacks the last anchored head of any stream. A client reads JetStream first."""
        if self._file is None:
            await self._learn()
        async for head in self.behind():
            raise gone(head.stream, head.seq)

    async def behind(self) -> AsyncIterator[AnchoredHead]:
        """The last anchored head of each stream that the database does not have."""
        heads: list[AnchoredHead] = []
        looked = set[int]()
        async for anchor in self._anchors():
            for head in anchor.heads:
                if not anchor.accepted and self.known.holds(head) and hash(head.stream) not in looked:
                    looked.add(hash(head.stream))
                    heads.append(head)
            if len(heads) >= HEADS:
                for one in await self._behind(heads):
                    yield one
                heads = []
        for one in await self._behind(heads) if heads else ():
            yield one

    async def _learn(self) -> datetime:
        """Load the last anchored head of every stream, and the time of this node's last anchor."""
        self._heard = await self._stream.last_place()
        async for anchor in self._anchors(marked=ACCEPTED):
            self._accept(anchor)
        last, readable = EPOCH, False
        async for anchor in self._anchors():
            last, readable = max(last, anchor.at), True
            if not anchor.accepted:
                self._know(anchor)
        own = await asyncio.to_thread(self._last_of_file)
        if own:
            self._node, self._number = own.node, own.number
        if not readable and await self._stream.last_place() and not await self._any_head():
            raise DatabaseRolledBack(
                "JetStream has anchors of a log, but the database has none",
                field="postgres_url",
                fix="restore its database, or use another data directory",
            )
        return last

    def _accept(self, anchor: Anchor) -> None:
        for head in anchor.heads:
            self._accepted[head.stream] = max(anchor.at, self._accepted.get(head.stream, anchor.at))

    def _know(self, anchor: Anchor) -> None:
        never = datetime.min.replace(tzinfo=UTC)
        self.known.take(head for head in anchor.heads if anchor.at > self._accepted.get(head.stream, never))

    async def hear(self) -> None:
        """Read what other processes anchored since: their commits may be deleted before the relay has read them."""
        place = await self._stream.last_place()
        if place < self._heard:  # The stream was deleted and created again.
            self._heard = 0
        if place > self._heard:
            heard = [anchor async for line in self._stream.lines(self._heard) if (anchor := self._readable(line))]
            for anchor in heard:
                if anchor.accepted:
                    self._accept(anchor)
                    for head in anchor.heads:
                        self.known.forget(head.stream)
            for anchor in heard:
                if not anchor.accepted and anchor.node != self._node:
                    self._know(anchor)
            self._heard = place
        self.known.complete()

    async def _any_head(self) -> bool:
        async with self._pool.connection() as connection:
            [row] = await fetch(connection, "newest_record")
        return row["at"] is not None

    async def _anchors(self, marked: bytes = b"") -> AsyncIterator[Anchor]:
        """All readable anchors: the file's, then JetStream's; of those only the lines that contain `marked`."""
        for line in self._file.lines() if self._file else ():
            if marked in line and (anchor := self._readable(line)):
                yield anchor
        async for line in self._stream.lines():
            if marked in line and (anchor := self._readable(line)):
                yield anchor

    async def run(self) -> None:
        """Write what changed every `seconds`, until cancelled.

        A client's engine may have been stopped while nothing uses it, and anchors what the client wrote when it relays
        it: no warning in somebody else's program.
        """
        level = logging.WARNING if self._file else logging.INFO
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self.keep()
                await self.hear()
            except Exception as error:  # noqa: BLE001  Any error: the heads wait for the next anchor.
                _logger.log(level, "an anchor is postponed: %r", error)

    async def keep(self) -> None:
        """Anchor what changed, and compact the file once it has grown."""
        await self.flush()
        if self._written > COMPACT_FROM:
            await self.compact()

    async def flush(self) -> None:
        """Anchor what changed since the last time."""
        if self._pending:
            pending, self._pending = self._pending, {}
            try:
                await self._write(list(pending.values()))
            except BaseException:
                self._pending = {**pending, **self._pending}
                raise

    async def flush_quietly(self) -> None:
        """Like `flush`, on shutdown, where errors must not delay."""
        try:
            await self.flush()
        except (NatsError, OSError, TimeoutError) as error:
            _logger.warning("an anchor is left out: %r", error)

    async def compact(self) -> None:
        """Compact the file and what clients published to each stream's last head, unless that saves little."""
        self._written = 0
        if self._file is None:
            return
        place = await self._stream.last_place()
        clients = [line async for line in self._stream.lines(node=CLIENTS)]
        kept, accepted, total = await asyncio.to_thread(self._folded, clients)
        if total < COMPACT_FACTOR * len(kept):
            return
        lines = [*accepted, *self._lines(list(kept.values()))]
        await self._stream.replace(self._node, lines)
        await asyncio.to_thread(self._file.replace, lines)
        if clients:
            await self._stream.drop(CLIENTS, place)

    async def _write(self, heads: Sequence[AnchoredHead], *, accepted: bool = False) -> None:
        lines = self._lines(heads, accepted=accepted)
        self._written += len(heads)
        if self._file:
            self._file.append(lines)  # Not in a thread: at the end of a program there are none any more.
        if self._abandoned():  # A client's heads are anchored by the engine that relays them.
            return
        try:
            await self._stream.publish(self._node if self._file else CLIENTS, lines)
        except (NatsError, OSError, TimeoutError) as error:
            if self._file is None:
                raise
            _logger.warning("an anchor went to its file only: %r", error)

    def _lines(self, heads: Sequence[AnchoredHead], *, accepted: bool = False) -> list[bytes]:
        lines: list[bytes] = []
        for first in range(0, len(heads), HEADS):
            self._number += 1
            some = heads[first : first + HEADS]
            line = pack(Anchor(self._node, self._number, self._now(), some, self._previous, accepted), self._key)
            self._previous = mac_of(line)
            lines.append(line)
        return lines

    def _last_of_file(self) -> Anchor | None:
        last: tuple[bytes, Anchor] | None = None
        for line in self._file.lines() if self._file else ():
            last = (line, anchor) if (anchor := self._readable(line)) else last
        if last is None:
            return None
        self._previous = mac_of(last[0])
        return last[1]

    def _readable(self, line: bytes) -> Anchor | None:
        try:
            return unpack(line, self._key)
        except MalformedEvent:
            return None

    async def _behind(self, heads: Sequence[AnchoredHead]) -> list[AnchoredHead]:
        async with self._pool.connection() as connection:
            rows = await fetch(connection, "links_at", **_places(heads))
        links = {(StreamId(row["tenant"], row["stream"]), row["seq"]): row["link"] for row in rows}
        return [head for head in heads if bytes(links[head.stream, head.seq] or b"") != head.link]

    async def _sound(self, heads: Sequence[AnchoredHead]) -> Sequence[AnchoredHead]:
        """The heads whose event matches the chain: one that was forged while no engine ran is not anchored."""
        if self._chain_key is None:
            return []
        async with self._pool.connection() as connection:
            rows = await fetch(connection, "events_at", **_places(heads))
        found = {head.stream: head for head in heads}
        events = [(stored(row), row["previous"]) for row in rows]
        return [
            found[event.header.stream]
            for event, previous in events
            if event.link == found[event.header.stream].link and not single_damage(self._chain_key, event, previous)
        ]

    def _folded(self, clients: Iterable[bytes]) -> tuple[dict[StreamId, AnchoredHead], list[bytes], int]:
        """The last head of each stream, the lines of accepted rollbacks, and the number of heads."""
        kept: dict[StreamId, AnchoredHead] = {}
        accepted: list[bytes] = []
        total = 0
        for anchor, line in self._read([*(self._file.lines() if self._file else ()), *clients]):
            total += len(anchor.heads)
            if anchor.accepted:
                accepted.append(line)
            else:
                later = (head for head in anchor.heads if self._is_later(head, kept.get(head.stream)))
                kept |= {head.stream: head for head in later}
        return kept, accepted, total

    def _is_later(self, head: AnchoredHead, before: AnchoredHead | None) -> bool:
        """A head before a rollback that an operator accepted no longer counts."""
        return before is None or self.known.holds(head) or not self.known.holds(before)

    def _read(self, lines: Iterable[bytes]) -> Iterator[tuple[Anchor, bytes]]:
        for line in lines:
            if anchor := self._readable(line):
                yield anchor, line


def _places(heads: Sequence[AnchoredHead]) -> dict[str, list[Any]]:
    return {
        "tenants": [head.stream.tenant for head in heads],
        "streams": [head.stream.name for head in heads],
        "seqs": [head.seq for head in heads],
    }


def missing(head: AnchoredHead) -> Damage:
    """What to report about an anchored head that the database lacks."""
    detail = f"an anchor saw events up to {head.seq}, which the database does not hold"
    return Damage(Part.EVENT, DamageKind.ROLLED_BACK, head.stream, detail, head.seq)


def _rolled_back(behind: Sequence[AnchoredHead]) -> DatabaseRolledBack:
    first = behind[0]
    return DatabaseRolledBack(
        f"{first.stream} had an event {first.seq} that the database does not hold"
        + (f", and {len(behind) - 1} more streams are behind" if len(behind) > 1 else ""),
        field="postgres_url",
        fix="run `mnemolog verify`; restore the newest backup, or continue with accept_rollback = true",
    )
