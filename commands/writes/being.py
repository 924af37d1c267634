"""The writes of a being's stores: a part of `Writes`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from mnemolog.commands.being import BEING, PutEntry
from mnemolog.commands.handler import Handler
from mnemolog.events.being import BeingEntryEvent
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated
from mnemolog.events.log import EventLog, event_of


class BeingWrites:
    """What `Writes` does to the stores of a being."""

    _handler: Handler
    _log: EventLog

    async def put_entry(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> tuple[UUID, Receipt]:
        """An entry of a store, in place of the one with its key; its id, and a receipt."""
        command = validated(PutEntry, {"entry_id": self._handler.new_id(), **fields})
        receipt = await self._handler.handle(BEING, command, idempotency_key=idempotency_key)
        put = await event_of(self._log, receipt)
        assert isinstance(put, BeingEntryEvent)
        return put.entry_id, receipt
