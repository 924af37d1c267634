"""The reads of summaries."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from mnemolog.domain.summary import SummaryKind
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.paging import Slice
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import SUMMARIES, Reading
from mnemolog.projections.summaries import reader


class SummaryReads(Reading):
    """The part of `Reads` that tells of summaries."""

    async def summary(self, viewer: Viewer, summary_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        """One summary of the viewing agent."""
        return await self._read(viewer, moment, (SUMMARIES,), partial(reader.one, summary_id=summary_id))

    async def summaries(
        self,
        viewer: Viewer,
        thread_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 100,
        moment: Moment = NOW,
        cursor: str | None = None,
    ) -> Slice:
        """The summaries of the viewing agent, the newest first."""
        ask = partial(reader.newest, thread_id=thread_id, kind=kind, limit=limit, cursor=cursor)
        return await self._read(viewer, moment, (SUMMARIES,), ask)
