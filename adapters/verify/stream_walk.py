"""Reads one stream in order and verifies each event's link."""

from dataclasses import dataclass, replace
from datetime import datetime

from mnemolog.adapters.verify.damage import Damage, Kind, Part, Report
from mnemolog.events.chain import START, link
from mnemolog.events.envelope import StoredEvent, StreamId

KEPT = 200
NEARBY = 20


@dataclass(frozen=True, slots=True)
class Unfit:
    """An event that does not fit its link. `confirmed`: the next event shows that the link itself is genuine."""

    event: StoredEvent
    previous: bytes
    confirmed: bool = False


class StreamWalk:
    """`take` every event of a stream in order; then `unfit` holds those that another place must explain."""

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
            self._report.add(Damage(Part.EVENT, Kind.REMOVED, self.stream, f"{where} not there", first))
        # After a gap nothing is left to hold the event against; the copies on JetStream may.
        elif link(self._key, self.link, header, event.data) == event.link:
            if self.unfit and self.unfit[-1].event.header.seq == header.seq - 1:
                self.unfit[-1] = replace(self.unfit[-1], confirmed=True)
        else:
            self.unfit.append(Unfit(event, self.link))
            self._report.suspect(self.stream)
        self.seq, self.link, self.recorded_at = header.seq, event.link, header.recorded_at


def elsewhere(unfit: Unfit, others: list[Unfit], chain_key: bytes) -> int:
    """The seq in its own stream at which an event would fit its link; 0 when none was found.

    An event that was moved carries its link, or left it and took that of the place; what it was chained to may have
    been moved as well. So the nearby places and those of other unfit events are tried, with every link that is at hand.
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
