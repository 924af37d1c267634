"""The reads of a being: its stores (C15)."""

from collections.abc import Collection
from functools import partial
from uuid import UUID

from mnemolog.domain.being import Store
from mnemolog.domain.viewer import Viewer
from mnemolog.events.being import entry_tag
from mnemolog.projections.being import reader
from mnemolog.projections.history import from_log
from mnemolog.projections.paging import Slice, slice_of
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import BEING, Reading


class BeingReads(Reading):
    """The part of `Reads` for a being. A being is an agent of one user."""

    async def being_entries(
        self,
        viewer: Viewer,
        stores: Collection[Store] = (),
        read: bool | None = None,
        moment: Moment = NOW,
        limit: int | None = 100,
        cursor: str | None = None,
    ) -> Slice:
        """The being's own entries in these stores, or in all, oldest first (C15)."""
        ask = partial(reader.listed, stores=stores, read=read, limit=limit, cursor=cursor)
        return await self._read(viewer, moment, (BEING,), ask)

    async def entry_history(
        self, viewer: Viewer, entry_id: UUID, limit: int = 100, moment: Moment = NOW, cursor: str | None = None
    ) -> Slice:
        """How one of the being's entries was set, read and removed, newest first."""
        read = partial(from_log.of_entry, entry_id=entry_id)
        return slice_of(await self._from_log(viewer, moment, entry_tag(entry_id), read), "id", limit, cursor)
