"""The reads of a being: its stores, and what comes to its mind (C12, C13, C15)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from uuid import UUID

from mnemolog.domain.being import Store
from mnemolog.domain.origin import Origin, quoted
from mnemolog.domain.recall import ALIVE_WEIGHT, DEAD_WEIGHT, Mode, fragments
from mnemolog.domain.scene import experience_of
from mnemolog.domain.viewer import Viewer
from mnemolog.events.being import entry_tag
from mnemolog.events.memory import Recall
from mnemolog.projections.being import reader, scenes
from mnemolog.projections.history import from_log
from mnemolog.projections.paging import Slice, slice_of
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import BEING, MEMORIES, VECTORS, Reading
from mnemolog.projections.rows import Row
from mnemolog.projections.vectors.question import Question


@dataclass(frozen=True, slots=True)
class Recollection:
    """The scenes that came to mind, nearest first, and their fragments, shuffled.

    `skipped`: why nothing could come to mind.
    """

    memory_ids: Sequence[UUID] = ()
    fragments: Sequence[str] = ()
    skipped: Sequence[str] = ()


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

    async def recall(self, viewer: Viewer, text: str, random: Random, moment: Moment = NOW) -> Recollection:
        """Fragments of up to three of the being's scenes that are similar to a text (C §Recall Flow)."""
        question, rows = await self._come_to_mind(viewer, text, moment)
        return Recollection([row["memory_id"] for row in rows], fragments_of(rows, random), question.skipped)

    async def _come_to_mind(
        self, viewer: Viewer, text: str, moment: Moment, *, trusted_only: bool = False
    ) -> tuple[Question, Sequence[Row]]:
        question, found = await self._by_meaning(viewer, moment, (MEMORIES, VECTORS), text, scenes.similar)
        rows = [row for row in found if not (trusted_only and Origin(row["origin"]).external)]
        self._reactivated(viewer, moment, rows, Recall.RECALL)
        return question, rows

    async def recall_memory(
        self, viewer: Viewer, cluster: str, limit: int = 100, moment: Moment = NOW
    ) -> Sequence[Row]:
        """The being's scenes in a cluster, dead ones too, those last recalled first (C ❺)."""
        rows = await self._read(viewer, moment, (MEMORIES,), partial(scenes.of_cluster, cluster=cluster, limit=limit))
        self._reactivated(viewer, moment, rows, Recall.RECALL_MEMORY)
        return rows

    async def search_memory(
        self, viewer: Viewer, query: str, mode: Mode = Mode.OR, limit: int = 100, moment: Moment = NOW
    ) -> Sequence[Row]:
        """The being's scenes with these words, dead ones too, those last recalled first (C §search_memory)."""
        ask = partial(scenes.with_words, query=query, mode=mode, limit=limit)
        rows = await self._read(viewer, moment, (MEMORIES,), ask)
        self._reactivated(viewer, moment, rows, Recall.SEARCH_MEMORY)
        return rows

    def _reactivated(self, viewer: Viewer, moment: Moment, rows: Sequence[Row], by: Recall) -> None:
        """Note the reactivations, which are written later (C ❺). A read of the past reactivates nothing."""
        if moment.as_of is None:
            weigh = {True: DEAD_WEIGHT, False: ALIVE_WEIGHT}
            self.recalled(viewer, {row["memory_id"]: weigh[row["status"] == scenes.DEAD] for row in rows}, by)

    async def entry_history(
        self, viewer: Viewer, entry_id: UUID, limit: int = 100, moment: Moment = NOW, cursor: str | None = None
    ) -> Slice:
        """How one of the being's entries was set, read and removed, newest first."""
        read = partial(from_log.of_entry, entry_id=entry_id)
        return slice_of(await self._from_log(viewer, moment, entry_tag(entry_id), read), "id", limit, cursor)


def fragments_of(rows: Sequence[Row], random: Random) -> Sequence[str]:
    return fragments(map(_parts, rows), random)


def _parts(row: Row) -> Sequence[str]:
    """The action and the feeling of a scene. What comes from outside is quoted (X21)."""
    told = experience_of(row["experience"]) if row["experience"] else None
    action = told.scene.action if told and told.scene else row["text"]
    parts = [action, told.feeling if told else ""]
    return [quoted(part) for part in parts if part] if Origin(row["origin"]).external else parts
