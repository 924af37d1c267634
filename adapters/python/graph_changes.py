"""The verbs of the Python face that change the graph: remember, end and retire facts, name and merge entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from mnemolog.commands.entities import (
    AddAlias,
    EntityCommand,
    ForgetEntity,
    MergeEntities,
    RestoreEntity,
    UpdateEntity,
)
from mnemolog.commands.fact_changes import EndFact, FactCommand, ForgetFact, RestoreFact, RetireFact
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated
from mnemolog.opening import Opening


@dataclass(frozen=True, slots=True)
class Told:
    """What `remember` returns: the fact's id, the receipt, and entities whose names may be spellings of new ones."""

    relation_id: UUID
    receipt: Receipt
    variants: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """What `add_entity` returns: the entity's id, the receipt, and entities whose names may be spellings of its own."""

    entity_id: UUID
    receipt: Receipt
    variants: Sequence[Mapping[str, Any]] = ()


class GraphChangeVerbs(Opening):
    """A part of `AsyncMemory`."""

    async def remember(
        self,
        subject: str,
        predicate: str,
        object: Any,
        *,
        user_id: str,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        literal: bool | None = None,
        scope: Literal["global", "agent"] = "global",
        confidence: float = 1.0,
        metadata: Mapping[str, Any] | None = None,
        source_turn_ids: Sequence[str] = (),
        idempotency_key: str | None = None,
    ) -> Told:
        """Tell a fact by name; `me` is the user himself. `since` and `until` are days or times (X13).

        The object is an entity's name, or a value, as the predicate says; `literal` decides it. Where several bear a
        name and nothing tells who is meant, AmbiguousEntity holds the candidates and one question.

        Example:
            memory.remember("Alice", "lives_in", "Berlin", user_id="ana", since="2026-01-10")
        """
        told = {"subject": subject, "predicate": predicate, "object": object, "scope": scope, "confidence": confidence}
        optional = {"since": since, "until": until, "literal": literal, "metadata": metadata}
        given = {name: value for name, value in optional.items() if value is not None}
        fields = {**self._who(user_id), **told, **given, "source_turn_ids": tuple(source_turn_ids)}
        engine = await self._engine()
        relation_id, receipt = await engine.writes.remember(fields, idempotency_key)
        return Told(relation_id, self._noted(receipt), await engine.reads.suggested(self._viewer(user_id), receipt))

    async def end_fact(self, relation_id: UUID | str, *, user_id: str, until: datetime | str | None = None) -> Receipt:
        """Say that a fact held until then; until now unless said.

        Example:
            fact = memory.remember("Alice", "likes", "tea", user_id="ana")
            memory.end_fact(fact.relation_id, user_id="ana")
        """
        return await self._on_fact(EndFact, relation_id, user_id, **({} if until is None else {"until": until}))

    async def retire_fact(self, relation_id: UUID | str, *, user_id: str) -> Receipt:
        """Say that a fact never held; what it had ended goes on.

        Example:
            fact = memory.remember("Alice", "likes", "tea", user_id="ana")
            memory.retire_fact(fact.relation_id, user_id="ana")
        """
        return await self._on_fact(RetireFact, relation_id, user_id)

    async def forget_fact(self, relation_id: UUID | str, *, user_id: str, reason: str = "") -> Receipt:
        """Hide a fact; it is purged 30 days later unless it is restored.

        Example:
            fact = memory.remember("Alice", "likes", "tea", user_id="ana")
            memory.forget_fact(fact.relation_id, user_id="ana")
        """
        return await self._on_fact(ForgetFact, relation_id, user_id, reason=reason)

    async def restore_fact(self, relation_id: UUID | str, *, user_id: str) -> Receipt:
        """Show a forgotten fact again.

        Example:
            fact = memory.remember("Alice", "likes", "tea", user_id="ana")
            memory.forget_fact(fact.relation_id, user_id="ana")
            memory.restore_fact(fact.relation_id, user_id="ana")
        """
        return await self._on_fact(RestoreFact, relation_id, user_id)

    async def add_entity(
        self,
        name: str,
        *,
        user_id: str,
        category: str | None = None,
        aliases: Sequence[str] = (),
        attributes: Mapping[str, Any] | None = None,
        scope: Literal["global", "agent"] = "global",
        another: bool = False,
    ) -> Named:
        """Make somebody or something known, or add to what is known; with `another`, one more of that name.

        Example:
            memory.add_entity("Marta", user_id="ana", category="Person", aliases=["work Marta"])
        """
        optional = {"category": category, "attributes": attributes}
        given = {name: value for name, value in optional.items() if value is not None}
        told = {"name": name, "aliases": tuple(aliases), "scope": scope, "another": another}
        fields = {**self._who(user_id), **told, **given}
        engine = await self._engine()
        entity_id, receipt = await engine.writes.observe_entity(fields)
        return Named(entity_id, self._noted(receipt), await engine.reads.suggested(self._viewer(user_id), receipt))

    async def update_entity(
        self,
        entity_id: UUID | str,
        *,
        user_id: str,
        name: str | None = None,
        category: str | None = None,
        aliases: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        confidence: float | None = None,
    ) -> Receipt:
        """Change what is given and leave the rest. A name that is replaced stays as an alias.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.update_entity(marta.entity_id, user_id="ana", category="Person")
        """
        named = {"name": name, "category": category, "aliases": None if aliases is None else tuple(aliases)}
        fields = {**named, "attributes": attributes, "confidence": confidence}
        return await self._on_entity(UpdateEntity, entity_id, user_id, **fields)

    async def add_alias(self, entity_id: UUID | str, alias: str, *, user_id: str, question: str = "") -> Receipt:
        """Give an entity a further name, maybe the answer to a question that was asked.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.add_alias(marta.entity_id, "work Marta", user_id="ana")
        """
        return await self._on_entity(AddAlias, entity_id, user_id, alias=alias, question=question)

    async def merge_entities(
        self, entity_id: UUID | str, absorbed_ids: Sequence[UUID | str], *, user_id: str
    ) -> Receipt:
        """Take entities for one from now on; `undo(event_id=...)` parts them again.

        Example:
            makesh, mukesh = (memory.add_entity(name, user_id="ana") for name in ("Makesh", "Mukesh"))
            memory.merge_entities(makesh.entity_id, [mukesh.entity_id], user_id="ana")
        """
        return await self._on_entity(MergeEntities, entity_id, user_id, absorbed_ids=tuple(absorbed_ids))

    async def forget_entity(self, entity_id: UUID | str, *, user_id: str, reason: str = "") -> Receipt:
        """Hide an entity with all that is told of it; it is purged 30 days later unless it is restored.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.forget_entity(marta.entity_id, user_id="ana")
        """
        return await self._on_entity(ForgetEntity, entity_id, user_id, reason=reason)

    async def restore_entity(self, entity_id: UUID | str, *, user_id: str) -> Receipt:
        """Show a forgotten entity again, with all that is told of it.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.forget_entity(marta.entity_id, user_id="ana")
            memory.restore_entity(marta.entity_id, user_id="ana")
        """
        return await self._on_entity(RestoreEntity, entity_id, user_id)

    async def _on_fact(
        self, kind: type[FactCommand], relation_id: UUID | str, user_id: str, **fields: object
    ) -> Receipt:
        engine = await self._engine()
        at = {"at": engine.writes.now()} if "at" in kind.model_fields else {}
        command = validated(kind, {**self._who(user_id), **at, "relation_id": relation_id, **fields})
        return self._noted(await engine.writes.change_fact(command))

    async def _on_entity(
        self, kind: type[EntityCommand], entity_id: UUID | str, user_id: str, **fields: object
    ) -> Receipt:
        engine = await self._engine()
        at = {"at": engine.writes.now()} if "at" in kind.model_fields else {}
        command = validated(kind, {**self._who(user_id), **at, "entity_id": entity_id, **fields})
        return self._noted(await engine.writes.change_entity(command))
