"""The history of a profile field, a todo or an entry of a being, read from the log, newest first."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

from mnemolog.domain.being import no_such_entry
from mnemolog.domain.profile import place_of
from mnemolog.domain.todo import TodoStatus, no_such_todo
from mnemolog.domain.viewer import Viewer
from mnemolog.events.being import BeingEntryErased, BeingEntryRead, BeingEntryRemoved, BeingEntrySet
from mnemolog.events.being_fold import BEING_ENTRY
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
from mnemolog.events.profile_fold import FIELD, TODO
from mnemolog.events.subjects import of_each_event
from mnemolog.events.unread import Unread
from mnemolog.projections.history.changed import by_seq
from mnemolog.projections.history.entries import undoes
from mnemolog.projections.profile.reader import require_profile


def read_by(tag: str) -> frozenset[str]:
    """The tags to read: the subject's events, and an erasure of the user, before which nothing counts."""
    return frozenset({tag, USER})


def of_field(viewer: Viewer, field: str, events: Sequence[Recorded]) -> Sequence[dict[str, Any]]:
    """What was proposed, decided and set; empty if nothing ever was."""
    require_profile(viewer)
    return _rows(FIELD.name, place_of(field), events)


def of_todo(viewer: Viewer, todo_id: UUID, events: Sequence[Recorded]) -> Sequence[dict[str, Any]]:
    """How it was opened and changed; NotFound if it is not the viewing agent's."""
    rows = _rows(TODO.name, str(todo_id), events)
    opened = (event.payload for event in events if isinstance(event.payload, TodoOpened))
    if not rows or any(one.agent_id != viewer.agent_id for one in opened):
        raise no_such_todo(viewer.user_id, todo_id)
    return rows


def of_entry(viewer: Viewer, entry_id: UUID, events: Sequence[Recorded]) -> Sequence[dict[str, Any]]:
    """How it was set, read and removed; NotFound if it is not the viewing being's."""
    rows = _rows(BEING_ENTRY.name, str(entry_id), events)
    put = (event.payload for event in events if isinstance(event.payload, BeingEntrySet))
    if not rows or any(one.agent_id != viewer.agent_id for one in put):
        raise no_such_entry(viewer.user_id, entry_id)
    return rows


def _rows(subject: str, id_: str, events: Sequence[Recorded]) -> Sequence[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    changes = by_seq(subject, id_, events)
    for event in events:
        if isinstance(event.payload, Unread):
            continue
        if isinstance(event.payload, UserErased):
            rows.clear()
            continue
        name, more = VALUES[type(event.payload)](event.payload)
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
                "meta": {"event_id": str(event.event_id), "type": event.header.type, **more},
                "seq": event.seq,
                "ts": event.recorded_at,
                **changes[event.seq],
            }
        )
    return rows[::-1]


def _todo(payload: TodoOpened | TodoChanged, status: TodoStatus) -> Mapping[str, str]:
    return {"text": payload.text, "kind": str(payload.kind), "status": str(status)}


# What each event did, and the values it set. Erased values read as empty.
VALUES: Mapping[type[Event], Callable[[Any], tuple[str, Mapping[str, Any]]]] = {
    ProfileProposed: lambda it: ("ADD", {"patch_id": str(it.patch_id), "proposed": it.value}),
    ProfileDecided: lambda it: (
        "UPDATE",
        {"patch_id": str(it.patch_id), "decision": str(it.decision), "by": it.by, **undoes(it)},
    ),
    ProfileSet: lambda it: ("ADD" if it.values else "DELETE", {"values": list(it.values), **undoes(it)}),
    ProfileErased: lambda it: ("DELETE", {}),
    TodoOpened: lambda it: ("ADD", _todo(it, TodoStatus.OPEN)),
    TodoChanged: lambda it: ("UPDATE", {**_todo(it, it.status), **undoes(it)}),
    TodoErased: lambda it: ("DELETE", {}),
    BeingEntrySet: lambda it: ("ADD", {"store": str(it.store), "key": it.key, "body": it.body, **undoes(it)}),
    BeingEntryRead: lambda it: ("UPDATE", {"read": it.read, **undoes(it)}),
    BeingEntryRemoved: lambda it: ("DELETE", undoes(it)),
    BeingEntryErased: lambda it: ("DELETE", {}),
}
of_each_event("VALUES in projections/history/from_log.py", VALUES, (FIELD, TODO, BEING_ENTRY))
