"""Export: everything in the log about a user, line by line, with memory bounded by a batch (X17)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from mnemolog.adapters.blobs.store import blob_name
from mnemolog.adapters.checkpoints.transfer import Snapshot, Started
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export.form import BlobLine, CheckpointLine, End, EventLine, Head, written
from mnemolog.domain.errors import Conflict, LogError, NotFound
from mnemolog.domain.principal import Role
from mnemolog.events.artifacts import blobs_in
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.log import EventLog
from mnemolog.events.registry import SHREDDING
from mnemolog.events.unread import Unread


async def head_of(engine: Engine, stream: StreamId) -> Head:
    """The content of the first line; NotFound if nothing is known about the user.

    The export contains what every agent knows, so a principal needs the role admin and no restriction to agents.
    """
    require_admin(engine, stream)
    head = await engine.log.head(stream)
    if not head:
        raise NotFound(f"there is no user {stream.owner!r}", field="user_id", fix="give a user that has memories")
    policies = dict(await engine.policies.of_stream(stream))
    return Head(user_id=stream.owner, events=head, head=head, policies=policies)


def require_admin(engine: Engine, stream: StreamId) -> None:
    """NotPermitted, or NotFound for a user out of scope, unless the engine's principal may export and import users."""
    if engine.principal:
        engine.principal.require(Role.ADMIN)
        engine.principal.require_user(stream.tenant, stream.owner)
        engine.principal.require_every_agent()


async def lines(engine: Engine, stream: StreamId, head: Head) -> AsyncIterator[tuple[int, bytes]]:
    """The lines in chunks, each with its number of events; a reader sees the stream as it was at `head`.

    Conflict at the end if something was erased meanwhile: the chunks read before may contain its text.
    """
    async with Snapshot.taken(engine.endpoints.postgres_dsn, engine.checkpoints, stream) as checkpoints:
        yield 0, written(head.model_copy(update={"checkpoints": bool(checkpoints.boxes)}))
        started = Started()
        async for batch in engine.log.scan(stream, until=head.head):
            found = await _lines(engine.log, batch)
            yield len(batch), b"".join(map(written, found))
            for event, line in zip(batch, found, strict=True):
                started.take(event.header.type, event.header.tags)
                for blob in blobs_in(event.header):
                    content = await engine.blobs.get(blob_name(stream, blob))
                    if content is not None or not line.erased:
                        yield 0, written(BlobLine.of(blob, content))
        if checkpoints.boxes:
            count = 0
            async with aclosing(checkpoints.parts(started)) as parts:
                async for part in parts:
                    yield 0, written(CheckpointLine.of(part))
                    count += 1
            yield 0, written(End(parts=count))
    async for batch in engine.log.scan(stream, after=head.head):
        if not SHREDDING.isdisjoint(event.header.type for event in batch):
            what = f"something of {stream.owner!r} was erased meanwhile"
            raise Conflict(what, field="user_id", fix="export again")


async def _lines(log: EventLog, batch: Sequence[StoredEvent]) -> Sequence[EventLine]:
    """The lines of a batch; an event that cannot be read does not affect others."""
    try:
        pairs = zip(batch, await log.decode(batch), strict=True)
        return [_line(stored, event) for stored, event in pairs]
    except (LogError, ValueError):
        if len(batch) == 1:
            return [EventLine.as_it_stands(batch[0])]
    return [line for event in batch for line in await _lines(log, [event])]


def _line(stored: StoredEvent, event: Recorded) -> EventLine:
    return EventLine.as_it_stands(stored) if isinstance(event.payload, Unread) else EventLine.of(event)
