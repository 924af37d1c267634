"""The reads of the patrol: the scenes of a being."""

from collections.abc import Mapping
from uuid import UUID

from mnemolog.domain.patrol import Node
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories import nodes
from mnemolog.projections.memories.tables import NAME
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import Reading


class PatrolReads(Reading):
    """The part of `Reads` that tells of beings."""

    async def nodes(self, viewer: Viewer, moment: Moment = NOW) -> Mapping[UUID, Node]:
        """The agent's own scenes that are active or dying, as its patrol sees them (C)."""
        return await self._read(viewer, moment, (NAME,), nodes.of_being)
