"""Forget or erase a scope: a session, everything owned by an agent, or everything agents share (A §9).

All of it is one batch, so that a rollback brings back what was forgotten softly.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from mnemolog.adapters.erasure import erasing
from mnemolog.adapters.services import Services
from mnemolog.commands.artifacts import DeleteArtifact
from mnemolog.commands.entities import ForgetEntity
from mnemolog.commands.erasure import Erase, EraseKnown, EraseMemory, EraseMessages
from mnemolog.commands.fact_changes import ForgetFact
from mnemolog.commands.handler import Keyed
from mnemolog.commands.memories import SoftDeleteMemory
from mnemolog.commands.messages import DeleteMessage
from mnemolog.commands.scopes import EraseScope, OfScope, Reach
from mnemolog.commands.sessions import ForgetSession
from mnemolog.commands.writes.batches import Hiding
from mnemolog.domain.memory import Cause
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events.being_fold import BEING_ENTRY
from mnemolog.events.envelope import Position, Receipt, StreamId, batch_tag
from mnemolog.events.fields import validated
from mnemolog.events.graph import EntityCleared, EntityKept
from mnemolog.events.message import MessageEvent, MessagesErased
from mnemolog.events.message_fold import MESSAGE
from mnemolog.projections.extent import Extent
from mnemolog.projections.reads.moment import Moment

PORTION = 200
# One step: the session, several subjects of one kind to hide, or several subjects to erase.
Step = ForgetSession | list[Hiding] | tuple[Erase, ...]
BATCHES = UUID("0f2f5b66-8c0e-5b52-9d57-3a1d3c1c7a11")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted, its batch, and the position of the last write; None if there was nothing."""

    extent: Extent
    batch: UUID
    receipt: Receipt | None


async def extent(engine: Services, request: OfScope) -> Extent:
    """What it would delete now, including every write that has returned; changes nothing.

    NotPermitted if it would erase private data of agents that the API key does not cover.
    """
    engine.writes.admitted(request)
    head = await engine.log.head(request.stream())
    moment = Moment(after=Position(request.stream(), head) if head else None)
    found = await _extent_at(engine, request, moment)
    if isinstance(request, EraseScope) and engine.principal and engine.principal.bound_agents is not None:
        for command in _erasures(_context(request), found):  # Before the first erasure: it is all or nothing.
            await erasing.extent(engine, command)
    return found


async def _extent_at(engine: Services, request: OfScope, moment: Moment) -> Extent:
    viewer, hard = Viewer(request.tenant, request.user_id, request.agent_id), isinstance(request, EraseScope)
    if request.scope is not Reach.SESSION:
        return await engine.reads.extent(viewer, Scope(request.scope), moment, hard=hard)
    if not request.with_episodes:
        return Extent()
    today = engine.writes.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return await engine.reads.extent_since(viewer, request.thread_id, today, moment, hard=hard)


async def forget(engine: Services, request: OfScope, idempotency_key: str | None = None) -> Forgotten:
    """Delete what `extent` shows, and a session itself. Called again, it deletes what is new.

    The last write has the idempotency key, so that a retry after an interruption does the rest in the same batch.
    """
    keyed = engine.writes.handler.keyed(request, idempotency_key) if idempotency_key is not None else None
    # The same for each retry.
    named = uuid5(BATCHES, f"{request.stream()}\n{keyed.key}\n{keyed.fingerprint.hex()}") if keyed else None
    batch = named or engine.writes.new_id()
    earlier = await engine.writes.handler.earlier(request.stream(), keyed) if keyed else None
    if not earlier:
        found, last = await extent(engine, request), None
        async for receipt in _forgotten(engine, list(_steps(engine, request, found, batch)), keyed):
            last = last if last and receipt.already else receipt  # What went with something else is erased already.
        await _erase_checkpoints(engine, request)
        if not keyed or not last:
            return Forgotten(found, batch, last)
        earlier = last
    else:
        await _erase_checkpoints(engine, request)
    return Forgotten(await _taken(engine, request.stream(), batch), batch, earlier)


async def _erase_checkpoints(engine: Services, request: OfScope) -> None:
    """The state of the agent's graphs, which is of its own. Repeatable."""
    if not isinstance(request, EraseScope) or request.scope is Reach.GLOBAL:
        return
    thread_id = request.thread_id if request.scope is Reach.SESSION else None
    where = (request.tenant, request.stream(), request.agent_id, thread_id)
    for thread in await engine.checkpoints.threads(*where, remains=True):
        await engine.checkpoints.erase(thread)


async def _forgotten(engine: Services, steps: Sequence[Step], keyed: Keyed | None) -> AsyncIterator[Receipt]:
    for place, step in enumerate(steps, 1):
        key = keyed if place == len(steps) else None
        match step:
            case ForgetSession():
                yield await engine.writes.handle(step, key)
            case tuple(erasures):
                for receipt in await erasing.erase_each(engine, erasures, key):
                    yield receipt
            case list(hidings):
                for outcome in await engine.writes.forget_all(hidings, key):
                    if isinstance(outcome, Receipt):  # Otherwise somebody else hid or erased it meanwhile.
                        yield outcome
        engine.report(f"{place / len(steps):.0%}")


def _steps(engine: Services, request: OfScope, found: Extent, batch: UUID) -> Iterator[Step]:
    context = {**_context(request), "correlation_id": batch}
    if request.scope is Reach.SESSION:
        yield validated(ForgetSession, context)
    if isinstance(request, EraseScope):
        erasures = tuple(_erasures(context, found))
        for first in range(0, len(erasures), erasing.ERASED_AT_ONCE):
            yield erasures[first : first + erasing.ERASED_AT_ONCE]
    else:
        yield from _hidings({**context, "reason": getattr(request, "reason", ""), "at": engine.writes.now()}, found)


def _hidings(why: dict[str, Any], found: Extent) -> Iterator[list[Hiding]]:
    """The commands that hide it, each for one kind and at most as many subjects as one append takes."""
    hidings: Sequence[list[Hiding]] = (
        [validated(SoftDeleteMemory, {**why, "memory_id": id_, "cause": Cause.SCOPE}) for id_ in found.memories],
        [validated(DeleteMessage, {**why, "message_id": id_, "cause": Cause.SCOPE}) for id_ in found.messages],
        [validated(ForgetFact, {**why, "relation_id": id_}) for id_ in found.facts],
        [validated(ForgetEntity, {**why, "entity_id": id_}) for id_ in found.entities],
        [validated(DeleteArtifact, {**why, "artifact_id": id_}) for id_ in found.artifacts],
    )
    for commands in hidings:
        for first in range(0, len(commands), PORTION):
            yield commands[first : first + PORTION]


def _erasures(context: dict[str, Any], found: Extent) -> Iterator[Erase]:
    for memory_id in found.memories:
        yield validated(EraseMemory, {**context, "memory_id": memory_id, "with_survivors": True})
    for first in range(0, len(found.messages), MessagesErased.MAX):
        portion = tuple(found.messages[first : first + MessagesErased.MAX])
        yield validated(EraseMessages, {**context, "message_ids": portion, "with_survivors": True})
    for kind, id_ in found.known:
        yield validated(EraseKnown, {**context, "kind": kind, "name": str(id_)})


def _context(request: OfScope) -> dict[str, Any]:
    return request.model_dump(include={"tenant", "user_id", "agent_id", "thread_id", "run_id"})


async def _taken(engine: Services, stream: StreamId, batch: UUID) -> Extent:
    """What the events of a batch deleted, in any of its attempts."""
    taken: dict[str, dict[str, None]] = {}
    events = await engine.log.read(stream, tags=[batch_tag(batch)])
    for event in (one for one in events if not isinstance(one.payload, EntityCleared | EntityKept)):
        if isinstance(event.payload, MessageEvent | MessagesErased):
            taken.setdefault(MESSAGE.name, {}).update(dict.fromkeys(MESSAGE.touched(event.payload)))
            continue
        kind, _, name = event.payload.key_scope().partition(":")
        taken.setdefault(kind, {})[name] = None
    kinds = ("memory", "relation", "entity", "todo", "artifact", BEING_ENTRY.name)
    memories, facts, entities, todos, artifacts, entries = (
        [UUID(name) for name in taken.get(kind, ())] for kind in kinds
    )
    messages, profile = (list(taken.get(name, ())) for name in (MESSAGE.name, "profile"))
    return Extent(memories, facts, entities, todos, profile, artifacts, messages, entries)
