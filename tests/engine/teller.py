"""A person who tells facts, and reads them at whatever time: every verb takes only what the test is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from mnemolog.adapters.engine.engine import now
from mnemolog.commands.entities import AddAlias, ForgetEntity, MergeEntities, RestoreEntity, UpdateEntity
from mnemolog.commands.fact_changes import ConfirmFact, EndFact, ForgetFact, RestoreFact, RetireFact
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated
from mnemolog.projections.reads.graph import Known, When
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Teller(Person):
    """Writes facts as `agent`. Reads see every write that returned before, unless they are given a moment."""

    async def tells(self, subject: str, predicate: str, thing: Any, **fields: Any) -> UUID:
        told = {**self._who, "subject": subject, "predicate": predicate, "object": thing, **fields}
        relation_id, _ = await self.engine.writes.remember(told)
        return relation_id

    async def knows_of(self, name: str, category: str = "Person", **fields: Any) -> UUID:
        known = {**self._who, "name": name, "category": category, **fields}
        entity_id, _ = await self.engine.writes.observe_entity(known)
        return entity_id

    async def ends(self, relation_id: UUID, until: datetime | str | None, told_at: datetime | None = None) -> Receipt:
        return await self._changes(EndFact, relation_id=relation_id, until=until, told_at=told_at, at=now())

    async def retires(self, relation_id: UUID, told_at: datetime | None = None) -> Receipt:
        return await self._changes(RetireFact, relation_id=relation_id, told_at=told_at, at=now())

    async def confirms(self, relation_id: UUID) -> Receipt:
        return await self._changes(ConfirmFact, relation_id=relation_id, actor="user")

    async def hides(self, relation_id: UUID, reason: str = "") -> Receipt:
        return await self._changes(ForgetFact, relation_id=relation_id, reason=reason, at=now())

    async def shows(self, relation_id: UUID) -> Receipt:
        return await self._changes(RestoreFact, relation_id=relation_id)

    async def calls(self, entity_id: UUID, alias: str) -> Receipt:
        return await self._alters(AddAlias, entity_id=entity_id, alias=alias)

    async def renames(self, entity_id: UUID, name: str) -> Receipt:
        return await self._alters(UpdateEntity, entity_id=entity_id, name=name)

    async def drops_aliases(self, entity_id: UUID) -> Receipt:
        return await self._alters(UpdateEntity, entity_id=entity_id, aliases=())

    async def joins(self, survivor: UUID, *absorbed: UUID) -> Receipt:
        return await self._alters(MergeEntities, entity_id=survivor, absorbed_ids=absorbed)

    async def forgets(self, entity_id: UUID, reason: str = "") -> Receipt:
        return await self._alters(ForgetEntity, entity_id=entity_id, reason=reason, at=now())

    async def recalls(self, entity_id: UUID) -> Receipt:
        return await self._alters(RestoreEntity, entity_id=entity_id)

    async def takes_back(self, receipt: Receipt) -> Receipt:
        return await self.engine.writes.undo_event(self.stream, receipt.event_ids[-1], agent_id=self.agent)

    async def facts(
        self,
        about: str | UUID | None = None,
        valid_at: datetime | int | Literal["any"] | None = None,
        known_at: datetime | int | None = None,
        moment: Moment | None = None,
        predicate: str | None = None,
    ) -> Sequence[Row]:
        name = None if about is None else str(about)
        moment = moment or await self.caught_up()
        when = When(valid_at, known_at)
        return await self.engine.reads.facts(self.viewer, name, when, moment, predicate=predicate)

    async def told(self, about: str | UUID | None = None, **when: Any) -> set[str]:
        """Each fact that is not overridden as a sentence."""
        return {sentence(row) for row in await self.facts(about, **when) if not row["overridden_by"]}

    async def entity(
        self,
        entity_id: UUID,
        moment: Moment | None = None,
        valid_at: datetime | None = None,
        known_at: datetime | int | None = None,
    ) -> Known:
        when, moment = When(valid_at, known_at), moment or await self.caught_up()
        return await self.engine.reads.entity(self.viewer, entity_id, moment, when)

    async def entities(self, name: str | None = None, moment: Moment | None = None) -> Sequence[Row]:
        return await self.engine.reads.entities(self.viewer, moment or await self.caught_up(), name)

    async def history(self, id_: UUID) -> list[Row]:
        """Oldest first."""
        rows = await self.engine.reads.history(self.viewer, id_, moment=await self.caught_up())
        return list(reversed(rows))

    async def _changes(self, kind: Any, **fields: Any) -> Receipt:
        return await self.engine.writes.handle(validated(kind, {**self._who, **fields}))

    async def _alters(self, kind: Any, **fields: Any) -> Receipt:
        return await self.engine.writes.handle(validated(kind, {**self._who, **fields}))


def sentence(fact: Row) -> str:
    thing = fact["object"] if fact["object"] is not None else fact["value"]
    return f"{fact['subject']} {fact['predicate']} {thing}"
