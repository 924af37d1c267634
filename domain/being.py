"""What is kept for a being, apart from its memories: entries in stores (C §Context Structure, C15).

A being is an agent of one user. Its entries are read by nobody else, not even by other agents of the same user (C01).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from mnemolog.domain.errors import Erased, NotFound
from mnemolog.domain.origin import Origin
from mnemolog.domain.scope import Scope


class Store(StrEnum):
    """The stores of a being, in the order in which a prompt shows them."""

    SOUL = "soul"
    RULE = "rule"
    PREFERENCE = "preference"
    RELATIONSHIP = "relationship"
    TOOL = "tool"
    MAP = "map"
    NOTE = "note"
    KNOWLEDGE = "knowledge"
    DIARY = "diary"
    SNAPSHOT = "snapshot"
    PARTY_MESSAGE = "party_message"


# What block 1-A shows: it becomes a part of the system message.
INSTRUCTING = frozenset(
    {Store.SOUL, Store.RULE, Store.PREFERENCE, Store.RELATIONSHIP, Store.TOOL, Store.MAP, Store.SNAPSHOT}
)


class NoteType(StrEnum):
    """`scene`: what happened, waiting for the patrol. `todo`, `reminder`: shown until they are read."""

    SCENE = "scene"
    TODO = "todo"
    REMINDER = "reminder"


@dataclass(frozen=True, slots=True, kw_only=True)
class BeingEntry:
    """The current state of an entry. `key` is unique in its store. An erased entry has neither key nor body.

    `read`: a note that was read, and is not shown any more.
    """

    entry_id: UUID
    agent_id: str
    store: Store
    key: str
    body: Mapping[str, Any] = field(default_factory=dict)
    read: bool = False
    removed: bool = False
    origin: Origin = Origin.AGENT
    source_turn_ids: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        return Scope.AGENT

    @property
    def is_erased(self) -> bool:
        return not self.body


def no_such_entry(user_id: str, entry_id: UUID) -> NotFound:
    """The error for an entry that does not exist or belongs to another being."""
    return NotFound(
        f"no being of user {user_id!r} that you may read has an entry {entry_id}",
        field="entry_id",
        fix="look it up with `mnemolog being list STORE`",
    )


def erased_entry(entry_id: UUID) -> Erased:
    return Erased(f"entry {entry_id} was erased", field="entry_id", fix="its content is destroyed; put it again")
