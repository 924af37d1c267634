"""The reads of the patrol: the scenes of a being."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.moment import NOW, Moment
from mnemolog.domain.patrol import Node
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories import nodes
from mnemolog.projections.memories.tables import NAME

T = TypeVar("T")


class PatrolReads(ABC):
    """The part of `Reads` that tells of beings."""

    async def nodes(self, viewer: Viewer, moment: Moment = NOW) -> Mapping[UUID, Node]:
        """The agent's own scenes that are active or dying, as its patrol sees them (C)."""
        return await self._read(viewer, moment, (NAME,), nodes.of_being)

    @abstractmethod
    async def _read(
        self,
        viewer: Viewer,
        moment: Moment,
        names: Sequence[str],
        ask: Callable[[AsyncConnection, Viewer], Awaitable[T]],
    ) -> T: ...
