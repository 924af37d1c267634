"""Compares two policies over a recorded stream: their decisions, and what readers would see (X06). Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from operator import mul

from mnemolog.commands.backtest import daily_limit, reading
from mnemolog.commands.backtest.decisions import Difference, Judgement
from mnemolog.commands.backtest.memories import is_statement
from mnemolog.commands.backtest.replay import replayed, since_erasure
from mnemolog.commands.backtest.shadow import Shadow, Terms, Unfollowed
from mnemolog.commands.backtest.threads import Stretch, divided, threads_of
from mnemolog.commands.backtest.view import Change, changes, compared, stretches
from mnemolog.domain.segmentation import SegmentationPolicy, Vector, has_topic
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.episodes import EpisodesReverted


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences` are decisions, each with what was known before it in the log. `shadow` is what readers would see
    otherwise, had the stream been recorded under the other policy; it leaves out the consequences in `unfollowed`.

    `looked_at` counts the decisions by kind, `unread` those that cannot be made again: their text was erased, or their
    similarity is that of another model or is not kept. `untested` are parts in which the policies differ, and that
    nobody can decide without a model.
    """

    differences: Sequence[Difference]
    shadow: Sequence[Change]
    unfollowed: Sequence[Unfollowed]
    looked_at: dict[str, int]
    unread: dict[str, int]
    untested: Sequence[str]


@dataclass(frozen=True, slots=True)
class RecordedStream:
    """A stream up to a time, and the kept vectors of its texts. What is not extracted for `read_for` never is."""

    events: Sequence[Recorded]
    at: datetime
    vectors: Mapping[str, Vector]
    read_for: timedelta

    def similarity(self, one: str, other: str) -> float | None:
        first, second = self.vectors.get(one), self.vectors.get(other)
        return None if first is None or second is None else float(sum(map(mul, first, second)))


def compare(stream: RecordedStream, terms: Terms) -> Comparison:
    """Takes as long as folding the stream a few times."""
    judgement = Judgement(terms.now, terms.then, terms.bands, terms.model)
    differences = list(judgement.differences(stream.events))
    late, left_out = _late(stream, terms)
    shadow = replayed(stream.events, terms, stream.at, stream.similarity, left_out)
    divisions = _Divisions.of(stream, terms)
    if terms.bands_of(terms.then).fallback_low < terms.bands_of(terms.now).fallback_low:
        payloads = (event.payload for event in stream.events if not event.erased)
        judgement.unread["similarity"] += sum(
            is_statement(one) and getattr(one, "match", None) is None for one in payloads
        )
    judgement.unread["topic"] += divisions.without_vector
    return Comparison(
        differences=[*differences, *late, *divisions.differences(), *_read(shadow, stream.events)],
        shadow=[*changes(shadow, stream.at), *divisions.changes()],
        unfollowed=[*shadow.unfollowed, *divisions.undone],
        looked_at=dict(judgement.looked_at),
        unread={kind: count for kind, count in judgement.unread.items() if count},
        untested=["minds"] if terms.now.minds != terms.then.minds else [],
    )


def _late(stream: RecordedStream, terms: Terms) -> tuple[Sequence[Difference], frozenset[int]]:
    """What would be extracted on another day, and the events that would not be recorded by now."""
    limits = [policy.extraction.writes_per_day for policy in (terms.now, terms.then)]
    if limits[0] == limits[1]:
        return [], frozenset()
    each = daily_limit.extracted(stream.events)
    days = [daily_limit.days_of(each, limit, stream.read_for) for limit in limits]
    today = stream.at.date()
    late = [
        Difference("extraction limit", one.seqs[0], one.turn_id, "", *(_day(day, today) for day in both))
        for one, *both in zip(each, *days, strict=True)
        if both[0] != both[1]
    ]
    left_out = (one.seqs for one, day in zip(each, days[1], strict=True) if day is None or day > today)
    waiting = (one.seqs for one, day in zip(each, days[0], strict=True) if day is None or day > today)
    return late, frozenset(seq for seqs in left_out for seq in seqs) - {seq for seqs in waiting for seq in seqs}


def _day(day: date | None, today: date) -> str:
    if day is None:
        return "never read"
    return f"recorded on {day}" if day <= today else "waits for another day"


def _read(shadow: Shadow, events: Sequence[Recorded]) -> Iterator[Difference]:
    now, then = shadow.terms.now.categories, shadow.terms.then.categories
    memories = list(shadow.memories.recorded.values())
    agents = {event.meta.agent_id for event in events} | now.allowlists.keys() | then.allowlists.keys()
    yield from reading.allowed(memories, agents, now, then)
    yield from reading.in_context(memories, now, then)


@dataclass(frozen=True, slots=True)
class _Divisions:
    """The sessions and episodes under both policies, and the undos of them, which are not followed.

    Both are divided again, because silence ends what no job has looked at yet.
    """

    now: Sequence[Stretch] = ()
    then: Sequence[Stretch] = ()
    turns: Mapping[str, Recorded] = field(default_factory=dict)
    undone: Sequence[Unfollowed] = ()
    without_vector: int = 0

    @classmethod
    def of(cls, stream: RecordedStream, terms: Terms) -> "_Divisions":
        if not terms.divide_otherwise:
            return cls()
        events = since_erasure(stream.events)
        threads = threads_of(events)

        def found(policy: SegmentationPolicy) -> Sequence[Stretch]:
            return divided(threads, policy, terms.topic_similarity, stream.vectors, stream.at)

        texts = (getattr(one.payload, "text", "") for thread in threads.values() for one in thread.turns)
        return cls(
            found(terms.now.segmentation),
            found(terms.then.segmentation),
            {one.payload.turn_id: one for one in events if isinstance(one.payload, TurnRecorded)},
            [
                Unfollowed(one.seq, str(one.payload.undoes), "an episode was undone: the shadow divides without that")
                for one in events
                if isinstance(one.payload, EpisodesReverted)
            ],
            sum(has_topic(text) and text not in stream.vectors for text in texts),
        )

    def differences(self) -> Iterator[Difference]:
        """Where a session or an episode would begin otherwise."""
        texts = self._texts()
        now, then = [
            {(one.kind, one.agent_id, one.first_turn_id): f"begins {one.starts_by}".strip() for one in found}
            for found in (self.now, self.then)
        ]
        for key in sorted(now.keys() | then.keys(), key=lambda key: (self.turns[key[2]].seq, key)):
            if now.get(key) != then.get(key):
                kind, _, turn_id = key
                ways = (one.get(key, "continues") for one in (now, then))
                yield Difference(kind, self.turns[turn_id].seq, turn_id, texts[turn_id], *ways)

    def changes(self) -> Sequence[Change]:
        texts = self._texts()
        return compared(stretches(self.now, texts), stretches(self.then, texts))

    def _texts(self) -> Mapping[str, str]:
        return {id_: getattr(one.payload, "text", "") for id_, one in self.turns.items()}
