"""Where a thread is divided into sessions and episodes (D §Session, E §Episode Lifecycle, D13)."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from math import sqrt
from operator import add, mul, sub
from typing import Any

from mnemolog.domain.episode import Boundary, Place
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.text import search_terms
from mnemolog.domain.topic_markers import Marker, MarkerKind, TopicMarkers

Vector = Sequence[float]

TOPIC_TURNS = 16
"""The number of turns whose mean vector is what an episode is about now."""
SETTLED = 2
"""The user turns after which an episode has a topic. No other topic and no aside ends it earlier: no flapping."""
PERSISTING = 2
"""The user turns in a row that must be about something else (E §Anti-flap)."""
CARRIED_TURNS = 6
"""The turns that a return just after a boundary carries over (D13)."""
AFTER_SILENCE = 0.3
"""A return from a silence that ends a session is to another topic about as often as not. So what is said then continues
the topic only if it is nearer to it, by this part of the way from the least similarity to 1."""
TELLING_TERMS = 3
"""A text with fewer search terms, such as "okay, thanks", says nothing about its topic."""
_READ = 2000


@dataclass(frozen=True)
class SegmentationPolicy:
    """`topic_similarity` None: that of the embedding model's calibration.

    A return at most `carry_over_minutes` after a boundary by silence carries its context over.
    """

    session_minutes: float = 30.0
    gap_hours: float = 8.0
    carry_over_minutes: float = 120.0
    topic_similarity: float | None = None
    markers: TopicMarkers = field(default_factory=TopicMarkers)

    def __post_init__(self) -> None:
        for name, least in (("session_minutes", 1), ("gap_hours", 1), ("carry_over_minutes", 0)):
            if getattr(self, name) < least:
                raise InvalidInput(
                    f"{getattr(self, name)} is too short", field=f"conversation.{name}", fix=f"give {least} or more"
                )
        if self.topic_similarity is not None and not -1 <= self.topic_similarity <= 1:
            raise InvalidInput(
                f"{self.topic_similarity} is not a similarity",
                field="conversation.topic_similarity",
                fix="give a cosine similarity between -1 and 1",
            )

    @property
    def session_silence(self) -> timedelta:
        return timedelta(minutes=self.session_minutes)

    @property
    def episode_silence(self) -> timedelta:
        return timedelta(hours=self.gap_hours)

    def as_dict(self) -> dict[str, Any]:
        """The policy in the format of its file."""
        topic = {} if self.topic_similarity is None else {"topic_similarity": self.topic_similarity}
        markers = {language: asdict(one) for language, one in sorted(self.markers.phrases.items())}
        names = ("session_minutes", "gap_hours", "carry_over_minutes")
        return {**{name: getattr(self, name) for name in names}, **topic, "markers": markers}

    def carries(self, silence: timedelta, limit: timedelta) -> bool:
        """Whether what was said before a boundary is still context after this silence."""
        return silence <= limit + timedelta(minutes=self.carry_over_minutes)


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn of a thread, with its marker and vector instead of its text. Without a vector it has no topic."""

    place: Place
    by_user: bool
    marker: Marker | None = None
    vector: Vector | None = None
    recorded_at: datetime | None = None

    def known_at(self, moment: datetime) -> bool:
        """Whether it had been recorded by then."""
        return (self.recorded_at or self.place.at) <= moment


@dataclass(frozen=True, slots=True)
class Stretch:
    """A session or an episode: its turns, why it starts, and why it ended, if it has.

    `similarities` are those of the user turns that showed another topic. `silence` is the time since the previous turn;
    `carried` are the last turns before it that are still context, and `last_turn_ids` its own last turns.
    """

    first: Place
    last: Place
    starts_by: Boundary
    ends_by: Boundary | None = None
    similarities: tuple[float, ...] = ()
    marker: Marker | None = None
    silence: timedelta | None = None
    carried: tuple[str, ...] = ()
    last_turn_ids: tuple[str, ...] = ()
    last_user_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """The turns before a stretch: the last one, and the ids of the last few."""

    last: Place
    turn_ids: tuple[str, ...]


def has_topic(text: str) -> bool:
    """Whether a text says enough to be about something."""
    return len(search_terms(text[:_READ])) >= TELLING_TERMS


def sessions(
    turns: Sequence[SpokenTurn], policy: SegmentationPolicy, now: datetime, before: Before | None = None
) -> Iterator[Stretch]:
    """The sessions of these turns, of which the first starts with the first; the last is open unless it is over now."""
    limit, found, since = policy.session_silence, _Run(), before
    for at, turn in enumerate(turns):
        if found.turns and (turn.place.at - found.latest > limit or found.follows(turns[at : at + 2], policy)):
            yield _session(found, since, policy, ended=True)
            since, found = found.as_before(), _Run()
        found.add(turn)
    if found.turns:
        yield _session(found, since, policy, ended=now - found.latest > limit)


def _session(run: "_Run", before: Before | None, policy: SegmentationPolicy, *, ended: bool) -> Stretch:
    silence = _since(before, run.turns[0].place)
    return Stretch(
        run.start(),
        run.end(),
        starts_by=Boundary.TIME_GAP if before else Boundary.FIRST,
        ends_by=Boundary.TIME_GAP if ended else None,
        silence=silence,
        carried=_carried(before, silence, policy, policy.session_silence),
        last_turn_ids=run.as_before().turn_ids,
    )


def episodes(
    turns: Sequence[SpokenTurn],
    policy: SegmentationPolicy,
    similarity: float,
    now: datetime,
    before: Before | None = None,
    reopened_at: datetime | None = None,
) -> Iterator[Stretch]:
    """The episodes of these turns, of which the first starts with the first; the last is open unless it is over now.

    `similarity` is the least that a user turn of the same topic has to it. `reopened_at` is of the first episode: what
    was known then belongs to it, since somebody undid a boundary.
    """
    chapter = _Chapter(before, Boundary.TIME_GAP if before else Boundary.FIRST, reopened_at=reopened_at)
    for at, turn in enumerate(turns):
        if reopened_at and turn.known_at(reopened_at):
            chapter.take(turn)
        elif found := chapter.ended_by(turn, turns[at : at + 2], policy, similarity):
            yield chapter.stretch(policy, found.starts_by)
            chapter = _Chapter(chapter.run.as_before(), found.starts_by, found.similarities, found.marker)
            for later in found.moved:
                chapter.take(later)
        else:
            chapter.consider(turn, policy, similarity)
    if chapter.run.turns:
        yield chapter.stretch(policy, Boundary.TIME_GAP if chapter.silent(now, policy) else None)


@dataclass(frozen=True, slots=True)
class _Cut:
    """A boundary before the turns that `moved` into the next episode."""

    starts_by: Boundary
    moved: Sequence[SpokenTurn]
    similarities: tuple[float, ...] = ()
    marker: Marker | None = None


class _Chapter:
    """An episode while its turns are read. `pending` are turns since one that seems to be about something else."""

    def __init__(
        self,
        before: Before | None,
        starts_by: Boundary,
        similarities: tuple[float, ...] = (),
        marker: Marker | None = None,
        reopened_at: datetime | None = None,
    ) -> None:
        self.before, self.starts_by, self.similarities, self.marker = before, starts_by, similarities, marker
        self.run = _Run()
        self.pending: list[SpokenTurn] = []
        self._doubts: list[float] = []
        self._reopened_at = reopened_at
        self._user_turns = 0
        self._returned = False  # Whether what is pending began after a silence.
        self._heard_at: datetime | None = None
        self._last_user_at: datetime | None = None
        self._topic = _Topic()

    def ended_by(
        self, turn: SpokenTurn, following: Sequence[SpokenTurn], policy: SegmentationPolicy, least: float
    ) -> _Cut | None:
        """The boundary before a turn. `following` are this turn and the next, if there is one."""
        if not self.run.turns:
            return None
        found = self._made_by(turn, policy, least)
        if found is None and self.run.follows(following, policy):
            self._settle()
            return _Cut(Boundary.TIME_GAP, [turn])
        return found

    def _made_by(self, turn: SpokenTurn, policy: SegmentationPolicy, least: float) -> _Cut | None:
        """The boundary that a turn makes: a time gap, a `change`, an aside to another topic, or a second turn of it."""
        if self._silence(turn.place.at) > policy.episode_silence:
            self._settle()
            return _Cut(Boundary.TIME_GAP, [turn])
        if not turn.by_user:
            return None
        if turn.marker and turn.marker.kind is MarkerKind.CHANGE:
            self._settle()
            return _Cut(Boundary.MARKER, [turn], marker=turn.marker)
        if self._user_turns < SETTLED:
            return None
        found, least = self._topic.similarity(turn), self._least(turn, policy, least)
        if turn.marker and (found is None or found < least):
            self._settle()
            return _Cut(Boundary.MARKER, [turn], () if found is None else (found,), turn.marker)
        if found is not None and found < least and len(self._doubts) + 1 >= PERSISTING:
            return _Cut(Boundary.TOPIC_SHIFT, [*self.pending, turn], (*self._doubts, found))
        return None

    def consider(self, turn: SpokenTurn, policy: SegmentationPolicy, least: float) -> None:
        """A turn that ends nothing: it continues the topic, or waits for the next user turn to decide."""
        found = self._topic.similarity(turn) if turn.by_user and self._user_turns >= SETTLED else None
        if found is not None and found < self._least(turn, policy, least):
            self._returned = self._is_return(turn, policy)
            self.pending.append(turn)
            self._doubts.append(found)
        elif self.pending and found is None:
            self.pending.append(turn)
        else:
            self._settle()
            self.take(turn)
        if turn.by_user:
            self._heard_at = max(self._heard_at or turn.place.at, turn.place.at)

    def take(self, turn: SpokenTurn) -> None:
        self.run.add(turn)
        self._topic.hear(turn)
        if turn.by_user:
            self._user_turns += 1
            self._last_user_at = max(self._last_user_at or turn.place.at, turn.place.at)
            self._heard_at = max(self._heard_at or turn.place.at, turn.place.at)

    def silent(self, now: datetime, policy: SegmentationPolicy) -> bool:
        """Whether the user has been silent for longer than an episode lasts."""
        return self._silence(now) > policy.episode_silence

    def stretch(self, policy: SegmentationPolicy, ends_by: Boundary | None) -> Stretch:
        if ends_by is not Boundary.TOPIC_SHIFT:
            self._settle()
        silence = _since(self.before, self.run.turns[0].place)
        return Stretch(
            self.run.start(),
            self.run.end(),
            self.starts_by,
            ends_by,
            self.similarities,
            self.marker,
            silence,
            _carried(self.before, silence, policy, policy.episode_silence),
            self.run.as_before().turn_ids,
            self._last_user_at,
        )

    def _least(self, turn: SpokenTurn, policy: SegmentationPolicy, least: float) -> float:
        """The least similarity of a turn that continues the topic."""
        return least + (1 - least) * AFTER_SILENCE if self._is_return(turn, policy) else least

    def _is_return(self, turn: SpokenTurn, policy: SegmentationPolicy) -> bool:
        """Whether a turn comes after a silence, or after one that did and is pending."""
        return self._returned or self._silence(turn.place.at) > policy.session_silence

    def _silence(self, at: datetime) -> timedelta:
        """The time since the user spoke; in an episode without a user turn, since anyone did."""
        heard = self._heard_at or self.run.latest
        return at - max(heard, self._reopened_at or heard)

    def _settle(self) -> None:
        """What was pending is part of this episode after all."""
        for turn in self.pending:
            self.take(turn)
        self.pending, self._doubts, self._returned = [], [], False


class _Run:
    """Turns in the order in which they arrived. They may arrive late, so the last one need not be the latest."""

    def __init__(self) -> None:
        self.turns: list[SpokenTurn] = []
        self._earliest: datetime | None = None
        self._latest: datetime | None = None

    @property
    def earliest(self) -> datetime:
        return self._earliest or self.turns[0].place.at

    @property
    def latest(self) -> datetime:
        return self._latest or self.turns[0].place.at

    def add(self, turn: SpokenTurn) -> None:
        self.turns.append(turn)
        self._earliest = min(self._earliest or turn.place.at, turn.place.at)
        self._latest = max(self._latest or turn.place.at, turn.place.at)

    def follows(self, turns: Sequence[SpokenTurn], policy: SegmentationPolicy) -> bool:
        """Whether two turns were said long before these: an older conversation that was imported into the thread.

        One may only be late.
        """
        return len(turns) > 1 and all(self.earliest - one.place.at > policy.episode_silence for one in turns)

    def start(self) -> Place:
        """The first turn, at the time of the earliest."""
        first = self.turns[0].place
        return Place(first.turn_id, first.number, self.earliest)

    def end(self) -> Place:
        """The last turn, at the time of the latest."""
        last = self.turns[-1].place
        return Place(last.turn_id, last.number, self.latest)

    def as_before(self) -> Before:
        return Before(self.end(), tuple(turn.place.turn_id for turn in self.turns[-CARRIED_TURNS:]))


class _Topic:
    """The recent topic: the mean of the last vectors, as a running sum."""

    def __init__(self) -> None:
        self._lately: deque[Vector] = deque()
        self._sum: list[float] = []

    def hear(self, turn: SpokenTurn) -> None:
        if turn.vector is None:
            return
        self._lately.append(turn.vector)
        self._sum = list(map(add, self._sum, turn.vector)) if self._sum else list(turn.vector)
        if len(self._lately) > TOPIC_TURNS:
            self._sum = list(map(sub, self._sum, self._lately.popleft()))

    def similarity(self, turn: SpokenTurn) -> float | None:
        """The cosine similarity of a turn to it; None if either has no vector."""
        if turn.vector is None or not self._lately:
            return None
        length = sqrt(_dot(self._sum, self._sum) * _dot(turn.vector, turn.vector))
        return round(_dot(self._sum, turn.vector) / length, 4) if length else None


def _dot(one: Vector, other: Vector) -> float:
    return sum(map(mul, one, other), 0.0)


def _since(before: Before | None, first: Place) -> timedelta | None:
    return abs(first.at - before.last.at) if before else None


def _carried(
    before: Before | None, silence: timedelta | None, policy: SegmentationPolicy, limit: timedelta
) -> tuple[str, ...]:
    if before is None or silence is None or not policy.carries(silence, limit):
        return ()
    return before.turn_ids
