"""What the history tells of an event: whom it touches, and the word of B §8 for what it did."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mnemolog.domain.memory import VISIBLE, Cause
from mnemolog.events import graph
from mnemolog.events import memory as events
from mnemolog.events.erasure import MemoryErased
from mnemolog.events.event import Event
from mnemolog.events.memory_fold import MEMORY as MEMORIES
from mnemolog.events.profile import FieldEvent, TodoEvent
from mnemolog.projections.history import of_graph, of_profile
from mnemolog.projections.history.subject import ENTITY, MEMORY, Subject

SUBJECTED = events.MemoryEvent | MemoryErased | graph.EntityEvent | graph.RelationEvent | FieldEvent | TodoEvent


def memory(memory_id: UUID) -> Subject:
    return Subject(MEMORY, str(memory_id))


def subjects(payload: Event) -> Sequence[Subject]:
    """Each gets a row; an event that tells of nothing here has none."""
    match payload:
        case events.MemoriesLinked() | events.LinkReverted():
            return [memory(payload.memory_id)]
        case graph.EntityEvent() | graph.RelationEvent():
            return of_graph.subjects(payload)
        case FieldEvent() | TodoEvent():
            return of_profile.subjects(payload)
        case _:
            return [memory(memory_id) for memory_id in MEMORIES.touched(payload)]


def erased(payload: Event) -> Subject | None:
    """Whose reasons go, as they are personal."""
    if isinstance(payload, graph.EntityEvent | graph.RelationEvent):
        return of_graph.erased(payload)
    return memory(payload.memory_id) if isinstance(payload, MemoryErased) else None


def left(payload: Event, subject: Subject) -> str:
    """What holds the subject's content after the event: for what was absorbed, the survivor."""
    match payload:
        case events.MemoriesMerged(memory_id=survivor):
            return str(survivor)
        case graph.EntitiesMerged(entity_id=survivor) if subject.kind == ENTITY:
            return str(survivor)
        case _:
            return subject.id


def told(payload: Event, subject: Subject) -> tuple[str, dict[str, Any]]:
    """ADD, UPDATE, DELETE, MERGE, LINK, TTL or RESTORE, and what else the row of one subject says."""
    match payload:
        case graph.EntityEvent() | graph.RelationEvent():
            return of_graph.told(payload, subject)
        case FieldEvent() | TodoEvent():
            return of_profile.told(payload)
        case events.MemoryCreated():
            return "ADD", {"source_turn_ids": list(payload.source_turn_ids), **_matched(payload.match)}
        case events.MemoryUpdated():
            return "UPDATE", {"changed": list(payload.changed), **_matched(payload.match)}
        case events.MemoriesMerged():
            absorbed = [str(memory_id) for memory_id in payload.absorbed_ids]
            return "MERGE", {"survivor": str(payload.memory_id), "absorbed": absorbed, **_matched(payload.match)}
        case events.MemoryObserved():
            return "UPDATE", {"observed": payload.cause, **_matched(payload.match)}
        case events.MemorySoftDeleted():
            word = "TTL" if payload.cause is Cause.TTL else "DELETE"
            return word, {"reason": payload.reason, "purge_at": payload.purge_at.isoformat()}
        case events.MemoryStatusChanged(was=was, status=status):
            word = "UPDATE" if (was in VISIBLE) == (status in VISIBLE) else "RESTORE"
            return word if status in VISIBLE else "DELETE", {"status": status}
        case MemoryErased():
            return "DELETE", {"erased": True, "turns": [turn.turn_id for turn in payload.turns]}
        case events.MemoryReverted() if payload.status not in VISIBLE:
            return "DELETE", {"undoes": str(payload.undoes)}
        case events.MemoryReverted() if payload.was in VISIBLE:
            return "UPDATE", {"undoes": str(payload.undoes)}
        case events.MemoryReverted():
            return "RESTORE", {"undoes": str(payload.undoes)}
        case events.LinkReverted():
            return "LINK", {**_edge(payload), "undoes": str(payload.undoes)}
        case events.MemoriesLinked():
            return "LINK", _edge(payload)
        case _:
            return "RESTORE", {}


def _edge(link: events.MemoriesLinked | events.LinkReverted) -> dict[str, Any]:
    return {"to": str(link.to_id), "relation_type": link.relation_type, "strength": link.strength}


def _matched(match: events.Match | None) -> dict[str, Any]:
    """How a statement met the memory, as it was decided (B §13, X04)."""
    return {"match": match.model_dump(mode="json", exclude_none=True)} if match else {}
