"""One memory as mem0 holds it, and the port to a mem0 store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, Protocol
from uuid import UUID

from pydantic_core import to_json

Type = Literal["factual", "episodic"]


@dataclass(frozen=True, slots=True)
class Item:
    """A fact or an episode (E §Mapping to mem0 types).

    `run_id` is the id of the episode that it comes from (E §Identifiers & Scoping), else the caller's own, else None.
    `agent_id` owns it; None if every agent of the user may see it. `metadata` is the caller's.
    """

    subject_id: UUID
    type: Type
    text: str
    category: str
    origin: str
    created_at: datetime
    run_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Two items of the same digest are the same: 32 hexadecimal digits."""
        fields = [getattr(self, name) for name in Item.__slots__]
        return sha256(to_json(fields)).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Held:
    """What a store holds for a subject: `shown` is its text, with everything else that the store keeps beside it."""

    item_id: str
    subject_id: UUID
    shown: str


class ItemStore(Protocol):
    """A mem0 store, for the users of one tenant; implemented in `mnemolog.adapters.mem0`."""

    @property
    def tenant(self) -> str: ...

    async def write(self, user_id: str, items: Mapping[UUID, Item | None]) -> None:
        """Make it hold exactly these of a user, each once; None: nothing. Writing again changes nothing.

        Mem0Unavailable if the store cannot be reached.
        """
        ...

    async def forget(self, user_id: str) -> None:
        """Delete all that was written for a user. Mem0Unavailable if the store cannot be reached."""
        ...

    async def held(self, user_id: str) -> Sequence[Held]:
        """All that was written for a user and is still there. Mem0Unavailable if the store cannot be reached."""
        ...
