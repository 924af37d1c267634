"""Erasure end to end: keys, projections, older schemas, waiting turns and dead letters (X07).

Each step can be repeated: whoever was interrupted erases again. A caller who is cancelled would not, and the embeddings
and files of artifacts, which no projector removes, would stay: so an erasure that began goes on to its end. If its
process is killed before that, a job finishes it.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

from redis.exceptions import ResponseError

from mnemolog.adapters.artifacts.content import delete_blobs
from mnemolog.adapters.cancellation import carried_through
from mnemolog.adapters.erasure.following import followed
from mnemolog.adapters.erasure.messages import TurnSelection, purge_turns
from mnemolog.adapters.erasure.stale_schemas import forget_embeddings, forget_in_stale_schemas
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.redis.client import RedisClient, connect
from mnemolog.adapters.redis.rebuildable import SHADOW
from mnemolog.adapters.redis.working import OtherWorker, WorkingStore
from mnemolog.adapters.services import Services
from mnemolog.commands.erasure import (
    ERASURE,
    USER_ERASURE,
    Erase,
    EraseMessages,
    EraseThread,
    EraseUser,
    at_stake,
    left,
    require_own,
    require_there,
)
from mnemolog.commands.erasure_taken import Taken, taken
from mnemolog.commands.handler import ATTEMPTS, Keyed
from mnemolog.commands.speakers import spoken_in
from mnemolog.domain.errors import Conflict, EngineError, MnemologError, NotFound, ReadTimeout
from mnemolog.domain.memory import Cause
from mnemolog.domain.message import subject_id
from mnemolog.events.artifacts import texts_in
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.documents import chunks_in
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.events.erasure import UserErased
from mnemolog.events.memory import MemoryCreated
from mnemolog.projections.owner import owner_of

# What takes longest, to remove what was erased from everywhere, is done once for so many.
ERASED_AT_ONCE = 20
FINISH = "finish-erasure"
# Longer than most erasures take; a job that comes earlier does what they do once more.
AFTER_A_CRASH = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased. `messages` counts waiting turns and dead letters that were deleted on JetStream.

    `held_up`: projections that could not reach the erasure by themselves, and why. The text was removed from them, and
    they continue without it after a retry or resume.
    """

    receipt: Receipt
    extent: Taken
    messages: int
    held_up: Mapping[str, MnemologError] = field(default_factory=dict)


async def extent(engine: Services, command: Erase | EraseUser) -> Taken:
    """What the command would erase; changes nothing. NotFound if there is nothing that it names."""
    if isinstance(command, EraseUser):
        if engine.principal:
            engine.principal.require(command.needs)
            engine.principal.require_user(command.tenant, command.user_id)
            engine.principal.require_every_agent()
        if not await engine.log.head(command.stream()):
            raise _no_such_user(command.stream())
        return await everything_of(engine, command.stream())
    command, found = await _judged(engine, command)
    state = await engine.writes.handler.read(ERASURE, command)
    require_there(state, command)
    return left(state, found)


@carried_through
async def erase(engine: Services, command: Erase | EraseUser, idempotency_key: str | Keyed | None = None) -> Erasure:
    """Returns once no projection shows the text any more, including stopped and paused ones.

    Erasing again changes nothing.
    """
    async with _cleaned(engine, command.stream()) as cleaned:
        cleaned.written.append(await _write(engine, command, idempotency_key))
    [written] = cleaned.written
    return Erasure(written.receipt, written.found, cleaned.messages, cleaned.held_up)


@carried_through
async def erase_each(engine: Services, commands: Sequence[Erase], key: Keyed | None) -> Sequence[Receipt]:
    """Like `erase`, for several subjects of one user; the last one has the key.

    Those before an error are removed from everywhere.
    """
    async with _cleaned(engine, commands[0].stream()) as cleaned:
        for place, command in enumerate(commands, 1):
            cleaned.written.append(await _write(engine, command, key if place == len(commands) else None))
    return [one.receipt for one in cleaned.written]


@carried_through
async def erase_allowed(engine: Services, commands: Sequence[Erase]) -> Sequence[Receipt | Conflict]:
    """Like `erase_each`; what must stay, as its text would live on elsewhere, has the refusal in place of a receipt."""
    outcomes: list[Receipt | Conflict] = []
    async with _cleaned(engine, commands[0].stream()) as cleaned:
        for command in commands:
            try:
                cleaned.written.append(await _write(engine, command, None))
                outcomes.append(cleaned.written[-1].receipt)
            except Conflict as refusal:
                outcomes.append(refusal)
    return outcomes


@dataclass(frozen=True, slots=True)
class _Written:
    """An erasure in the log: what was asked for, what it took, and where it stands."""

    command: Erase | EraseUser
    found: Taken
    receipt: Receipt


async def _write(engine: Services, command: Erase | EraseUser, idempotency_key: str | Keyed | None) -> _Written:
    stream = command.stream()
    if isinstance(command, EraseUser):
        await extent(engine, command)
        receipt = await _user_erased(engine, command, idempotency_key)
        return _Written(command, await everything_of(engine, stream, receipt.last_seq), receipt)
    command, before = await _judged(engine, command)
    with_turns = before.turns and not (isinstance(command, EraseMessages) and command.cause is Cause.TTL)
    async with followed(engine, stream) if with_turns else nullcontext():
        receipt = await engine.writes.handler.handle(ERASURE, command, idempotency_key=idempotency_key)
    return _Written(command, before, receipt)


@dataclass(slots=True)
class _Cleaned:
    """What was written of one user, and at the end `messages` and `held_up` of the erasure."""

    written: list[_Written] = field(default_factory=list)
    messages: int = 0
    held_up: Mapping[str, MnemologError] = field(default_factory=dict)


@asynccontextmanager
async def _cleaned(engine: Services, stream: StreamId) -> AsyncIterator[_Cleaned]:
    """At the end, what was written is removed from everywhere else; by a job, if this process does not come to that."""
    after, run_at = await engine.log.head(stream), engine.jobs.now() + AFTER_A_CRASH
    spare = await engine.jobs.enqueue(FINISH, {"after": after}, stream=stream, run_at=run_at)
    cleaned, certain = _Cleaned(), True
    try:
        yield cleaned
    except EngineError:  # It may have been written, too.
        certain = False
        raise
    finally:
        if cleaned.written:
            cleaned.messages, cleaned.held_up = await _clean(engine, cleaned.written)
        if certain:
            await engine.jobs.withdraw(spare.job_id)


async def _clean(engine: Services, written: Sequence[_Written]) -> tuple[int, Mapping[str, MnemologError]]:
    """Returns `messages` and `held_up` of the erasure."""
    gone, positions = _gone(written), sorted({one.receipt.position for one in written}, key=lambda at: at.seq)
    taken = [id_ for one in written for id_ in (*one.found.memories, *map(subject_id, one.found.turns))]
    try:
        command, receipt = written[-1].command, written[-1].receipt
        turns = frozenset(turn for one in written for turn in one.found.turns)
        waiting, set_aside = _named(command, turns, await engine.api_keys.producers())
        if isinstance(command, EraseUser) and await _came_back(engine, receipt):
            set_aside = waiting
        messages = await purge_turns(engine.nats.jetstream(), waiting, set_aside)
    finally:  # JetStream may not answer, and the log of API keys may be damaged: the rest goes nevertheless.
        held_up = await remove(engine, positions, taken, gone)
    if gone is None and not await _came_back(engine, written[-1].receipt):
        await forget_work(engine, positions[-1].stream)
    return messages, held_up


async def forget_work(engine: Services, stream: StreamId) -> None:
    """Delete the webhooks and jobs of an erased user, also the one that would finish the erasure."""
    await engine.webhooks.store.forget(stream)
    await engine.jobs.forget(stream)


async def _came_back(engine: Services, receipt: Receipt) -> bool:
    """Whether this is a retry of a user's erasure, by its key, which does not cover what was written since."""
    return receipt.already and await engine.log.head(receipt.stream) > receipt.last_seq


async def remove(
    engine: Services, positions: Sequence[Position], indexed: Collection[UUID], gone: frozenset[str] | None
) -> Mapping[str, MnemologError]:
    """Remove the text of a user's erasures from projections, checkpoints and files.

    `indexed` are the memories and messages that were erased, `gone` the tags of all that was, None for everything.
    Returns the projections that are held up, and why.
    """
    stream = positions[0].stream
    try:
        return await _forgotten(engine, positions)
    finally:
        texts = await _texts(engine, stream, gone) if gone else ()
        await _sweep(engine, stream, [*indexed, *texts])
        await engine.checkpoints.delete_erased(stream)
        await delete_blobs(engine, stream, gone, positions[-1].seq)


def _gone(written: Sequence[_Written]) -> frozenset[str] | None:
    """The tags of what was erased; None for everything. A subject is named again when it was erased before."""
    gone = set[str]()
    for one in written:
        if isinstance(one.command, EraseUser):
            return None
        gone |= {one.command.subject(), *one.found.known}
    return frozenset(gone)


async def _texts(engine: Services, stream: StreamId, tags: Collection[str]) -> Sequence[UUID]:
    """The ids of all texts that these artifacts and documents ever had, from the open part of their events."""
    if not (of := [tag for tag in tags if ARTIFACT.has(tag) or DOCUMENT.has(tag)]):
        return []
    events = await engine.log.read(stream, tags=of, unread=True)
    return [one for event in events for one in (*texts_in(event), *chunks_in(event))]


def _no_such_user(stream: StreamId) -> NotFound:
    return NotFound(f"there is no user {stream.owner!r}", field="user_id", fix="give a user that has memories")


async def _user_erased(engine: Services, command: EraseUser, idempotency_key: str | Keyed | None) -> Receipt:
    """Nothing is written if the last event is the erasure of the user."""
    stream, handler = command.stream(), engine.writes.handler
    if isinstance(idempotency_key, str):
        idempotency_key = handler.keyed(command, idempotency_key)
    if idempotency_key and (earlier := await handler.earlier(stream, idempotency_key)):
        return earlier
    head = await engine.log.head(stream)
    if not head:
        raise _no_such_user(stream)
    [[last]] = [batch async for batch in engine.log.scan(stream, after=head - 1, until=head)]
    if last.header.type == UserErased.type_name():  # By its header: a user with undecodable events can be erased, too.
        return Receipt(stream, (last.header.event_id,), head, head, already=True)
    return await handler.handle(USER_ERASURE, command, idempotency_key=idempotency_key)


async def _judged(engine: Services, command: Erase) -> tuple[Erase, Taken]:
    """The command, with the other turns of affected speakers, and what it would erase."""
    state = await engine.writes.handler.read(ERASURE, command)
    found, speakers = taken(state, command), at_stake(state, command)
    elsewhere = await spoken_in(engine.log, command.stream(), speakers, found.turns)
    if elsewhere:
        command = command.model_copy(update={"spoken_in": elsewhere})
        state = await engine.writes.handler.read(ERASURE, command)
        found = taken(state, command)
    require_own(state, engine.writes.admitted(command), found)
    return command, found


async def _forgotten(engine: Services, positions: Sequence[Position]) -> Mapping[str, MnemologError]:
    """Wait for the projections, and remove the text from those that cannot reach the erasures; returns these."""
    at = positions[-1]
    held_up = dict(await engine.reads.held_up(at))
    if not held_up:
        return held_up
    erasures = [
        one for each in positions for one in await engine.log.read(at.stream, after=each.seq - 1, until=each.seq)
    ]
    if not isinstance(erasures[-1].payload, UserErased):
        held_up = dict(await _still_held_up(engine, at, held_up))
    paused = await engine.projections.paused()
    for name in list(held_up):
        projection = engine.projections.running[name]
        for erasure in erasures:
            await projection.forget(erasure)
        if name not in paused:
            with suppress(*projection.transient):
                await projection.retry(at.stream)  # So that a new stop is noticed.
        if await projection.store.progress(at.stream) >= at.seq:
            del held_up[name]
    return held_up


async def _still_held_up(
    engine: Services, at: Position, held_up: Mapping[str, MnemologError]
) -> Mapping[str, MnemologError]:
    """One that is only late is waited for as long as it goes on: the whole stream would be reapplied to it."""
    reached = dict[str, int]()
    while True:
        late = [name for name, error in held_up.items() if type(error) is ReadTimeout]
        before, reached = reached, {name: await engine.projections.stores[name].progress(at.stream) for name in late}
        if not any(seq > before.get(name, -1) for name, seq in reached.items()):
            return held_up
        held_up = await engine.reads.held_up(at)


def _named(
    command: Erase | EraseUser, turns: frozenset[str], keyed: Collection[str]
) -> tuple[TurnSelection, TurnSelection]:
    """Waiting turns that were recorded already; and all dead letters of its subject."""
    stream = command.stream()
    waiting = TurnSelection(stream, turns=turns, keyed=keyed)
    match command:
        case EraseUser():
            return waiting, TurnSelection(stream, everything=True)
        case EraseThread(thread_id=thread_id):
            return waiting, replace(waiting, threads=frozenset({thread_id}))
        case _:
            return waiting, waiting


async def everything_of(engine: Services, stream: StreamId, until: int | None = None) -> Taken:
    """From headers only, so that undecodable events do not prevent the erasure of a user."""
    found: dict[str, dict[str, None]] = {MemoryCreated.type_name(): {}, TurnRecorded.type_name(): {}}
    kinds = {MemoryCreated.type_name(): "memory:", TurnRecorded.type_name(): turn_tag("")}
    async for batch in engine.log.scan(stream, until=until):
        for header in (event.header for event in batch if event.header.type in kinds):
            kind = kinds[header.type]
            found[header.type].update({tag.removeprefix(kind): None for tag in header.tags if tag.startswith(kind)})
    memories, turns = found.values()
    return Taken(tuple(map(UUID, memories)), tuple(turns))


async def _sweep(engine: Services, stream: StreamId, indexed: Sequence[UUID]) -> None:
    """What no projector covers: stale schemas in Postgres, shadows in Redis, and Redis' append-only file."""
    await engine.reads.replays.forget(stream)
    stores = [store for store in engine.projections.stores.values() if isinstance(store, PostgresStore)]
    shown = {former.schema for store in stores if (former := await store.look())}
    await forget_in_stale_schemas(engine.projections.live, {*shown, *(store.schema for store in stores)}, stream)
    if engine.projections.split:  # Rows from before projections had their own database.
        await forget_in_stale_schemas(engine.projections.beside_log, (), stream)
        await forget_embeddings(engine.projections.beside_log, stream)
    # Once more: a rebuild that had already read the text may have stored its embedding after the projector's sweep.
    async with engine.projections.live.begin() as connection:
        await engine.projections.index.remove(connection, [(*owner_of(stream), one) for one in indexed])
    redis = await connect(engine.endpoints.redis_url)
    try:
        await _forget_shadow(WorkingStore(redis, SHADOW), stream)
        if engine.settings.redis_url is None:
            await _rewrite(redis)
    finally:
        await redis.aclose()


async def _forget_shadow(shadow: WorkingStore, stream: StreamId) -> None:
    """Remove a user from a rebuild of working memory, current or abandoned: it reads the events again."""
    await shadow.resume([stream])
    for _ in range(ATTEMPTS):
        if not (await shadow.progress(stream) or await shadow.keys_of(stream)):
            return
        with suppress(OtherWorker):  # A rebuild was faster.
            async with shadow.session([stream]) as session:
                await session.reset(stream)


async def _rewrite(redis: RedisClient) -> None:
    """Rewrite the embedded server's append-only file, without what was deleted."""
    try:
        await redis.bgrewriteaof()
    except ResponseError:  # One is running: it began after the deletion, or the next erasure does it.
        return
