"""Bring back what an import recorded and a rollback hid, when its file is imported again."""

from collections.abc import Iterable
from uuid import UUID

from mnemolog.adapters.erasure.following import followed
from mnemolog.adapters.services import Services
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from mnemolog.events.memory import MemoryReverted
from mnemolog.events.message import MessageReverted


async def restored(
    engine: Services, users: Iterable[str], import_id: UUID, kind: type[MemoryReverted | MessageReverted]
) -> int:
    """Restore what was undone of an import; the number of items of this kind that can be found again.

    A caller who may only publish restores nothing.
    """
    if not engine.writes.may(Role.WRITE):
        return 0
    count = 0
    for user_id in users:
        stream = StreamId.of_user(user_id, engine.settings.tenant)
        named = {"tenant": stream.tenant, "user_id": user_id, "of_batch": import_id, "at": engine.writes.now()}
        async with followed(engine, stream):
            events = await engine.writes.restore_batch(validated(Rollback, named))
        shown = (one for one in events if isinstance(one, kind))
        count += sum(one.status in VISIBLE and one.was not in VISIBLE for one in shown)
    return count
