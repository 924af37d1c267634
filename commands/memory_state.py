"""The state for decisions on memories: memories, links, and all their changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from mnemolog.commands.change_history import ChangeHistory
from mnemolog.commands.graph import Graph, applied
from mnemolog.commands.memory_requests import MemoryCommand
from mnemolog.domain import memory
from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.link import Ends, Link
from mnemolog.domain.memory import Memory, Status
from mnemolog.domain.scope import Scope, readable
from mnemolog.domain.text import same_text
from mnemolog.domain.updated import updated, without
from mnemolog.events import memory as events
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event, sources_of
from mnemolog.events.graph import EntityEvent
from mnemolog.events.memory_fold import LINK, MEMORY

KeyPlace = tuple[str, Scope, str | None]


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories of a decision and their links: current state, initial state, and every change.

    `sources` are the turns that each memory was extracted from or confirmed in; `people`, the entities that keys may
    refer to; `said`, memories by every text they ever had (`same_text`); `keyed`, memories by the key they began with.
    """

    known: Mapping[UUID, Memory] = field(default_factory=dict)
    created: Mapping[UUID, events.MemoryCreated] = field(default_factory=dict)
    links: Mapping[Ends, Link | None] = field(default_factory=dict)
    sources: Mapping[UUID, frozenset[str]] = field(default_factory=dict)
    changes: ChangeHistory[Memory | Link] = field(default_factory=ChangeHistory)
    people: Graph = field(default_factory=Graph)
    said: Mapping[str, frozenset[UUID]] = field(default_factory=dict)
    keyed: Mapping[KeyPlace, tuple[UUID, ...]] = field(default_factory=dict)

    def get(self, memory_id: UUID, command: MemoryCommand, path: str = "memory_id") -> Memory:
        """A memory that the agent may see; NotFound for any other (A01)."""
        found = self.known.get(memory_id)
        if found is None or not readable(found.scope, found.agent_id, command.agent_id):
            raise memory.no_such_memory(command.user_id, memory_id, path)
        if found.status is Status.PURGED:
            raise memory.erased_memory(memory_id, path)
        return found

    def holder(self, key: str, scope: Scope, agent_id: str | None) -> Memory | None:
        """The visible memory with the key."""
        return next((one for one in self.of_key(key, scope, agent_id) if one.visible), None)

    def of_key(self, key: str, scope: Scope, agent_id: str | None) -> list[Memory]:
        """All memories that have the key, visible or not."""
        found = [self.known[id_] for id_ in self.keyed.get((key, scope, agent_id), ())]
        return [one for one in found if one.identity.key == key]

    def contradicted(self, memory_id: UUID) -> Sequence[UUID]:
        linked = [ends for ends, link in self.links.items() if link and link.relation_type == CONTRADICTS]
        return [other for ends in linked for one, other in (ends, ends[::-1]) if one == memory_id]


def evolve(state: Memories, event: Happened) -> Memories:
    payload = event.payload
    match payload:
        case EntityEvent():
            return replace(state, people=applied(state.people, payload))
        case UserErased():
            state = replace(state, people=Graph())
        case events.MemoryCreated():
            state = _begun(state, payload)
    befores: dict[str, Memory | Link | None] = {**MEMORY.befores(state.known, payload)}
    befores |= LINK.befores(state.links, payload)
    used = isinstance(payload, events.MemoryObserved) and payload.cause is events.Observation.USE
    undoes = getattr(payload, "undoes", None)
    changes = state.changes.with_change(event, befores, undoes, observation=used) if befores else state.changes
    known, links = updated(state.known, MEMORY.evolve(state.known, payload)), state.links
    if changed := LINK.evolve(links, payload):
        links = updated(links, {ends: link for ends, link in changed.items() if link})
        links = without(links, [ends for ends, link in changed.items() if not link])
    return replace(_with_sources(_said(state, payload), payload), known=known, links=links, changes=changes)


def _begun(state: Memories, event: events.MemoryCreated) -> Memories:
    created = updated(state.created, {event.memory_id: event})
    if not event.identity.key:
        return replace(state, created=created)
    place = (event.identity.key, event.scope, event.agent_id)
    return replace(
        state, created=created, keyed=updated(state.keyed, {place: (*state.keyed.get(place, ()), event.memory_id)})
    )


def _said(state: Memories, payload: Event) -> Memories:
    if not isinstance(payload, events.ContentEvent) or not payload.text:
        return state
    form = same_text(payload.text)
    return replace(state, said=updated(state.said, {form: state.said.get(form, frozenset()) | {payload.memory_id}}))


def _with_sources(state: Memories, payload: Event) -> Memories:
    turns = sources_of(payload)
    if not turns or not isinstance(payload, events.MemoryEvent):
        return state
    before = state.sources.get(payload.memory_id, frozenset())
    return replace(state, sources=updated(state.sources, {payload.memory_id: before.union(turns)}))


def ends(subjects: Iterable[str]) -> list[UUID]:
    """The memories of some subjects: the memory itself, or both ends of a link."""
    return [id_ for tag in subjects for id_ in (LINK.id_of(tag) if LINK.has(tag) else [MEMORY.id_of(tag)])]
