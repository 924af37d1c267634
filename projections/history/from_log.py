"""The history of a place of the profile, or of a todo: read from the log, where all of it stands, newest first."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

from mnemolog.domain.profile import place_of
from mnemolog.domain.todo import no_such_todo
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event
from mnemolog.events.profile import (
    ProfileDecided,
    ProfileErased,
    ProfileProposed,
    ProfileSet,
    TodoChanged,
    TodoErased,
    TodoOpened,
)
from mnemolog.projections.profile.reader import require_profile

PROFILE, TODO = "profile", "todo"


def read_by(tag: str) -> frozenset[str]:
    """What to read of the stream: the subject's events, and an erasure of the user, before which nothing counts."""
    return frozenset({tag, USER})


def of_field(viewer: Viewer, field: str, events: Sequence[Recorded]) -> Sequence[dict[str, Any]]:
    """What was proposed, decided and set; none where nothing ever was."""
    require_profile(viewer)
    return _rows(PROFILE, place_of(field), events)


def of_todo(viewer: Viewer, todo_id: UUID, events: Sequence[Recorded]) -> Sequence[dict[str, Any]]:
    """How it was opened and changed; NotFound where it is not the viewing agent's."""
    rows = _rows(TODO, str(todo_id), events)
    opened = (event.payload for event in events if isinstance(event.payload, TodoOpened))
    if not rows or any(one.agent_id != viewer.agent_id for one in opened):
        raise no_such_todo(viewer.user_id, todo_id)
    return rows


def _rows(subject: str, id_: str, events: Sequence[Recorded]) -> Sequence[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event.payload, UserErased):
            rows.clear()
            continue
        name, told = _told(event.payload)
        before = rows[-1]["seq"] if rows else None
        rows.append(
            {
                "id": uuid5(event.event_id, id_),
                "subject": subject,
                "subject_id": id_,
                "memory_id": None,
                "event": "UPDATE" if name == "ADD" and before else name,
                "old_ref": f"{id_}@{before}" if before else None,
                "new_ref": f"{id_}@{event.seq}",
                "actor": event.meta.actor,
                "meta": {"event_id": str(event.event_id), "type": event.header.type, **told},
                "seq": event.seq,
                "ts": event.recorded_at,
            }
        )
    return rows[::-1]


def _told(event: Event) -> tuple[str, Mapping[str, Any]]:
    """What it did, and with what. What was erased reads as nothing."""
    undoes = getattr(event, "undoes", None)
    undone = {"undoes": str(undoes)} if undoes else {}
    match event:
        case ProfileProposed(patch_id=patch_id, value=value):
            return "ADD", {"patch_id": str(patch_id), "proposed": value}
        case ProfileDecided(patch_id=patch_id, decision=decision, by=by):
            return "UPDATE", {"patch_id": str(patch_id), "decision": str(decision), "by": by}
        case ProfileSet(values=values):
            return "ADD" if values else "DELETE", {"values": list(values), **undone}
        case TodoOpened(text=text, kind=kind):
            return "ADD", {"text": text, "kind": str(kind), "status": "open"}
        case TodoChanged(text=text, kind=kind, status=status):
            return "UPDATE", {"text": text, "kind": str(kind), "status": str(status), **undone}
        case ProfileErased() | TodoErased():
            return "DELETE", {}
        case _:
            return "UPDATE", {}
