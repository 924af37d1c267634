"""Put a memory under an id of the caller's: created, or restored and updated (X19)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mnemolog.commands import memory_changes as changes
from mnemolog.commands.memory_requests import PutMemory, RestoreMemory, UpdateMemory
from mnemolog.commands.memory_state import Memories
from mnemolog.commands.memory_upsert import create
from mnemolog.domain.memory import Status
from mnemolog.domain.updated import updated
from mnemolog.events.event import Event

C = TypeVar("C", RestoreMemory, UpdateMemory)


def put(command: PutMemory, state: Memories) -> Sequence[Event]:
    """Erased if the memory with this id was."""
    if command.memory_id not in state.known:
        return create(command, state)
    given = command.model_dump(exclude_unset=True)
    restored = changes.restore(_as(RestoreMemory, given), state)
    known = replace(state.get(command.memory_id, command), status=Status.ACTIVE)
    back = replace(state, known=updated(state.known, {command.memory_id: known}))
    return [*restored, *changes.update(_as(UpdateMemory, given), back)]


def _as(kind: type[C], given: Mapping[str, object]) -> C:
    return kind.model_validate({name: value for name, value in given.items() if name in kind.model_fields})
