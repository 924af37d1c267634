"""Forget by scope: a session, what is an agent's own, or what all agents share; softly, or for good (A §9).

All of it is one undertaking, so that a rollback brings back what was forgotten softly.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from mnemolog.adapters.engine import erasing
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.moment import Moment
from mnemolog.adapters.engine.undertaking_writes import Hiding
from mnemolog.commands.entities import ForgetEntity
from mnemolog.commands.erasure import Erase, EraseKnown, EraseMemory
from mnemolog.commands.fact_changes import ForgetFact
from mnemolog.commands.memories import SoftDeleteMemory
from mnemolog.commands.sessions import ForgetSession
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Cause
from mnemolog.domain.principal import Role
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.events.fields import validated
from mnemolog.projections.extent import Extent

PORTION = 200


class Reach(StrEnum):
    """How far a forgetting goes."""

    SESSION = "session"
    AGENT = "agent"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What is asked. With `session`, `chat_id` names the chat; `with_episodes`: what happened in it today, too.

    `hard` destroys the text for good, also of what was hidden before; what was said in turns goes with the memories
    that were extracted from them, the agent's todos with `agent`, and the profile with `global`.
    """

    viewer: Viewer
    reach: Reach
    chat_id: str | None = None
    with_episodes: bool = False
    hard: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        if self.reach is Reach.SESSION and self.chat_id is None:
            raise InvalidInput("is missing: scope session forgets one chat", field="chat_id", fix="name the chat")
        if self.reach is not Reach.SESSION and self.chat_id is not None:
            message = f"goes with scope session only, not with {self.reach.value}"
            raise InvalidInput(message, field="chat_id", fix="leave it out, or use scope session")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten, under which undertaking, and the last write of it; None when there was nothing."""

    extent: Extent
    undertaking: UUID
    receipt: Receipt | None

    def as_dict(self) -> dict[str, Any]:
        receipt = self.receipt.as_dict() if self.receipt else None
        return {**self.extent.as_dict(), "undertaking": str(self.undertaking), "receipt": receipt}


async def extent(engine: Engine, asked: Forgetting) -> Extent:
    """What it would take now, every write that returned before included; nothing is changed.

    NotPermitted when erasing it would take what agents keep private for whom the API key does not speak.
    """
    stream = StreamId.of_user(asked.viewer.user_id, asked.viewer.tenant)
    if engine.principal and asked.hard:
        engine.principal.require(Role.ERASE)
    head = await engine.log.head(stream)
    moment = Moment(after=Position(stream, head) if head else None)
    found = await _held(engine, asked, moment)
    if asked.hard and engine.principal and engine.principal.bound_agents is not None:
        for command in _erasures(_who(asked), found):  # Before the first is erased: what goes is all or nothing.
            await erasing.extent(engine, command)
    return found


async def _held(engine: Engine, asked: Forgetting, moment: Moment) -> Extent:
    if asked.reach is not Reach.SESSION:
        return await engine.reads.extent(asked.viewer, Scope(asked.reach), moment, hard=asked.hard)
    if not (asked.with_episodes and asked.chat_id):
        return Extent()
    today = engine.writes.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return Extent(await engine.reads.episodes_since(asked.viewer, asked.chat_id, today, moment, hard=asked.hard))


async def forget(engine: Engine, asked: Forgetting) -> Forgotten:
    """Forget what `extent` shows, and a session itself. Again: what came since."""
    found, undertaking = await extent(engine, asked), engine.writes.new_id()
    last: Receipt | None = None
    async for receipt in _forgotten(engine, asked, found, undertaking):
        last = receipt
    return Forgotten(found, undertaking, last)


async def _forgotten(engine: Engine, asked: Forgetting, found: Extent, undertaking: UUID) -> AsyncIterator[Receipt]:
    who = {**_who(asked), "correlation_id": undertaking}
    if asked.chat_id is not None:
        yield await engine.writes.forget_session(validated(ForgetSession, {**who, "thread_id": asked.chat_id}))
    if asked.hard:
        for command in _erasures(who, found):
            yield (await erasing.erase(engine, command)).receipt
        return
    why = {**who, "reason": asked.reason, "at": engine.writes.now()}
    for commands in _softly(why, found):
        for outcome in await engine.writes.forget_all(commands):
            if isinstance(outcome, Receipt):  # Else somebody else hid or erased it meanwhile.
                yield outcome


def _softly(why: dict[str, Any], found: Extent) -> Iterator[Sequence[Hiding]]:
    """The commands that hide it, of one kind each time, so many as one append takes."""
    hidings: Sequence[Sequence[Hiding]] = (
        [validated(SoftDeleteMemory, {**why, "memory_id": id_, "cause": Cause.SCOPE}) for id_ in found.memories],
        [validated(ForgetFact, {**why, "relation_id": id_}) for id_ in found.facts],
        [validated(ForgetEntity, {**why, "entity_id": id_}) for id_ in found.entities],
    )
    for commands in hidings:
        for first in range(0, len(commands), PORTION):
            yield commands[first : first + PORTION]


def _who(asked: Forgetting) -> dict[str, Any]:
    viewer = asked.viewer
    return {"tenant": viewer.tenant, "user_id": viewer.user_id, "agent_id": viewer.agent_id}


def _erasures(who: dict[str, Any], found: Extent) -> Iterator[Erase]:
    for memory_id in found.memories:
        yield validated(EraseMemory, {**who, "memory_id": memory_id, "with_survivors": True})
    for kind, id_ in found.known:
        yield validated(EraseKnown, {**who, "kind": kind, "name": str(id_)})
