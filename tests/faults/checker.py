"""Compares what writers were told with what the log holds: lost, doubled, out of order. Reads only; knows no engine."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from mnemolog.domain.memory import Memory
from mnemolog.events import memory as events
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Receipt, Recorded, StreamId
from mnemolog.events.memory_fold import MEMORY

MARK = "#"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A write that returned. `mark`, such as #7, is the last of the words that it wrote; "" when it wrote none.

    `began` is when it was first sent and `ended` when its receipt came, on one clock.
    """

    mark: str
    receipt: Receipt
    began: float
    ended: float


@dataclass(slots=True)
class Verdict:
    """Sentences, one a fault; empty lists when all is well."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    disordered: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (self.lost or self.doubled or self.disordered)


def judge(log: Mapping[StreamId, Sequence[Recorded]], acknowledged: Iterable[Acknowledged]) -> Verdict:
    """What is wrong with these streams, given everything that was acknowledged in them."""
    verdict = Verdict()
    by_stream: dict[StreamId, list[Acknowledged]] = {stream: [] for stream in log}
    for one in acknowledged:
        by_stream.setdefault(one.receipt.stream, []).append(one)
    for stream, told in by_stream.items():
        recorded = log.get(stream, ())
        verdict.lost += _lost(recorded, told)
        verdict.lost += _overwritten(recorded)
        verdict.doubled += _doubled(recorded)
        verdict.disordered += _gaps(stream, recorded)
        verdict.disordered += _disordered(told)
    return verdict


def _lost(recorded: Sequence[Recorded], told: Sequence[Acknowledged]) -> Iterator[str]:
    """Each acknowledged event stands at the seq that its receipt named."""
    ids = {event.seq: event.event_id for event in recorded}
    for one in told:
        receipt = one.receipt
        seqs = range(receipt.first_seq, receipt.last_seq + 1)
        found = [ids.get(seq) for seq in seqs]
        if found != list(receipt.event_ids):
            yield f"{receipt.stream} @{receipt.first_seq} {one.mark}: the log holds {[str(id_) for id_ in found]} there"


def _overwritten(recorded: Sequence[Recorded]) -> Iterator[str]:
    """No update is lost: an event leaves what it did not change as the event before it did."""
    known: dict[UUID, Memory] = {}
    for event in recorded:
        payload = event.payload
        before = known.get(payload.memory_id) if isinstance(payload, events.MemoryUpdated) else None
        if before and isinstance(payload, events.MemoryUpdated):
            if not before.visible:
                yield f"{event.stream} @{event.seq}: an update of a memory that is {before.status}"
            weighed = {"importance"} if payload.pinned else set()  # By its pin (D03).
            for name in {"text", "category", "importance", "confidence", "pinned"} - set(payload.changed) - weighed:
                if getattr(payload.content, name) != getattr(before.content, name):
                    yield f"{event.stream} @{event.seq}: {name} of an update that came before it is lost"
        if isinstance(payload, events.MemoriesMerged):
            yield from _merged_twice(event, payload, known)
        known |= MEMORY.evolve(known, payload)


def _merged_twice(event: Recorded, merge: events.MemoriesMerged, known: Mapping[UUID, Memory]) -> Iterator[str]:
    hidden = [id_ for id_ in (merge.memory_id, *merge.absorbed_ids) if id_ in known and not known[id_].visible]
    if hidden:
        yield f"{event.stream} @{event.seq}: a merge of {hidden}, hidden by a change that it did not see"


def _doubled(recorded: Sequence[Recorded]) -> Iterator[str]:
    counts = Counter(mark for event in recorded if (mark := mark_of(event)))
    ids = Counter(event.event_id for event in recorded)
    yield from (
        f"{recorded[0].stream}: {mark} stands there {count} times" for mark, count in counts.items() if count > 1
    )
    yield from (
        f"{recorded[0].stream}: event {id_} stands there {count} times" for id_, count in ids.items() if count > 1
    )


def mark_of(event: Recorded) -> str:
    """The mark of the write that left this event, where it put words of its own into the log."""
    payload = event.payload
    match payload:
        case TurnRecorded():
            return payload.turn_id
        case events.MemoryUpdated() if "text" not in payload.changed:
            return ""
        case events.MemoryCreated() | events.MemoryUpdated() | events.MemoriesMerged() if not _of_turn(payload):
            last = payload.text.rpartition(" ")[2]
            return last if last.startswith(MARK) else ""
        case _:
            return ""


def _of_turn(payload: events.ContentEvent) -> bool:
    return isinstance(payload, events.MemoryCreated) and bool(payload.source_turn_ids)


def _gaps(stream: StreamId, recorded: Sequence[Recorded]) -> Iterator[str]:
    seqs = [event.seq for event in recorded]
    if seqs != list(range(1, len(seqs) + 1)):
        missing = sorted(set(range(1, max(seqs, default=0) + 1)) - set(seqs))
        yield f"{stream}: seqs are not 1 to {len(seqs)} without a gap (missing: {missing[:5]})"


def _disordered(told: Sequence[Acknowledged]) -> Iterator[str]:
    """What began after another write was acknowledged stands after it."""
    writing = [one for one in told if one.mark]
    ended = sorted(writing, key=lambda one: one.ended)
    highest, at = 0, 0
    for one in sorted(writing, key=lambda one: one.began):
        while at < len(ended) and ended[at].ended < one.began:
            highest, at = max(highest, ended[at].receipt.last_seq), at + 1
        if one.receipt.first_seq <= highest:
            yield f"{one.receipt.stream}: {one.mark} stands at {one.receipt.first_seq}, before what came earlier"
