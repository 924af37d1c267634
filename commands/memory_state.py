"""What a decision on memories reads: the memories, the links between them, and every change of both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from mnemolog.commands.graph import Graph, applied
from mnemolog.commands.memory_requests import MemoryCommand
from mnemolog.commands.steps import Steps
from mnemolog.domain import memory
from mnemolog.domain.memory import Memory, Status
from mnemolog.domain.scope import Scope, readable
from mnemolog.domain.text import same_text
from mnemolog.events import memory as events
from mnemolog.events import memory_fold
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event, memory_tag, sources_of
from mnemolog.events.graph import EntityEvent

Edge = tuple[str, float]
"""The type of a link and its strength."""


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories of a decision and the links between them, as they are, as they began, and every change of them.

    `sources` are the turns that each memory was drawn from or was observed in; `people`, whom keys may be about;
    `said`, the memories that ever read so, by `same_text`.
    """

    known: Mapping[UUID, Memory] = field(default_factory=dict)
    created: Mapping[UUID, events.MemoryCreated] = field(default_factory=dict)
    links: Mapping[tuple[UUID, UUID], Edge] = field(default_factory=dict)
    sources: Mapping[UUID, frozenset[str]] = field(default_factory=dict)
    changes: Steps[Memory | Edge] = field(default_factory=Steps)
    people: Graph = field(default_factory=Graph)
    said: Mapping[str, frozenset[UUID]] = field(default_factory=dict)

    def get(self, memory_id: UUID, command: MemoryCommand, path: str = "memory_id") -> Memory:
        """A memory that the asking agent may see; for any other the answer is that there is none (A01)."""
        found = self.known.get(memory_id)
        if found is None or not readable(found.scope, found.agent_id, command.agent_id):
            raise memory.no_such_memory(command.user_id, memory_id, path)
        if found.status is Status.PURGED:
            raise memory.erased_memory(memory_id, path)
        return found

    def holder(self, key: str, scope: Scope, agent_id: str | None) -> Memory | None:
        """The visible memory that has the key."""
        return next((one for one in self.of_key(key, scope, agent_id) if one.visible), None)

    def of_key(self, key: str, scope: Scope, agent_id: str | None) -> list[Memory]:
        """All that have, or had, the key."""
        if not key:
            return []
        place = (key, scope, agent_id)
        return [one for one in self.known.values() if (one.identity.key, one.scope, one.agent_id) == place]


def evolve(state: Memories, event: Happened) -> Memories:
    payload = event.payload
    match payload:
        case events.MemoriesLinked() | events.LinkReverted():
            return _linked(state, event, payload)
        case EntityEvent():
            return replace(state, people=applied(state.people, payload))
        case UserErased():
            state = replace(state, people=Graph())
        case events.MemoryCreated():
            state = replace(state, created={**state.created, payload.memory_id: payload})
    changed = memory_fold.evolve(state.known, payload)
    befores = {memory_tag(id_): state.known.get(id_) for id_ in memory_fold.touched(payload)}
    undoes = payload.undoes if isinstance(payload, events.MemoryReverted) else None
    used = isinstance(payload, events.MemoryObserved) and payload.cause is events.Observation.USE
    changes = state.changes.and_then(event, befores, undoes, mere=used)
    return replace(_drawn(_said(state, payload), payload), known={**state.known, **changed}, changes=changes)


def _said(state: Memories, payload: Event) -> Memories:
    if not isinstance(payload, events.ContentEvent) or not payload.text:
        return state
    form = same_text(payload.text)
    return replace(state, said={**state.said, form: state.said.get(form, frozenset()) | {payload.memory_id}})


def _drawn(state: Memories, payload: Event) -> Memories:
    turns = sources_of(payload)
    if not turns or not isinstance(payload, events.MemoryEvent):
        return state
    before = state.sources.get(payload.memory_id, frozenset())
    return replace(state, sources={**state.sources, payload.memory_id: before.union(turns)})


def _linked(state: Memories, event: Happened, link: events.MemoriesLinked | events.LinkReverted) -> Memories:
    ends = (link.memory_id, link.to_id)
    links = {place: edge for place, edge in state.links.items() if place != ends}
    if link.relation_type is not None and link.strength is not None:
        links[ends] = (link.relation_type, link.strength)
    undoes = link.undoes if isinstance(link, events.LinkReverted) else None
    changes = state.changes.and_then(event, {link_tag(*ends): state.links.get(ends)}, undoes)
    return replace(state, links=links, changes=changes)


def ends(subjects: Iterable[str]) -> list[UUID]:
    """The memories that some subjects are of: the memory itself, or both ends of a link."""
    return [UUID(part) for subject in subjects for part in subject.split(":")[1:]]


def link_tag(from_id: UUID, to_id: UUID) -> str:
    return f"link:{from_id}:{to_id}"


def is_link(subject: str) -> bool:
    return subject.startswith("link:")
