"""Reads one stream in order and verifies each event's link."""

from dataclasses import dataclass, replace
from datetime import datetime

from mnemolog.adapters.verify.damage import Damage, DamageKind, Part, Report
from mnemolog.events.chain import START, link
from mnemolog.events.envelope import StoredEvent, StreamId

KEPT = 200
NEARBY = 20


@dataclass(frozen=True, slots=True)
class Unfit:
    """An event that does not match its link. `confirmed`: the next event shows that the link itself is genuine."""

    event: StoredEvent
    previous: bytes
    confirmed: bool = False


class StreamWalk:
    """`take` every event of a stream in order; `unfit` then has those to be explained by another place."""

    def __init__(self, stream: StreamId, chain_key: bytes, report: Report) -> None:
        self.stream, self._key, self._report = stream, chain_key, report
        self.seq, self.link = 0, START
        self.recorded_at: datetime | None = None
        self.unfit: list[Unfit] = []

    def take(self, event: StoredEvent) -> None:
        header = event.header
        gap = header.seq != self.seq + 1
        if gap:
            first, last = self.seq + 1, header.seq - 1
            where = f"event {first} is" if first == last else f"events {first} to {last} are"
            self._report.add(Damage(Part.EVENT, DamageKind.REMOVED, self.stream, f"{where} not there", first))
        # After a gap there is nothing to verify the event against; copies on JetStream may help.
        elif link(self._key, self.link, header, event.data) == event.link:
            if self.unfit and self.unfit[-1].event.header.seq == header.seq - 1:
                self.unfit[-1] = replace(self.unfit[-1], confirmed=True)
        else:
            self.unfit.append(Unfit(event, self.link))
            self._report.suspect(self.stream)
        self.seq, self.link, self.recorded_at = header.seq, event.link, header.recorded_at


def elsewhere(unfit: Unfit, others: list[Unfit], chain_key: bytes) -> int:
    """The seq in its own stream at which an event would match its link; 0 if none was found.

    A moved event either has its own link or took that of its new place, and its predecessor may have been moved as
    well. So nearby positions and those of other unfit events are tried, with every available link.
    """
    own = unfit.event
    places = {one.event.header.seq for one in others[:KEPT]}
    places |= {own.header.seq + step for step in range(-NEARBY, NEARBY + 1)}
    links = {one.event.link for one in others[:NEARBY]} | {one.previous for one in others[:KEPT]} | {START}
    targets = {own.link} | {one.event.link for one in others[:KEPT]}
    for seq in sorted(places - {own.header.seq}):
        header = replace(own.header, seq=seq)
        if seq > 0 and any(link(chain_key, previous, header, own.data) in targets for previous in links):
            return seq
    return 0
