"""Expires proposals that were not decided in time (B §10). Idempotent."""

from uuid import UUID

from mnemolog.adapters.services import Services
from mnemolog.domain.errors import NotFound
from mnemolog.events.envelope import StreamId
from mnemolog.projections.profile import reader


async def expire(engine: Services) -> list[UUID]:
    """Expire proposals of all users; returns their ids."""
    expired: list[UUID] = []
    async with engine.projections.live.connect() as connection:
        async for page in reader.overdue(connection, engine.writes.now()):
            await connection.commit()  # No transaction stays open while they are decided.
            expired += [patch_id for stream, patch_id in page if await _expired(engine, stream, patch_id)]
    return expired


async def _expired(engine: Services, stream: StreamId, patch_id: UUID) -> bool:
    try:
        return not (await engine.writes.expire_patch(stream, patch_id)).already
    except NotFound:  # It was erased meanwhile.
        return False
