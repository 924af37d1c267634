"""What the history tells of the profile and of todos: who proposed, who decided, what was set; never a value."""

from collections.abc import Sequence
from typing import Any

from mnemolog.domain.profile import place_of
from mnemolog.events.event import Event
from mnemolog.events.profile import (
    FieldEvent,
    ProfileDecided,
    ProfileProposed,
    ProfileSet,
    TodoChanged,
    TodoEvent,
    TodoOpened,
)
from mnemolog.projections.history.subject import Subject

PROFILE, TODO = "profile", "todo"


def subjects(payload: FieldEvent | TodoEvent) -> Sequence[Subject]:
    """A place of the profile by its name, a todo by its id."""
    if isinstance(payload, FieldEvent):
        return [Subject(PROFILE, place_of(payload.field))]
    return [Subject(TODO, str(payload.todo_id))]


def told(payload: Event) -> tuple[str, dict[str, Any]]:
    """A proposal and a decision are UPDATEs of the place that they are about; an erasure is a DELETE."""
    match payload:
        case ProfileProposed():
            turns = list(payload.source_turn_ids)
            return "UPDATE", {"proposed": str(payload.patch_id), "signals": payload.signals, "source_turn_ids": turns}
        case ProfileDecided():
            return "UPDATE", {"patch_id": str(payload.patch_id), "decision": payload.decision, "by": payload.by}
        case ProfileSet():
            return "UPDATE", {**_named(payload), "source_turn_ids": list(payload.source_turn_ids)}
        case TodoOpened():
            return "ADD", {"source_turn_ids": list(payload.source_turn_ids)}
        case TodoChanged():
            return "UPDATE", {"status": payload.status, **_undoes(payload)}
        case _:
            return "DELETE", {"erased": True}


def _named(change: ProfileSet) -> dict[str, str]:
    patch = {"patch_id": str(change.patch_id)} if change.patch_id else {}
    return {**patch, **_undoes(change)}


def _undoes(change: ProfileSet | TodoChanged) -> dict[str, str]:
    return {"undoes": str(change.undoes)} if change.undoes else {}
