"""For an ambiguous name: which entity is active, and when each was last seen (A §10.2)."""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from mnemolog.adapters.reads.mentions import Mentions
from mnemolog.adapters.reads.reads import Reads
from mnemolog.commands.decider import Command
from mnemolog.commands.naming import Seen
from mnemolog.domain.errors import AmbiguousEntity, NotFound, ReadTimeout, ServerFailed
from mnemolog.domain.mention import phrases
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Position
from mnemolog.events.log import EventLog
from mnemolog.projections.reads.moment import NOW, Moment


class Sightings:
    def __init__(self, reads: Reads, log: EventLog) -> None:
        self._reads, self._log, self._mentions = reads, log, Mentions(reads)

    async def of(self, command: Command, error: AmbiguousEntity) -> Sequence[Seen]:
        """What is known about the candidates. Without a session, none of them was mentioned recently."""
        viewer = Viewer(command.tenant, command.user_id, command.agent_id)
        active: Sequence[str] = ()
        with suppress(NotFound, ServerFailed):
            active = (await self._reads.session(viewer, command.thread_id)).active_entity_ids
        candidates = {str(one["entity_id"]) for one in error.candidates}
        stream = command.stream()
        deadline = self._reads.callers.limits.deadline
        written = Moment(after=Position(stream, await self._log.head(stream)), deadline=deadline)
        try:
            rows = await self._reads.entities(viewer, written)
        except ReadTimeout:
            rows = await self._reads.entities(viewer, NOW)
        found = [row for row in rows if str(row["entity_id"]) in candidates]
        return [
            Seen(entity_id=row["entity_id"], active=str(row["entity_id"]) in active, last_seen=row["last_seen"])
            for row in found
        ]

    async def mentioned(self, command: Command, text: str) -> Sequence[UUID]:
        return await self._mentions.of(Viewer(command.tenant, command.user_id, command.agent_id), phrases(text))

    async def aclose(self) -> None:
        await self._mentions.aclose()
