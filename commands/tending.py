"""Tend the scenes of an agent as its patrol decided on what a reader showed: a step in one append (C ❶, ❹ to ❼).

Each part is decided again on the current state. What does not hold any more is left out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import ClassVar
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict

from mnemolog.commands.being import BEING, Entries, MarkEntry, PutEntry
from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.memories import MEMORIES, CreateMemory, Memories, MergeMemories
from mnemolog.domain.cluster import cluster_of
from mnemolog.domain.consolidation import GAIN
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.memory import Memory, Status
from mnemolog.domain.patrol import Node, is_dead, is_node
from mnemolog.events.envelope import Happened, NewEvent
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.fields import Id, Instant, Uuid
from mnemolog.events.generation import Generation
from mnemolog.events.memory import MemoriesMerged, MemoryStatusChanged, SceneMoved
from mnemolog.events.patrol import Purpose, ScenesReviewed

_IDS = UUID("7b8f0c52-2f0a-5c0d-8f27-1f5f0a3f9f61")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Kept(_Part):
    """A scene note that becomes a memory. `text` is the note's text that was parsed."""

    note: MarkEntry
    text: str
    scene: CreateMemory


class Failed(_Part):
    """A scene note that does not parse: it is replaced by `note`, which is marked. `text` is the text that was read."""

    text: str
    note: PutEntry


class Move(_Part):
    """A scene that moves between clusters, given by their labels; `was` may be ""."""

    memory_id: Uuid
    was: str
    cluster: str


class Absorb(_Part):
    """A scene that absorbs others."""

    survivor_id: Uuid
    absorbed_ids: tuple[Uuid, ...]


class Revive(_Part):
    """A dead scene that lives again, with the cycles since its last activation that a reader counted."""

    memory_id: Uuid
    session_count: int


class Review(_Part):
    """What a model was asked, about which scenes."""

    purpose: Purpose
    memory_ids: tuple[Uuid, ...]
    generation: Generation


class TendScenes(Command):
    """One step of a patrol of `agent_id`."""

    generated: ClassVar[frozenset[str]] = frozenset(
        {"keep", "failed", "move", "absorb", "make_dead", "revive", "put", "reviews", "at"}
    )

    step: Id
    keep: tuple[Kept, ...] = ()
    failed: tuple[Failed, ...] = ()
    move: tuple[Move, ...] = ()
    absorb: tuple[Absorb, ...] = ()
    make_dead: tuple[Uuid, ...] = ()
    revive: tuple[Revive, ...] = ()
    put: tuple[PutEntry, ...] = ()
    reviews: tuple[Review, ...] = ()
    at: Instant

    @property
    def memory_ids(self) -> frozenset[UUID]:
        """The memories that are there and may change."""
        merged = {id_ for one in self.absorb for id_ in (one.survivor_id, *one.absorbed_ids)}
        moved = {one.memory_id for one in self.move}
        return frozenset({*merged, *moved, *self.make_dead, *(one.memory_id for one in self.revive)})


@dataclass(frozen=True, slots=True)
class Tended:
    """What the decision depends on: scenes, and the being's entries."""

    memories: Memories = field(default_factory=Memories)
    entries: Entries = field(default_factory=Entries)


def _evolve(state: Tended, event: Happened) -> Tended:
    if isinstance(event.payload, UserErased):
        return Tended()
    return replace(state, memories=MEMORIES.evolve(state.memories, event), entries=BEING.evolve(state.entries, event))


def _decide(state: Tended, command: TendScenes) -> Sequence[Event]:
    found: list[Event] = []
    steps = (_kept, _failed, _absorbed, _died, _revived, _moved, _put)
    for decided in steps:
        for news in decided(state, command):
            found += news
            state = reduce(partial(_after, command), news, state)
    reviewed = [
        ScenesReviewed(agent_id=command.agent_id, **one.model_dump(exclude={"generation"}), generation=one.generation)
        for one in command.reviews
    ]
    return [*reviewed, *found]


def _after(command: TendScenes, state: Tended, event: Event) -> Tended:
    # Nothing is undone here, so any id will do.
    return _evolve(state, NewEvent(uuid5(_IDS, event.type_name()), event, command.meta(), command.at))


def _kept(state: Tended, command: TendScenes) -> Iterable[Sequence[Event]]:
    for one in command.keep:
        if _reads(state, one.note.entry_id, one.text):
            read = BEING.decide(state.entries, one.note)
            yield [*MEMORIES.decide(state.memories, one.scene), *read] if read else []


def _failed(state: Tended, command: TendScenes) -> Iterable[Sequence[Event]]:
    for one in command.failed:
        if _reads(state, one.note.entry_id, one.text):
            yield BEING.decide(state.entries, one.note)


def _reads(state: Tended, entry_id: UUID, text: str) -> bool:
    """Whether a note is still as it was read."""
    note = state.entries.known.get(entry_id)
    return bool(note and not note.read and not note.removed and not note.is_erased and note.body.get("text") == text)


def _absorbed(state: Tended, command: TendScenes) -> Iterable[Sequence[Event]]:
    who = command.model_dump(include=set(Command.model_fields))
    for one in command.absorb:
        nodes = [_node(state, command, id_) for id_ in (one.survivor_id, *one.absorbed_ids)]
        if not all(node and node.visible for node in nodes):
            continue
        try:
            asked = MergeMemories(**who, memory_id=one.survivor_id, absorbed_ids=one.absorbed_ids)
            [merged] = MEMORIES.decide(state.memories, asked)
        except MnemologError:
            continue
        assert isinstance(merged, MemoriesMerged)
        assert nodes[0]
        weight = min(1.0, nodes[0].content.importance + GAIN)
        yield [merged.model_copy(update={"importance": weight})]


def _died(state: Tended, command: TendScenes) -> Iterable[Sequence[Event]]:
    for id_ in command.make_dead:
        found = _node(state, command, id_)
        if found and found.status is Status.DYING and not found.content.pinned:
            yield [MemoryStatusChanged(memory_id=id_, was=found.status, status=Status.DORMANT)]


def _revived(state: Tended, command: TendScenes) -> Iterable[Sequence[Event]]:
    for one in command.revive:
        found = _node(state, command, one.memory_id)
        if found and is_dead(found) and found.merged_into is None and Node.of(found, one.session_count).lives:
            yield [MemoryStatusChanged(memory_id=one.memory_id, was=found.status, status=Status.ACTIVE)]


def _moved(state: Tended, command: TendScenes) -> Iterable[Sequence[Event]]:
    for one in command.move:
        found = _node(state, command, one.memory_id)
        at = found.content.experience.cluster if found and found.content.experience else ""
        if found and (found.visible or is_dead(found)) and at == one.was and one.cluster != at:
            yield [SceneMoved(memory_id=one.memory_id, cluster=cluster_of(one.cluster))]


def _put(state: Tended, command: TendScenes) -> Iterable[Sequence[Event]]:
    for one in command.put:
        yield BEING.decide(state.entries, one)


def _node(state: Tended, command: TendScenes, memory_id: UUID) -> Memory | None:
    """A scene of the being."""
    found = state.memories.known.get(memory_id)
    own = found is not None and is_node(found.kind, found.scope) and found.agent_id == command.agent_id
    return found if own else None


def _tags(state: Tended, command: TendScenes) -> frozenset[str]:
    entries = [*(one.note for one in command.keep), *(one.note for one in command.failed), *command.put]
    scenes = [one.scene for one in command.keep]
    return frozenset({USER, *map(memory_tag, command.memory_ids)}).union(
        *(BEING.tags(state.entries, one) for one in entries),
        *(MEMORIES.tags(state.memories, one) for one in scenes),
    )


TENDING: Decider[TendScenes, Tended] = Decider(
    initial=Tended(),
    subject=lambda command: f"reviewed:{command.agent_id}",
    tags=_tags,
    evolve=_evolve,
    decide=_decide,
)
