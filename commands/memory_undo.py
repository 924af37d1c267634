"""Undo a change of memories and links with compensating events that restore the previous state (X03)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from mnemolog.commands.memory_requests import UndoChange
from mnemolog.commands.memory_state import Memories, ends
from mnemolog.domain import corroboration, memory
from mnemolog.domain.errors import Conflict, UndoConflict
from mnemolog.domain.link import Link
from mnemolog.domain.memory import Cause, Memory
from mnemolog.domain.updated import updated
from mnemolog.events import memory as events
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.memory_fold import LINK, MEMORY


def undo(command: UndoChange, state: Memories) -> Sequence[Event]:
    """No event if it is already undone."""
    event_id = last_change(command, state)
    for memory_id in ends(state.changes.subjects(event_id)):
        state.get(memory_id, command, "event_id")
    if state.changes.undone(event_id):
        return []
    befores = state.changes.befores(event_id)
    reverts = [reverted(state, event_id, subject, before, command.at) for subject, before in befores.items()]
    require_free(state, reverts)
    return reverts


def last_change(command: UndoChange, state: Memories) -> UUID:
    """The change to undo; raises Conflict if there is none."""
    event_id = meant(command, state)
    if event_id is None:
        state.get(command.memory_id, command, "memory_id")
        raise Conflict(
            f"memory {command.memory_id} has no change left to undo",
            field="memory_id",
            fix="give an event from `mnemolog history`",
        )
    return event_id


def meant(command: UndoChange, state: Memories) -> UUID | None:
    return command.event_id or state.changes.last(memory_tag(command.memory_id))


def reverted(state: Memories, event_id: UUID, subject: str, before: Memory | Link | None, at: datetime) -> Event:
    """The event that restores one subject of a change."""
    if LINK.has(subject):
        from_id, to_id = LINK.id_of(subject)
        relation_type, strength = before if isinstance(before, Link) else (None, None)
        return events.LinkReverted(
            memory_id=from_id, to_id=to_id, undoes=event_id, relation_type=relation_type, strength=strength
        )
    memory_id = MEMORY.id_of(subject)
    now = state.known[memory_id]
    if isinstance(before, Memory):
        # In its state before the change, but with the strength it has gained by use since.
        content = before.content
        for _ in range(state.changes.observed_since(memory_tag(before.memory_id), event_id)):
            content = corroboration.corroborated(content)
        then = replace(before, content=content)
    else:  # A memory that was created by the change is soft-deleted.
        then = now.soft_deleted(at + memory.PURGE_AFTER, Cause.UNDONE)
    return events.MemoryReverted.of(
        memory_id,
        then.content,
        undoes=event_id,
        was=now.status,
        status=then.status,
        origin=None if then.origin is now.origin else then.origin,
        merged_into=then.merged_into,
        purge_at=then.purge_at,
        cause=then.cause,
    )


def require_free(state: Memories, reverts: Sequence[Event]) -> None:
    """Raises UndoConflict if a memory would be restored while another one has its key (D04)."""
    known = state.known
    for revert in reverts:
        known = updated(known, MEMORY.evolve(known, revert))
    after = replace(state, known=known)
    for back in (known[id_] for revert in reverts for id_ in MEMORY.touched(revert)):
        others = after.of_key(back.identity.key, back.scope, back.agent_id) if back.visible else ()
        holder = next((one for one in others if one.holds(back)), None)
        if holder:
            raise UndoConflict(
                f"memory {back.memory_id} cannot be restored: {holder.memory_id} now has its key",
                field="event_id",
                fix="merge the two, or delete the other one first",
            )
