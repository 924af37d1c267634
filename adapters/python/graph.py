"""Methods of the Python API for entities and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import entities, facts
    from mnemolog.adapters.operations.facts import FactsExtracted
    from mnemolog.adapters.operations.graph_results import (
        EntityAdded,
        EntityDetail,
        EntityUpdated,
        EntityView,
        FactAdded,
        FactView,
    )
    from mnemolog.adapters.operations.results import Page, Written
else:
    entities = Deferred("mnemolog.adapters.operations.entities")
    facts = Deferred("mnemolog.adapters.operations.facts")


class GraphVerbs(Asking):
    """A part of `Verbs`."""

    async def add_entity(
        self,
        name: str,
        *,
        category: str | None = None,
        aliases: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        confidence: float | None = None,
        another: bool | None = None,
        source_turn_ids: Sequence[str] | None = None,
        scope: Literal["global", "agent"] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> EntityAdded:
        """Add a person, place or thing, or what is new about one; with `another`, one more of that name.

        Example:
            memory.add_entity("Marta", user_id="ana", category="Person", aliases=["work Marta"])
        """
        return await self._ask(entities.add_entity, locals())

    async def list_entities(
        self,
        *,
        name: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[EntityView]:
        """List the people, places and things that a user mentions, the last seen first; or those with a name.

        Example:
            [one.name for one in memory.list_entities(user_id="ana")]
        """
        return await self._ask(entities.list_entities, locals())

    async def get_entity(
        self,
        entity_id: Id,
        *,
        valid_at: Moment | None = None,
        known_at: Moment | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> EntityDetail:
        """Read one entity, or the one that it was merged into: its card, its outgoing and its incoming facts.

        `valid_at`, `known_at` and `as_of` as in `list_facts`.

        Example:
            [memory.get_entity(one.entity_id, user_id="ana").card for one in memory.list_entities(user_id="ana")]
        """
        return await self._ask(entities.get_entity, locals())

    async def update_entity(
        self,
        entity_id: Id,
        *,
        name: str | None = None,
        category: str | None = None,
        aliases: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        confidence: float | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> EntityUpdated:
        """Update an entity; what is left out stays as it is. A name that is replaced stays as an alias.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.update_entity(marta.entity_id, user_id="ana", category="Person")
        """
        return await self._ask(entities.update_entity, locals())

    async def add_alias(
        self,
        entity_id: Id,
        alias: str,
        *,
        question: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Give an entity another name, perhaps the answer to a question that was asked.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.add_alias(marta.entity_id, "work Marta", user_id="ana")
        """
        return await self._ask(entities.add_alias, locals())

    async def merge_entities(
        self,
        entity_id: Id,
        absorbed_ids: Sequence[Id],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Merge entities that are the same; `undo(event_id=...)` separates them again.

        Example:
            makesh, mukesh = (memory.add_entity(name, user_id="ana") for name in ("Makesh", "Mukesh"))
            memory.merge_entities(makesh.entity_id, [mukesh.entity_id], user_id="ana")
        """
        return await self._ask(entities.merge_entities, locals())

    async def delete_entity(
        self,
        entity_id: Id,
        *,
        reason: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete an entity and the facts about it: hidden, and purged after 30 days unless it is restored.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.delete_entity(marta.entity_id, user_id="ana")
        """
        return await self._ask(entities.delete_entity, locals())

    async def restore_entity(
        self,
        entity_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Restore a deleted entity and the facts about it.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.delete_entity(marta.entity_id, user_id="ana")
            memory.restore_entity(marta.entity_id, user_id="ana")
        """
        return await self._ask(entities.restore_entity, locals())

    async def list_variants(
        self,
        entity_id: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[EntityView]:
        """List entities that may be the same, as their names differ by a slip only: such as Makesh and Mukesh.

        Example:
            makesh, mukesh = (memory.add_entity(name, user_id="ana") for name in ("Makesh", "Mukesh"))
            [one.name for one in memory.list_variants(makesh.entity_id, user_id="ana")]
        """
        return await self._ask(entities.list_variants, locals())

    async def add_fact(
        self,
        subject: str,
        predicate: str,
        object: Any,
        *,
        literal: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        since_precision: Literal["year", "month"] | None = None,
        until_precision: Literal["year", "month"] | None = None,
        confidence: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        told_at: datetime | str | None = None,
        source_turn_ids: Sequence[str] | None = None,
        memory_id: Id | None = None,
        scope: Literal["global", "agent"] | None = None,
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> FactAdded:
        """Record a fact by name; `me` is the user. `since`, `until` and `told_at` are days or times.

        `since` and `until` may be a year or a month, such as "2019": the fact is then shown as "since 2019".

        The object is an entity's name, or a value, as the predicate says; `literal` decides it. Where several entities
        have a name and nothing tells which is meant, AmbiguousEntity lists the candidates and asks one question. With
        `told_at`, for imported history, it counts as known since then.

        Example:
            memory.add_fact("Alice", "lives_in", "Berlin", user_id="ana", since="2026-01-10")
            memory.add_fact("Alice", "lives_in", "Rome", user_id="ana", since="2019-05-01", told_at="2020-03-01")
        """
        return await self._ask(facts.add_fact, locals())

    async def list_facts(
        self,
        *,
        about: Id | None = None,
        predicate: str | None = None,
        valid_at: Moment | None = None,
        known_at: Moment | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[FactView]:
        """List the facts that held at `valid_at`, as they were known at `known_at`; both are now by default.

        `about` is an entity's name, alias or id. Both times are a day, a time with its offset, or a sequence number of
        the user's stream; `as_of` sets both. With `valid_at="any"`, the timeline of every value: when it held and when
        that was learned, with those that turned out never to have held.

        Example:
            memory.list_facts(user_id="ana", about="Alice", valid_at="2026-02-01")
            memory.list_facts(user_id="ana", about="Alice", predicate="lives_in", valid_at="any")
        """
        return await self._ask(facts.list_facts, {**locals(), "about": None if about is None else str(about)})

    async def end_fact(
        self,
        relation_id: Id,
        *,
        until: datetime | str | None = None,
        until_precision: Literal["year", "month"] | None = None,
        told_at: datetime | str | None = None,
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """End a fact: it held until then, or until now. With `told_at`, for imported history, that is known since then.

        Example:
            fact = memory.add_fact("Alice", "likes", "tea", user_id="ana")
            memory.end_fact(fact.relation_id, user_id="ana")
        """
        return await self._ask(facts.end_fact, locals())

    async def retire_fact(
        self,
        relation_id: Id,
        *,
        told_at: datetime | str | None = None,
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Retire a fact: it never held. A fact that it had ended holds again.

        With `told_at`, for imported history, that is known since then.

        Example:
            fact = memory.add_fact("Alice", "likes", "tea", user_id="ana")
            memory.retire_fact(fact.relation_id, user_id="ana")
        """
        return await self._ask(facts.retire_fact, locals())

    async def delete_fact(
        self,
        relation_id: Id,
        *,
        reason: str | None = None,
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete a fact: hidden, and purged after 30 days unless it is restored.

        Example:
            fact = memory.add_fact("Alice", "likes", "tea", user_id="ana")
            memory.delete_fact(fact.relation_id, user_id="ana")
        """
        return await self._ask(facts.delete_fact, locals())

    async def restore_fact(
        self,
        relation_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Restore a deleted fact.

        Example:
            fact = memory.add_fact("Alice", "likes", "tea", user_id="ana")
            memory.delete_fact(fact.relation_id, user_id="ana")
            memory.restore_fact(fact.relation_id, user_id="ana")
        """
        return await self._ask(facts.restore_fact, locals())

    async def confirm_fact(
        self,
        relation_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Confirm a fact in the user's name: one from a document or a tool is then trusted like the user's words.

        Example:
            fact = memory.add_fact("me", "flies_with", "TAP", user_id="ana", origin="document")
            memory.confirm_fact(fact.relation_id, user_id="ana")
        """
        return await self._ask(facts.confirm_fact, locals())

    async def extract_facts(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> FactsExtracted:
        """Extract facts from all that the user said to an agent, by the rules of this version.

        For messages from before an upgrade, or from before extraction was turned on.

        Example:
            memory.extract_facts(user_id="ana").events
        """
        return await self._ask(facts.extract_facts, locals())
