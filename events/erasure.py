"""Events that erase a memory, a thread or a user, and destroy the keys of the text (X07).

The shape stays: ids, counts, merges. Sealed fields then have their default values.
"""

from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from mnemolog.domain.memory import Cause
from mnemolog.events.conversation import (
    EVERY_THREAD,
    summaries_scope,
    summaries_tag,
    thread_scope,
    thread_tag,
    turn_scope,
    turn_tag,
)
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.graph import ENTITIES

USER = "user"


class SourceTurn(BaseModel):
    """A turn by its thread and its id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread_id: str
    turn_id: str


class MemoryErased(Event):
    """The text of a memory, of its source turns, of the summaries of their threads and of the spine is destroyed.

    `cause`: why it had been hidden, for a scheduled purge; None if it was erased on request.
    """

    version: ClassVar[int] = 3

    memory_id: UUID
    turns: tuple[SourceTurn, ...] = ()
    cause: Cause | None = None

    def tags(self) -> frozenset[str]:
        summaries = {summaries_tag(EVERY_THREAD)} if self.turns else set()
        return frozenset({memory_tag(self.memory_id), *(turn_tag(turn.turn_id) for turn in self.turns), *summaries})

    def key_scope(self) -> str:
        return memory_tag(self.memory_id)

    def shreds(self) -> frozenset[str]:
        turns = (turn_scope(turn.thread_id, turn.turn_id) for turn in self.turns)
        summaries = {scope for turn in self.turns for scope in map(summaries_scope, (turn.thread_id, EVERY_THREAD))}
        return frozenset({memory_tag(self.memory_id), *turns, *summaries})


class ThreadErased(Event):
    """The text of every turn of a thread up to now, and of the spine, is destroyed; later turns get a new key."""

    version: ClassVar[int] = 2

    thread_id: str

    def tags(self) -> frozenset[str]:
        return frozenset({thread_tag(self.thread_id), summaries_tag(EVERY_THREAD)})

    def key_scope(self) -> str:
        return thread_scope(self.thread_id)

    def shreds(self) -> frozenset[str]:
        return frozenset({thread_scope(self.thread_id), summaries_scope(EVERY_THREAD)})


class UserErased(Event):
    """Every text of the stream up to now is destroyed, with the user's own key."""

    def tags(self) -> frozenset[str]:
        return frozenset({USER, ENTITIES})

    def key_scope(self) -> str:
        return USER

    def shreds(self) -> frozenset[str]:
        return frozenset({""})
