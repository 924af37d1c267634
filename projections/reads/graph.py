"""The reads of the graph: entities, facts at a valid time as known at a record time, what looks like one name."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.entity import id_in, proper_name
from mnemolog.domain.errors import InvalidInput, MnemologError, TamperedRow
from mnemolog.domain.viewer import Viewer
from mnemolog.events.entities import EntityContent
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.projections.graph import facts, reader, variants
from mnemolog.projections.graph.facts import Point
from mnemolog.projections.paging import Slice, slice_of
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import GRAPH, Reading

_logger = logging.getLogger("mnemolog.graph_reads")

SUGGESTED_WITHIN = 2.0
"""Seconds to wait for the graph after a write, to suggest similar names of the entities it named."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class When:
    """What held at `valid_at`, as it was known at `known_at`; both default to now (X13).

    A seq of the stream is the moment when that event was recorded. `any`: whatever held at any time.
    """

    valid_at: datetime | int | Literal["any"] | None = None
    known_at: datetime | int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """An entity, the facts about it at either end, and its card: its first facts in one line (D06)."""

    entity: Row
    facts: Sequence[Row]
    card: str


class GraphReads(Reading):
    """The part of `Reads` for the graph."""

    async def entities(
        self,
        viewer: Viewer,
        moment: Moment = NOW,
        name: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Slice:
        """The people, places and things that a user mentions, last seen first; or those with a name or alias."""
        if name is None:
            return await self._read(viewer, moment, (GRAPH,), partial(reader.known, limit=limit, cursor=cursor))
        found = await self._read(viewer, moment, (GRAPH,), partial(reader.find, name=proper_name(viewer.user_id, name)))
        return slice_of(found, "entity_id", limit, cursor)

    async def named_in(self, asked: Sequence[reader.Asked]) -> Sequence[Sequence[UUID]]:
        """For viewers of one tenant, each with normalised names: the entities with one of them, as far as known by now.

        Together, unless a row is not genuine: then each alone, and that user's rows are healed.
        """
        viewer, _ = asked[0]
        if len(asked) > 1:
            with suppress(TamperedRow):
                async with self._at(StreamId.of_user(viewer.user_id, viewer.tenant), NOW, (GRAPH,)) as connection:
                    return await reader.named_in_each(connection, asked)
            return [found for one in asked for found in await self.named_in([one])]
        return await self._read(viewer, NOW, (GRAPH,), lambda connection, _: reader.named_in_each(connection, asked))

    async def entity(self, viewer: Viewer, entity_id: UUID, moment: Moment = NOW, when: When = When()) -> Known:
        """One entity, hidden or not, or its survivor after a merge, with the facts about it in both directions.

        As it was known at `when.known_at`, with the facts that held at `when.valid_at` (X13). At a time, rather than a
        seq, its names are those of now, since what was known then may have been recorded later.
        """
        point = await self._point(viewer, when, moment)
        then = replace(moment, as_of=when.known_at) if isinstance(when.known_at, int) else moment

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Known:
            found = await reader.one(connection, viewer, entity_id)
            known_facts = await facts.facts(connection, viewer, point, self._predicates, [found["entity_id"]])
            return Known(found, known_facts, facts.entity_card(found, known_facts))

        return await self._read(viewer, then, (GRAPH,), ask)

    async def facts(
        self,
        viewer: Viewer,
        about: str | None = None,
        when: When = When(),
        moment: Moment = NOW,
        *,
        predicate: str | None = None,
    ) -> Sequence[Row]:
        """The facts that an agent may see: all, or those about the entities with a name or an id (A09, X13).

        `predicate`: only those with this one.

        Except for `moment.as_of`, no replay is needed: the rows contain when what was known, as soon as they include
        everything recorded by then.
        """
        point = await self._point(viewer, when, moment)
        shown = replace(moment, after=await self._recorded_by(viewer, point.known_at, moment.after))

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Sequence[Row]:
            ids = None if about is None else await _ids(connection, viewer, about)
            only = None if predicate is None else [predicate]
            return await facts.facts(connection, viewer, point, self._predicates, ids, predicate=only)

        return await self._read(viewer, shown, (GRAPH,), ask)

    async def variants(self, viewer: Viewer, entity_id: UUID, moment: Moment = NOW) -> Sequence[Row]:
        """Entities whose names may be other spellings of this one's, last seen first (D13)."""
        return await self._read(viewer, moment, (GRAPH,), partial(variants.of, entity_id=entity_id))

    async def suggested(self, viewer: Viewer, receipt: Receipt) -> Sequence[Row]:
        """Entities whose names may be other spellings of those that a write named, each once (D13).

        Only a hint, and the write is valid regardless: empty if the graph does not catch up soon.
        """
        if self._principal:
            self._principal.require_viewer(viewer)
        named = dict.fromkeys(one.entity_id for one in receipt.written if isinstance(one, EntityContent))
        moment = Moment(after=receipt.position, deadline=SUGGESTED_WITHIN)
        found: dict[UUID, Row] = {}
        try:
            for entity_id in named:
                found |= {row["entity_id"]: row for row in await self.variants(viewer, entity_id, moment)}
        except MnemologError as error:
            _logger.warning("variants of what was written are not suggested: %s", error.message)
        return [row for id_, row in found.items() if id_ not in named]

    async def _point(self, viewer: Viewer, when: When, moment: Moment) -> Point:
        if moment.as_of is not None:
            if when.known_at is not None or when.valid_at not in (None, "any"):
                raise InvalidInput("sets both times", field="as_of", fix="give `as_of`, or `valid_at` and `known_at`")
            return Point(await self._instant(viewer, moment.as_of), always=when.valid_at == "any")
        for name, at in (("valid_at", when.valid_at), ("known_at", when.known_at)):
            if isinstance(at, int):
                await self._require_past(viewer, at, name)
        if when.valid_at is None or when.valid_at == "any":
            return Point(datetime.now(UTC), when.known_at, always=when.valid_at == "any")
        return Point(await self._instant(viewer, when.valid_at), when.known_at)

    async def _require_past(self, viewer: Viewer, seq: int, field: str) -> None:
        """InvalidInput for a seq that is yet to come. Usually a year is meant, as facts are told since `2019`."""
        self._admitted(viewer)
        head = await self._log.head(StreamId.of_user(viewer.user_id, viewer.tenant))
        if seq > head:
            message = f"there is no event with the sequence number {seq}: the last has {head}"
            day = f"{seq}-01-01" if 1900 <= seq <= 2100 else "2026-01-03"
            raise InvalidInput(message, field=field, fix=f"give a number up to that, or a day, such as {day}")

    async def _recorded_by(self, viewer: Viewer, at: datetime | int | None, after: Position | None) -> Position | None:
        """The position that must be applied to tell what was known then; `after` if later or in another stream.

        What was known at a time may be recorded later, as imported history is.
        """
        if not isinstance(at, int):
            return after
        stream = StreamId.of_user(viewer.user_id, viewer.tenant)
        seq = min(at, await self._log.head(stream))
        return after if after and (after.stream != stream or after.seq > seq) else Position(stream, seq)

    async def _instant(self, viewer: Viewer, at: datetime | int) -> datetime:
        """The time of a moment; for a seq, when its event was recorded."""
        if isinstance(at, datetime):
            return at
        stream, until = StreamId.of_user(viewer.user_id, viewer.tenant), at
        events = await self._log.read(stream, after=until - 1, until=until) if until else []
        return events[0].recorded_at if events else datetime.now(UTC)


async def _ids(connection: AsyncConnection, viewer: Viewer, about: str) -> Sequence[UUID]:
    entity_id = id_in(about)
    if entity_id:
        return [(await reader.one(connection, viewer, entity_id))["entity_id"]]
    return [row["entity_id"] for row in await reader.find(connection, viewer, proper_name(viewer.user_id, about))]
