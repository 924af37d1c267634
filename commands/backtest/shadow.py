"""The shadow of a stream: its events as another policy would have had them recorded, in memory only (X06, ADR 86)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Generic, TypeVar
from uuid import UUID, uuid5

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.bands import Bands
from mnemolog.domain.entity import Entity
from mnemolog.domain.link import Ends, Link
from mnemolog.domain.memory import Memory
from mnemolog.domain.policy import Policy
from mnemolog.domain.relation import Relation
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory_fold import LINK, MEMORY
from mnemolog.events.profile_fold import FIELD, ProfileField
from mnemolog.events.subject import Subject

C = TypeVar("C", bound=Command)
S = TypeVar("S")
Id = TypeVar("Id", bound=Hashable)
T = TypeVar("T")

# So many are kept. A slot with many facts would be read again for each of them.
MOST_READS = 256
# The cosine similarity of two texts, as far as their vectors are kept.
Similarity = Callable[[str, str], float | None]


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """A consequence that cannot be followed: of the event at `seq`, whose subject is `id`, and why."""

    seq: int
    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What is compared: the policy in effect and another one.

    `bands` and `topic_similarity` apply to a policy that has none; they are those of `model`, as is `link_min`.
    """

    now: Policy
    then: Policy
    bands: Bands
    link_min: float
    topic_similarity: float
    model: str

    def bands_of(self, policy: Policy) -> Bands:
        return policy.bands or self.bands

    @property
    def divide_otherwise(self) -> bool:
        """Whether threads may be divided otherwise."""
        return self.now.segmentation != self.then.segmentation

    @property
    def write_otherwise(self) -> bool:
        """Whether memories may be written otherwise."""
        merge = self.bands_of(self.now) != self.bands_of(self.then)
        return merge or self.now.categories.categories != self.then.categories.categories


@dataclass(slots=True)
class _Read:
    """What was folded for a decision: the events at `places` before `until`, that carry one of `tags`."""

    state: Any
    tags: frozenset[str] = frozenset()
    places: set[int] = field(default_factory=set)
    until: int = 0


class ShadowLog:
    """Events that a decider finds by their tags, as in the log."""

    def __init__(self) -> None:
        self.events: list[Recorded] = []
        self.ids: set[UUID] = set()
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._reads = dict[Hashable, _Read]()

    def add(self, event: Recorded) -> None:
        for tag in event.payload.tags():
            self._places[tag].append(len(self.events))
        self.events.append(event)
        self.ids.add(event.event_id)

    def decide(self, decider: Decider[C, S], command: C, about: Hashable = None) -> Sequence[Event]:
        """What a command would have recorded. What is read `about` something is kept for the next decision on it."""
        return decider.decide(self.read(decider, command, about), command)

    def read(self, decider: Decider[C, S], command: C, about: Hashable = None) -> S:
        """The state in which a command is decided."""
        key = decider.evolve, about
        read = self._reads.pop(key, None) if about else None
        read = read or _Read(decider.initial)
        lacking, since = read.tags, read.until
        while True:
            found = {place for tag in lacking for place in self._since(tag, since)} - read.places
            if found and read.places and min(found) < max(read.places):
                read.state, found = decider.initial, found | read.places
            read.state = reduce(decider.evolve, (self.events[place] for place in sorted(found)), read.state)
            read.places |= found
            lacking, since = decider.tags(read.state, command) - read.tags, 0
            if not lacking:
                break
            read.tags |= lacking
        read.until = len(self.events)
        self._reads[key] = read
        while len(self._reads) > MOST_READS:
            self._reads.pop(next(iter(self._reads)))
        state: S = read.state
        return state

    def _since(self, tag: str, place: int) -> Sequence[int]:
        places = self._places.get(tag, ())
        return places[bisect_left(places, place) :]


@dataclass(slots=True)
class Versions(Generic[Id, T]):
    """The subjects of one kind: as recorded, and in the shadow."""

    subject: Subject[Id, T]
    recorded: dict[Id, T] = field(default_factory=dict)
    shadow: dict[Id, T] = field(default_factory=dict)

    def differs(self, id_: Id) -> bool:
        return self.recorded.get(id_) != self.shadow.get(id_)


class Shadow:
    """It takes a stream in order. Each event is recorded as it was, and replayed as it was or otherwise."""

    def __init__(self, terms: Terms, similarity: Similarity) -> None:
        self.terms, self.similarity, self.log = terms, similarity, ShadowLog()
        self.memories: Versions[UUID, Memory] = Versions(MEMORY)
        self.links: Versions[Ends, Link | None] = Versions(LINK)
        self.entities: Versions[UUID, Entity] = Versions(ENTITY)
        self.relations: Versions[UUID, Relation] = Versions(RELATION)
        self.fields: Versions[str, ProfileField] = Versions(FIELD)
        self._unfollowed: dict[Unfollowed, None] = {}

    @property
    def unfollowed(self) -> list[Unfollowed]:
        return list(self._unfollowed)

    def recorded(self, group: Sequence[Recorded]) -> None:
        """What really happened."""
        for event in group:
            for kind in self._kinds:
                kind.recorded.update(kind.subject.evolve(kind.recorded, event.payload))

    def keep(self, group: Sequence[Recorded]) -> None:
        """It would have been the same."""
        for event in group:
            self._add(event)

    def write(self, payloads: Sequence[Event], group: Sequence[Recorded]) -> None:
        """These would have been recorded instead of a group. An event of the same type keeps its id."""
        first, left = group[0], list(group)
        for place, payload in enumerate(payloads):
            same = next((one for one in left if type(one.payload) is type(payload)), None)
            if same:
                left.remove(same)
            id_ = same.event_id if same else uuid5(first.event_id, str(place))
            header = replace(
                first.header,
                event_id=id_,
                type=payload.type_name(),
                version=payload.version,
                tags=tuple(payload.tags()),
            )
            self._add(Recorded(header, payload, first.meta))

    def note(self, event: Recorded, id_: object, why: str) -> None:
        self._unfollowed[Unfollowed(event.seq, str(id_), why)] = None

    def _add(self, event: Recorded) -> None:
        self.log.add(event)
        for kind in self._kinds:
            kind.shadow.update(kind.subject.evolve(kind.shadow, event.payload))

    @property
    def _kinds(self) -> Sequence[Versions[Any, Any]]:
        return self.memories, self.links, self.entities, self.relations, self.fields


def context_of(event: Recorded) -> dict[str, Any]:
    """The context of a command that is decided again. It was admitted then, so it has the rights of the user."""
    meta, stream = event.meta, event.stream
    about = {"agent_id": meta.agent_id, "thread_id": meta.thread_id, "run_id": meta.run_id}
    return {"tenant": stream.tenant, "user_id": stream.owner, "actor": "user", **about}
