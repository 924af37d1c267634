"""What writes ask of the read side, as ports: it is found before a decision, and kept in its event."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from mnemolog.commands.decider import Command
from mnemolog.commands.memories import CreateMemory, UpdateMemory
from mnemolog.commands.naming import Seen
from mnemolog.domain.errors import AmbiguousEntity


class Neighbours(Protocol):
    async def beside(self, command: CreateMemory | UpdateMemory) -> CreateMemory | UpdateMemory:
        """The command with what its text is like."""
        ...


class Sightings(Protocol):
    async def of(self, command: Command, error: AmbiguousEntity) -> Sequence[Seen]:
        """What is known of the candidates of a name."""
        ...

    async def mentioned(self, command: Command, text: str) -> Sequence[UUID]:
        """The entities that a text names, as far as the read models know them by now."""
        ...
