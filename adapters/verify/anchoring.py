"""Writes anchors: every few seconds when heads changed, and at a clean stop; and refuses an older database (X08).

What the relay published is what changed, so nothing is asked of the database. Only when an anchoring begins are
heads read once, for those that a crash kept from being anchored.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from nats.errors import Error as NatsError

from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.verify.anchor import FIRST, Anchor, AnchoredHead, mac_of, pack, unpack
from mnemolog.adapters.verify.anchor_file import AnchorFile
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.log_check import fetch
from mnemolog.domain.errors import DatabaseRolledBack, MalformedEvent
from mnemolog.events.envelope import StoredEvent, StreamId

_logger = logging.getLogger("mnemolog.anchors")

HEADS = 5000
# A commit may come after others that were recorded later than it.
MARGIN = timedelta(seconds=60)
EPOCH = datetime.fromtimestamp(0, UTC)
COMPACT_FROM = 50_000
COMPACT_FACTOR = 4


class Anchoring:
    """`node` names the chain of anchors that a new file begins."""

    def __init__(
        self,
        file: AnchorFile,
        stream: AnchorStream,
        pool: Pool,
        key: bytes,
        now: Callable[[], datetime],
        node: str,
        seconds: float,
    ) -> None:
        self._file, self._stream, self._pool, self._key, self._now = file, stream, pool, key, now
        self._node, self._seconds = node, seconds
        self._number, self._previous, self._written = 0, FIRST, 0
        self._pending: dict[StreamId, AnchoredHead] = {}

    def published(self, events: Sequence[StoredEvent]) -> None:
        """Take what the relay has published; the last event of each stream is its head."""
        for event in events:
            header = event.header
            self._pending[header.stream] = AnchoredHead(header.stream, header.seq, event.link)

    async def begin(self, *, accept: bool = False) -> None:
        """Go on from the last anchor. DatabaseRolledBack when the database is older, unless that is accepted."""
        own = await asyncio.to_thread(self._last_of_file)
        last = [anchor for anchor in (own, await self._last_of_stream()) if anchor]
        if own:
            self._node, self._number = own.node, own.number
        behind = await self._behind([head for anchor in last for head in anchor.heads])
        if behind and not accept:
            raise _rolled_back(behind)
        if behind:
            await self._accept()
        await self._anchor_since(max((anchor.at for anchor in last), default=EPOCH))

    async def run(self) -> None:
        """Write what changed every `seconds`, until cancelled."""
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self.keep()
            except Exception as error:  # noqa: BLE001  Whatever it was: the heads wait for the next anchor.
                _logger.warning("an anchor is put off: %r", error)

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

    async def compact(self) -> None:
        """Keep of the file only each stream's last head, unless that saves little."""
        self._written = 0
        kept, accepted, total = await asyncio.to_thread(self._folded)
        if total < COMPACT_FACTOR * len(kept):
            return
        lines = [*accepted, *self._lines(list(kept.values()))]
        await self._stream.replace(self._node, lines)
        await asyncio.to_thread(self._file.replace, lines)

    async def _write(self, heads: Sequence[AnchoredHead], *, accepted: bool = False) -> None:
        lines = self._lines(heads, accepted=accepted)
        self._written += len(heads)
        self._file.append(lines)  # Not in a thread: at the end of a program there are none any more.
        try:
            await self._stream.publish(self._node, lines)
        except (NatsError, OSError, TimeoutError) as error:
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
        for line in self._file.lines():
            last = (line, anchor) if (anchor := self._readable(line)) else last
        if last is None:
            return None
        self._previous = mac_of(last[0])
        return last[1]

    async def _last_of_stream(self) -> Anchor | None:
        line = await self._stream.last()
        return self._readable(line) if line else None

    def _readable(self, line: bytes) -> Anchor | None:
        try:
            return unpack(line, self._key)
        except MalformedEvent:
            return None

    async def _behind(self, heads: Sequence[AnchoredHead]) -> list[AnchoredHead]:
        columns = {
            "tenants": [head.stream.tenant for head in heads],
            "streams": [head.stream.name for head in heads],
            "seqs": [head.seq for head in heads],
        }
        async with self._pool.connection() as connection:
            rows = await fetch(connection, "links_at", **columns)
        links = {(StreamId(row["tenant"], row["stream"]), row["seq"]): row["link"] for row in rows}
        return [head for head in heads if bytes(links[head.stream, head.seq] or b"") != head.link]

    async def _accept(self) -> None:
        """From now on the log as it stands counts, whatever was anchored of these streams before."""
        kept, _, _ = await asyncio.to_thread(self._folded)
        async for line in self._stream.lines():
            if (anchor := self._readable(line)) and not anchor.accepted:
                kept |= {head.stream: head for head in anchor.heads}
        behind = await self._behind(list(kept.values()))
        await self._write([AnchoredHead(head.stream, 0, b"") for head in behind], accepted=True)

    async def _anchor_since(self, at: datetime) -> None:
        async with self._pool.connection() as connection:
            rows = await fetch(connection, "heads_since", since=max(at - MARGIN, EPOCH))
        heads = [AnchoredHead(StreamId(row["tenant"], row["stream"]), row["seq"], bytes(row["link"])) for row in rows]
        if heads:
            await self._write(heads)

    def _folded(self) -> tuple[dict[StreamId, AnchoredHead], list[bytes], int]:
        """Of the file: the last head of each stream, the lines of accepted rollbacks, and how many heads there are."""
        kept: dict[StreamId, AnchoredHead] = {}
        accepted: list[bytes] = []
        total = 0
        for line in self._file.lines():
            if anchor := self._readable(line):
                total += len(anchor.heads)
                if anchor.accepted:
                    accepted.append(line)
                else:
                    kept |= {head.stream: head for head in anchor.heads}
        return kept, accepted, total


def _rolled_back(behind: Sequence[AnchoredHead]) -> DatabaseRolledBack:
    first = behind[0]
    return DatabaseRolledBack(
        f"{first.stream} had an event {first.seq} that the database does not hold"
        + (f", and {len(behind) - 1} more streams are behind" if len(behind) > 1 else ""),
        field="postgres_url",
        fix="run `mnemolog verify`; restore the newest copy, or go on from this one with accept_rollback = true",
    )
