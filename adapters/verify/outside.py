"""Reads the witnesses: anchor file, anchor stream, and JetStream's copies of events."""

from collections.abc import AsyncIterator, Iterator, Sequence

from nats.aio.msg import Msg
from nats.js import JetStreamContext

from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.subjects import EVENTS, partition_of, partition_subject
from mnemolog.adapters.verify.anchor import FIRST, Anchor, mac_of, unpack
from mnemolog.adapters.verify.anchor_file import AnchorFile
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part, Report
from mnemolog.adapters.verify.whole_stream import messages
from mnemolog.adapters.verify.witness import Sighting, Witnesses
from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import StreamId

BATCH = 1000
JETSTREAM = "JetStream"


class Outside:
    """`only` restricts it to one stream."""

    def __init__(
        self,
        file: AnchorFile,
        jetstream: JetStreamContext,
        anchor_key: bytes,
        wire_key: bytes,
        report: Report,
        only: StreamId | None = None,
    ) -> None:
        self._file, self._jetstream, self._only = file, jetstream, only
        self._anchor_key, self._wire_key, self._report = anchor_key, wire_key, report

    async def tell(self, witnesses: Witnesses) -> None:
        """Show the witnesses everything that was seen; first what operators accepted, since it changes what counts."""
        async for anchor in self._anchors(AnchorChains(self._report)):
            if anchor.accepted:
                witnesses.accept(anchor)
        batch: list[Sighting] = []
        async for sighting in self._sightings():
            batch.append(sighting)
            if len(batch) >= BATCH:
                await witnesses.see(batch)
                batch = []
        await witnesses.see(batch)

    async def _sightings(self) -> AsyncIterator[Sighting]:
        theirs = partition_subject(partition_of(self._only)) if self._only else ""
        async for message in messages(self._jetstream, EVENTS, theirs):
            for sighting in self._copy(message):
                self._report.copies += 1
                yield sighting
        async for anchor in self._anchors(None):
            self._report.anchors += 1
            for head in anchor.heads:
                if self._only in (None, head.stream):
                    yield Sighting(head.stream, head.seq, head.link, anchor.at, "an anchor")

    def _copy(self, message: Msg) -> Iterator[Sighting]:
        """A message that no engine of this deployment wrote is ignored."""
        if self._skipped(message) or not wire.authentic(self._wire_key, message.headers, message.data):
            return
        try:
            event = wire.unpack(message.data)
        except MalformedEvent:  # Too large for a message: it came without its data, which is in the log.
            return
        header = event.header
        yield Sighting(header.stream, header.seq, event.link, header.recorded_at, JETSTREAM, event)

    def _skipped(self, message: Msg) -> bool:
        headers = message.headers or {}
        place = StreamId(headers.get("Mnemolog-Tenant", ""), headers.get("Mnemolog-Stream", ""))
        return self._only is not None and place != self._only

    async def _anchors(self, chains: "AnchorChains | None") -> AsyncIterator[Anchor]:
        """All anchors, the file's first; with `chains`, gaps between them are reported."""
        for line in self._file.lines():
            for anchor in self._read(line, chains, str(self._file.path)):
                yield anchor
        if chains:
            chains.begin_again()
        async for line in AnchorStream(self._jetstream).lines():
            for anchor in self._read(line, chains, JETSTREAM):
                yield anchor

    def _read(self, line: bytes, chains: "AnchorChains | None", where: str) -> Sequence[Anchor]:
        try:
            anchor = unpack(line, self._anchor_key)
        except MalformedEvent:
            if chains and where != JETSTREAM:  # Others may publish there; the file is ours.
                self._report.add(
                    Damage(Part.ANCHOR, DamageKind.CHANGED, None, f"an anchor of {where} does not fit its MAC")
                )
            return []
        if chains:
            chains.take(anchor, mac_of(line), where)
        return [anchor]


class AnchorChains:
    """Whether each node's anchors follow one another."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._last: dict[str, str] = {}

    def begin_again(self) -> None:
        self._last = {}

    def take(self, anchor: Anchor, mac: str, where: str) -> None:
        expected = self._last.get(anchor.node)
        if expected is not None and anchor.previous not in (expected, FIRST):
            detail = f"an anchor of {where} before number {anchor.number} is missing"
            self._report.add(Damage(Part.ANCHOR, DamageKind.REMOVED, None, detail))
        self._last[anchor.node] = mac
