"""The writes of the graph: a part of `Writes`."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from mnemolog.commands.decider import Decider
from mnemolog.commands.entities import ENTITIES, ObserveEntity, known_as
from mnemolog.commands.facts import FACTS, Remember
from mnemolog.commands.graph import Graph
from mnemolog.commands.handler import Handler
from mnemolog.commands.writes.ports import Sightings
from mnemolog.commands.writes.sources import traced
from mnemolog.domain.errors import AmbiguousEntity
from mnemolog.domain.predicates import Predicate, PredicatePolicy
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated
from mnemolog.events.graph import EntityEvent, RelationEvent
from mnemolog.events.log import EventLog, event_of

Naming = TypeVar("Naming", Remember, ObserveEntity)


class GraphWrites:
    """What `Writes` does to entities and facts."""

    _handler: Handler
    _log: EventLog
    _predicates: PredicatePolicy
    _sightings: Sightings | None

    async def remember(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> tuple[UUID, Receipt]:
        """A fact, by the names of what it is about; the id is that of the relation that holds it."""
        return await self._remembered(self.fact(fields), idempotency_key)

    async def _remembered(self, command: Remember, idempotency_key: str | None) -> tuple[UUID, Receipt]:
        receipt, _ = await self._named(FACTS, await traced(self._log, self._handler, command), idempotency_key)
        told = await event_of(self._log, receipt, -1)
        assert isinstance(told, RelationEvent)
        return told.relation_id, receipt

    def fact(self, fields: Mapping[str, Any]) -> Remember:
        """The command, with what is configured of its predicate."""
        generated = {name: self._handler.new_id() for name in ("relation_id", "subject_id", "object_id")}
        command = validated(Remember, {"at": self._handler.now(), **fields, **generated, "rule": Predicate("")})
        return command.model_copy(update={"rule": self._predicates.rule(command.predicate)})

    async def observe_entity(
        self, fields: Mapping[str, Any], idempotency_key: str | None = None
    ) -> tuple[UUID, Receipt]:
        """The entity with a name, added if there is none; returns its id."""
        request = validated(ObserveEntity, {**fields, "entity_id": self._handler.new_id()})
        receipt, command = await self._named(ENTITIES, request, idempotency_key)
        if not receipt.already:
            return await self._observed(receipt), receipt
        state = await self._handler.read(ENTITIES, command)
        found = None if command.another or idempotency_key else known_as(state, self._handler.admitted(command))
        return (found.entity_id if found else await self._observed(receipt)), receipt

    async def _named(
        self, decider: Decider[Any, Graph], command: Naming, idempotency_key: str | None
    ) -> tuple[Receipt, Naming]:
        """An ambiguous name is decided again with what the session and the graph know of the candidates."""
        told_at = command.told_at if isinstance(command, Remember) else None
        handle = partial(self._handler.handle, decider, occurred_at=told_at, idempotency_key=idempotency_key)
        try:
            return await handle(command), command
        except AmbiguousEntity as error:
            if self._sightings is None:
                raise
            seen = tuple(await self._sightings.of(self._handler.admitted(command), error))
        informed = command.model_copy(update={"seen": seen})
        return await handle(informed), informed

    async def _observed(self, receipt: Receipt) -> UUID:
        """The entity that an observation was written to."""
        observed = await event_of(self._log, receipt)
        assert isinstance(observed, EntityEvent)
        return observed.entity_id
