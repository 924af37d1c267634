"""The history entry for each event type, in the terms of B §8, without personal text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mnemolog.domain.facts import Validity
from mnemolog.domain.identity import utc_text
from mnemolog.domain.memory import VISIBLE, Cause
from mnemolog.events import artifacts, being, documents, episodes, graph, memory, profile
from mnemolog.events.erasure import MemoryErased
from mnemolog.events.event import Event
from mnemolog.events.graph_fold import RELATION
from mnemolog.events.memory_fold import LINK, MEMORY
from mnemolog.events.subjects import WITH_HISTORY, of_each_event

# ADD, UPDATE, DELETE, MERGE, LINK, TTL or RESTORE, and the other columns of the row.
Entry = tuple[str, dict[str, Any]]
Undo = memory.MemoryReverted | graph.EntityReverted | graph.RelationReverted


class Ref(NamedTuple):
    """The subject of a row: its kind, and its id as text."""

    kind: str
    id: str


def subjects(payload: Event) -> Sequence[Ref]:
    """The subjects that get a row. A link is reported with the memory that it leads from."""
    if LINK.touched(payload):
        return [Ref(MEMORY.name, str(ends.from_id)) for ends in LINK.touched(payload)]
    return [Ref(kind.name, str(id_)) for kind in WITH_HISTORY for id_ in kind.touched(payload)]


def erased(payload: Event) -> Ref | None:
    """The subject whose reasons are removed, because they are personal."""
    return next(iter(subjects(payload)), None) if payload.shreds() else None


def left(payload: Event, subject: Ref) -> str:
    """The id of the subject that has the content after the event: for an absorbed one, the survivor."""
    absorbed = map(str, getattr(payload, "absorbed_ids", ()))
    return subjects(payload)[0].id if subject.id in absorbed else subject.id


def entry(payload: Event, subject: Ref) -> Entry:
    if subject.kind != RELATION.name:
        return ENTRIES[type(payload)](payload)
    periods = {str(one.relation_id): _dates(one) for one in graph.validity_of(payload)}
    validity = {"periods": periods[subject.id]} if subject.id in periods else {}
    own = subjects(payload)[0]
    word, more = ENTRIES[type(payload)](payload) if own == subject else ("UPDATE", {"because_of": own.id})
    return word, {**more, **validity}


def _sources(payload: Any) -> dict[str, Any]:
    return {} if payload.source_turn_ids is None else {"source_turn_ids": list(payload.source_turn_ids)}


def undoes(payload: Any) -> dict[str, str]:
    return {"undoes": str(payload.undoes)} if payload.undoes else {}


def _reverted(payload: artifacts.ArtifactReverted | documents.DocumentReverted) -> Entry:
    return "UPDATE" if payload.status in VISIBLE else "DELETE", undoes(payload)


def _chunks(payload: documents.RevisionEvent) -> dict[str, int]:
    """How many chunks a revision changed."""
    return {name: len(getattr(payload, name)) for name in ("added", "moved", "removed")}


def _patch(payload: profile.ProfileSet | profile.ProfileDecided) -> dict[str, str]:
    return {"patch_id": str(payload.patch_id)} if payload.patch_id else {}


def _matched(payload: Any) -> dict[str, Any]:
    """How a statement matched the memory when it was decided (B §13, X04)."""
    return {"match": payload.match.model_dump(mode="json", exclude_none=True)} if payload.match else {}


def _merged(survivor: object, payload: Any) -> dict[str, Any]:
    return {"survivor": str(survivor), "absorbed": [str(id_) for id_ in payload.absorbed_ids]}


def _hidden(payload: Any) -> dict[str, str]:
    return {"reason": payload.reason, "purge_at": payload.purge_at.isoformat()}


def _stated(payload: graph.RelationEnded | graph.RelationRetired) -> dict[str, Any]:
    """The messages that an end or a correction was extracted from."""
    return {"source_turn_ids": list(payload.stated_in)} if payload.stated_in else {}


def _withdrawn(payload: graph.RelationWithdrawn) -> Entry:
    return "DELETE", {"purge_at": payload.purge_at.isoformat(), "deleted_turn_ids": list(payload.turn_ids)}


def _edge(payload: memory.MemoriesLinked | memory.LinkReverted) -> dict[str, Any]:
    return {"to": str(payload.to_id), "relation_type": payload.relation_type, "strength": payload.strength}


def _turned(payload: memory.MemoryStatusChanged) -> Entry:
    word = "UPDATE" if (payload.was in VISIBLE) == (payload.status in VISIBLE) else "RESTORE"
    return word if payload.status in VISIBLE else "DELETE", {"status": payload.status}


def _undone(payload: Undo) -> Entry:
    """By the effect of the undo: a relation that no longer holds at any time is deleted."""
    if payload.status not in VISIBLE or _never_holds(payload):
        return "DELETE", undoes(payload)
    return "UPDATE" if payload.was in VISIBLE else "RESTORE", undoes(payload)


def _never_holds(payload: Undo) -> bool:
    return isinstance(payload, graph.RelationReverted) and any(
        one.relation_id == payload.relation_id and not one.periods for one in payload.validity
    )


def _dates(one: Validity) -> list[list[str | None]]:
    return [
        [utc_text(period.valid_from), utc_text(period.valid_to) if period.valid_to else None] for period in one.periods
    ]


# A proposal and its decision are UPDATEs of their field; an erasure is a DELETE.
ENTRIES: Mapping[type[Event], Callable[[Any], Entry]] = {
    memory.MemoryCreated: lambda it: ("ADD", {**_sources(it), **_matched(it)}),
    memory.MemoryUpdated: lambda it: ("UPDATE", {"changed": list(it.changed), **_matched(it)}),
    memory.MemoriesMerged: lambda it: ("MERGE", {**_merged(it.memory_id, it), **_matched(it)}),
    memory.MemoryObserved: lambda it: ("UPDATE", {"observed": it.cause, **_matched(it)}),
    memory.SceneMoved: lambda it: ("UPDATE", {"changed": ["cluster"]}),
    memory.MemorySoftDeleted: lambda it: ("TTL" if it.cause is Cause.TTL else "DELETE", _hidden(it)),
    memory.MemoryStatusChanged: _turned,
    memory.MemoryRestored: lambda it: ("RESTORE", {}),
    memory.MemoryReverted: _undone,
    MemoryErased: lambda it: ("DELETE", {"erased": True, "turns": [turn.turn_id for turn in it.turns]}),
    memory.MemoriesLinked: lambda it: ("LINK", _edge(it)),
    memory.LinkReverted: lambda it: ("LINK", {**_edge(it), **undoes(it)}),
    graph.EntityObserved: lambda it: ("ADD", _sources(it)),
    graph.EntityUpdated: lambda it: ("UPDATE", {"changed": list(it.changed), **_sources(it)}),
    graph.EntityAliased: lambda it: ("UPDATE", {"changed": ["aliases"]}),
    graph.EntitiesMerged: lambda it: ("MERGE", _merged(it.entity_id, it)),
    graph.EntityForgotten: lambda it: ("DELETE", _hidden(it)),
    graph.EntityRestored: lambda it: ("RESTORE", {}),
    graph.EntityReverted: _undone,
    graph.EntityCleared: lambda it: ("UPDATE", {"cleared": True}),
    graph.EntityKept: lambda it: ("UPDATE", {"kept": True, **_sources(it)}),
    graph.EntityErased: lambda it: ("DELETE", {"erased": True}),
    graph.RelationAsserted: lambda it: ("ADD", {**_sources(it), "confidence": it.confidence}),
    graph.RelationObserved: lambda it: ("UPDATE", {"observed": True, "confidence": it.confidence, **_sources(it)}),
    graph.RelationEnded: lambda it: ("UPDATE", {"valid_to": utc_text(it.valid_to), **_stated(it)}),
    graph.RelationRetired: lambda it: ("DELETE", {"retired": True, **_stated(it)}),
    graph.RelationWithdrawn: _withdrawn,
    graph.RelationForgotten: lambda it: ("DELETE", _hidden(it)),
    graph.RelationRestored: lambda it: ("RESTORE", {}),
    graph.RelationReverted: _undone,
    graph.RelationErased: lambda it: ("DELETE", {"erased": True}),
    artifacts.ArtifactStored: lambda it: ("ADD", {**_sources(it), "artifact_type": it.type}),
    artifacts.ArtifactAttached: lambda it: ("UPDATE", _sources(it)),
    artifacts.ArtifactTextAdded: lambda it: ("UPDATE", {"text_kind": it.text_kind, "count": it.count}),
    artifacts.ArtifactExtracted: lambda it: ("UPDATE", {"skipped": [one.text_kind for one in it.skipped]}),
    artifacts.ArtifactRefused: lambda it: ("UPDATE", {"refused": it.reason}),
    artifacts.ArtifactDeleted: lambda it: ("DELETE", _hidden(it)),
    artifacts.ArtifactRestored: lambda it: ("RESTORE", {}),
    artifacts.ArtifactReverted: _reverted,
    artifacts.ArtifactErased: lambda it: ("DELETE", {"erased": True}),
    documents.DocumentAdded: lambda it: ("ADD", _chunks(it)),
    documents.DocumentRevised: lambda it: ("UPDATE", _chunks(it)),
    documents.DocumentChunksStored: lambda it: ("UPDATE", {"stored": len(it.chunk_ids)}),
    documents.DocumentDeleted: lambda it: ("DELETE", _hidden(it)),
    documents.DocumentRestored: lambda it: ("RESTORE", {}),
    documents.DocumentReverted: lambda it: (_reverted(it)[0], {**_chunks(it), **undoes(it)}),
    documents.DocumentErased: lambda it: ("DELETE", {"erased": True}),
    being.BeingEntrySet: lambda it: ("UPDATE" if it.undoes else "ADD", {**undoes(it), **_sources(it)}),
    being.BeingEntryRead: lambda it: ("UPDATE", {"read": it.read, **undoes(it)}),
    being.BeingEntryRemoved: lambda it: ("DELETE", undoes(it)),
    being.BeingEntryErased: lambda it: ("DELETE", {"erased": True}),
    episodes.EpisodeStarted: lambda it: ("ADD", {"because": it.starts_by}),
    episodes.EpisodeClosed: lambda it: ("UPDATE", {"closed_by": it.closed_by}),
    episodes.EpisodesReverted: lambda it: ("UPDATE", undoes(it)),
    profile.ProfileProposed: lambda it: (
        "UPDATE",
        {"proposed": str(it.patch_id), "signals": it.signals, **_sources(it)},
    ),
    profile.ProfileDecided: lambda it: ("UPDATE", {**_patch(it), "decision": it.decision, "by": it.by, **undoes(it)}),
    profile.ProfileSet: lambda it: ("UPDATE", {**_patch(it), **undoes(it), **_sources(it)}),
    profile.ProfileErased: lambda it: ("DELETE", {"erased": True}),
    profile.TodoOpened: lambda it: ("ADD", _sources(it)),
    profile.TodoChanged: lambda it: ("UPDATE", {"status": it.status, **undoes(it)}),
    profile.TodoErased: lambda it: ("DELETE", {"erased": True}),
}
of_each_event("ENTRIES in projections/history/entries.py", ENTRIES, WITH_HISTORY)
