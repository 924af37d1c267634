"""The patrol: closes the cycle of an agent whose session has ended (C ❷, ❸, ❺)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.adapters.services import Services
from mnemolog.commands.patrol import CloseCycle
from mnemolog.domain.errors import MnemologError, NotFound
from mnemolog.domain.memory import Status
from mnemolog.domain.patrol import over
from mnemolog.domain.viewer import Viewer
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Header, Position, Receipt, StreamId
from mnemolog.events.fields import validated
from mnemolog.events.memory import MemoryStatusChanged
from mnemolog.events.patrol import cycle_tag
from mnemolog.projections.memories.nodes import beings
from mnemolog.projections.reads.moment import Moment

_logger = logging.getLogger("mnemolog.patrol")

ACTOR = "patrol"


@dataclass(frozen=True, slots=True)
class Closed:
    """A closed cycle of a being: the scenes that began to die, and those that are active again."""

    being: Viewer
    dying: tuple[UUID, ...]
    revived: tuple[UUID, ...]
    receipt: Receipt

    def as_dict(self) -> dict[str, Any]:
        return {
            "user_id": self.being.user_id,
            "agent_id": self.being.agent_id,
            "dying": [str(id_) for id_ in self.dying],
            "revived": [str(id_) for id_ in self.revived],
            "receipt": self.receipt.as_dict(),
        }


class Patrol:
    """Closes the cycle of each being whose session has ended, once per session.

    It remembers up to which seq a stream has no turns of a waiting being, so that a silent being costs no reads.
    """

    def __init__(self, engine: Services) -> None:
        self._engine = engine
        self._quiet: dict[Viewer, int] = {}

    async def run(self, now: datetime | None = None) -> Sequence[Closed]:
        """One pass over the beings of all users. A damaged stream does not affect the others."""
        closed: list[Closed] = []
        async with self._engine.projections.live.connect() as connection:
            async for page in beings(connection):
                await connection.commit()  # No transaction stays open meanwhile.
                for being in page:
                    try:
                        closed += await self._looked_after(being, now or self._engine.writes.now())
                    except MnemologError as error:
                        _logger.warning("the cycle of %s waits: %s", being.agent_id, type(error).__name__)
        return closed

    async def _looked_after(self, being: Viewer, now: datetime) -> Sequence[Closed]:
        head = await self._engine.log.head(_stream(being))
        if self._quiet.get(being) == head:
            return []
        turn = await self._last_turn(being)
        if turn is None:
            self._quiet[being] = head
            return []
        if not over(turn.recorded_at, now):
            return []
        # Two processes close the same session only once.
        return [await close_cycle(self._engine, being, actor=ACTOR, key=f"cycle:{being.agent_id}:{turn.seq}")]

    async def _last_turn(self, being: Viewer) -> Header | None:
        """The being's last turn since its last cycle, from headers only."""
        log, stream, last = self._engine.log, _stream(being), None
        cycles = await log.read(stream, tags=[cycle_tag(being.agent_id)])
        async for batch in log.scan(stream, after=cycles[-1].seq if cycles else 0):
            for header in (one.header for one in batch):
                if header.type == TurnRecorded.type_name() and header.meta["agent_id"] == being.agent_id:
                    last = header
        return last


async def close_cycle(engine: Services, being: Viewer, *, actor: str | None = None, key: str | None = None) -> Closed:
    """Close a being's cycle now, on the basis of everything written and recalled so far."""
    await engine.recalls.flush()
    stream = _stream(being)
    moment = Moment(after=Position(stream, await engine.log.head(stream)))
    nodes = await engine.reads.nodes(being, moment)
    if not nodes:
        raise NotFound(
            f"agent {being.agent_id!r} has no scenes of user {being.user_id!r}",
            field="agent_id",
            fix="give a user and an agent with memories of kind `scene` and scope `agent`",
        )
    due = {id_: node.session_count for id_, node in nodes.items() if node.after_cycle().status is not node.status}
    fields = {"memory_ids": tuple(due), "session_counts": tuple(due.values()), **({"actor": actor} if actor else {})}
    owner = {"tenant": being.tenant, "user_id": being.user_id, "agent_id": being.agent_id}
    receipt = await engine.writes.close_cycle(validated(CloseCycle, {**owner, **fields}), key)
    written = await engine.log.read(stream, after=receipt.first_seq - 1, until=receipt.last_seq)
    turned = [one.payload for one in written if isinstance(one.payload, MemoryStatusChanged)]
    return Closed(
        being,
        dying=tuple(one.memory_id for one in turned if one.status is Status.DYING),
        revived=tuple(one.memory_id for one in turned if one.status is Status.ACTIVE),
        receipt=receipt,
    )


def _stream(being: Viewer) -> StreamId:
    return StreamId.of_user(being.user_id, being.tenant)
