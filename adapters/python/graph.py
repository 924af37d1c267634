"""The verbs of the Python face that read the graph: facts, entities, entity, variants."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.adapters.engine.graph_reads import Known, When
from mnemolog.domain.identity import aware, day_or_instant, parse_uuid
from mnemolog.events.envelope import Receipt
from mnemolog.opening import Opening


class GraphVerbs(Opening):
    """A part of `AsyncMemory`."""

    async def facts(
        self,
        *,
        user_id: str,
        about: UUID | str | None = None,
        valid_at: datetime | str | None = None,
        known_at: datetime | str | int | None = None,
        as_of: datetime | str | int | None = None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        """The facts that held at `valid_at`, as they were known at `known_at`; both are now unless said (X13).

        `about` is an entity's name, alias or id; `valid_at` a time with its offset, or a day; `known_at` a time, or a
        seq of the user's stream; `as_of` says both at once.

        Example:
            memory.facts(user_id="ana", about="Alice", valid_at="2026-02-01")
        """
        engine, stream = await self._engine(), self._stream(user_id)
        moment, when = await self._moment(stream, as_of, after, deadline), _held(valid_at, known_at)
        return await engine.reads.facts(self._viewer(user_id), None if about is None else str(about), when, moment)

    async def entities(
        self,
        *,
        user_id: str,
        name: str | None = None,
        as_of: datetime | str | int | None = None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        """The people, places and things that a user mentions, last seen first; with a name, those with that name.

        Example:
            [row["name"] for row in memory.entities(user_id="ana")]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        moment = await self._moment(stream, as_of, after, deadline)
        return await engine.reads.entities(self._viewer(user_id), moment, name)

    async def entity(
        self,
        entity_id: UUID | str,
        *,
        user_id: str,
        valid_at: datetime | str | None = None,
        known_at: datetime | str | int | None = None,
        as_of: datetime | str | int | None = None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Known:
        """One entity, or what it was merged into, with its `facts` in both directions and its `card` (D06).

        `valid_at`, `known_at` and `as_of` as for `facts`.

        Example:
            [memory.entity(row["entity_id"], user_id="ana").card for row in memory.entities(user_id="ana")]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        moment, when = await self._moment(stream, as_of, after, deadline), _held(valid_at, known_at)
        return await engine.reads.entity(self._viewer(user_id), parse_uuid(entity_id, "entity_id"), moment, when)

    async def variants(
        self,
        entity_id: UUID | str,
        *,
        user_id: str,
        as_of: datetime | str | int | None = None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        """Entities that may be the same, as their names differ by a slip only: such as Makesh and Mukesh (D13).

        Example:
            makesh, mukesh = (memory.add_entity(name, user_id="ana") for name in ("Makesh", "Mukesh"))
            [row["name"] for row in memory.variants(makesh.entity_id, user_id="ana")]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        moment = await self._moment(stream, as_of, after, deadline)
        return await engine.reads.variants(self._viewer(user_id), parse_uuid(entity_id, "entity_id"), moment)


def _held(valid_at: datetime | str | None, known_at: datetime | str | int | None) -> When:
    return When(
        None if valid_at is None else day_or_instant(valid_at, "valid_at"),
        known_at if known_at is None or isinstance(known_at, int) else aware(known_at, "known_at"),
    )
