"""The filters of a query, applied in the database (B §6, §6.1, B06)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, Strict, WithJsonSchema
from pydantic_core import to_json
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    CompoundSelect,
    FromClause,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    cast,
    func,
    literal,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from mnemolog.domain import identity
from mnemolog.domain.category import PROCEDURAL
from mnemolog.domain.importance import from_five
from mnemolog.domain.json_value import checked_json
from mnemolog.domain.memory import VISIBLE, Kind
from mnemolog.domain.memory_key import MAX_REFS, MemoryType
from mnemolog.domain.message import CATEGORY
from mnemolog.domain.origin import TRUSTED, Origin
from mnemolog.domain.relevance import Said
from mnemolog.domain.turn import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events import fields
from mnemolog.events.fields import Flag, Id, checked_by
from mnemolog.events.shapes import DAY
from mnemolog.projections.asking import ask
from mnemolog.projections.conversation import reader as message_reader
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.conversation.tables import words as message_words
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.memories.tables import words as memory_words
from mnemolog.projections.visibility import owned, shared, viewed
from mnemolog.projections.words import Words

Moment = Annotated[datetime, checked_by(identity.day_or_instant), WithJsonSchema(DAY)]
Level = Annotated[float, Strict(), WithJsonSchema({"type": "number", "minimum": 1, "maximum": 5})]


class Filters(BaseModel):
    """Properties of memories (B §6). All of them must hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent_id: Annotated[Id | None, Field(description="Written by this agent.")] = None
    run_id: Annotated[Id | None, Field(description="From this run.")] = None
    actor_id: Annotated[Id | None, Field(description="Written by this actor.")] = None
    role: Annotated[Role | None, Field(description="Said by this role.")] = None
    category: Annotated[Id | None, Field(description="In this category.")] = None
    pinned: Annotated[Flag | None, Field(description="Whether it is pinned.")] = None
    importance_min: Annotated[Level | None, Field(description="At least this importance, on B's scale of 1 to 5.")] = (
        None
    )
    importance_max: Annotated[Level | None, Field(description="At most this importance, on B's scale of 1 to 5.")] = (
        None
    )
    metadata: Annotated[
        dict[str, JsonValue] | None, checked_by(checked_json), Field(description="With these metadata values.")
    ] = None
    since: Annotated[Moment | None, Field(description="Said at this time or later, or from this day on.")] = None
    until: Annotated[Moment | None, Field(description="Said before this time or day.")] = None
    thread_id: Annotated[Id | None, Field(description="Said in this thread.")] = None
    session_id: Annotated[fields.Uuid | None, Field(description="Said in this session of the agent.")] = None
    episode_id: Annotated[fields.Uuid | None, Field(description="Said in this episode of the agent.")] = None
    updated_after: Annotated[Moment | None, Field(description="Updated after this time or day.")] = None
    updated_before: Annotated[Moment | None, Field(description="Updated before this time or day.")] = None
    origin: Annotated[
        tuple[Origin, ...],
        Field(max_length=len(Origin), description="From any of these: `user`, `agent`, `document`, `tool`, ..."),
    ] = ()
    trusted_only: Annotated[Flag, Field(description="Nothing that comes from outside.")] = False
    entity_ids: Annotated[
        tuple[fields.Uuid, ...],
        Field(max_length=MAX_REFS, description="About any of these entities, or entities merged with them."),
    ] = ()

    @property
    def origins(self) -> frozenset[Origin]:
        """Where what is wanted may come from."""
        wanted = frozenset(self.origin or Origin)
        return wanted & TRUSTED if self.trusted_only else wanted

    def from_where(self, column: ColumnElement[Any]) -> list[ColumnElement[bool]]:
        """The caller's filters by origin."""
        return [] if len(self.origins) == len(Origin) else [column.in_(sorted(self.origins))]

    def conditions(self) -> list[ColumnElement[bool]]:
        """The caller's filters."""
        column = memories.c
        found = [*self.of(column), *self.from_where(column.origin)]
        if self.category is not None:
            found.append(column.category == self.category)
        if self.pinned is not None:
            found.append(column.pinned == self.pinned)
        if self.importance_min is not None:
            found.append(column.importance >= from_five(self.importance_min, "filters.importance_min"))
        if self.importance_max is not None:
            found.append(column.importance <= from_five(self.importance_max, "filters.importance_max"))
        return found

    def of(self, column: ReadOnlyColumnCollection[str, Any]) -> list[ColumnElement[bool]]:
        """The caller's filters on properties that memories and messages share."""
        names = {"agent_id", "run_id", "actor_id", "role", "thread_id"}
        equal: dict[str, Any] = self.model_dump(include=names, exclude_none=True)
        found: list[ColumnElement[bool]] = [column[name] == value for name, value in equal.items()]
        found += self.said(column["occurred_at"])
        if self.metadata is not None:
            found.append(self.with_metadata(column["metadata"]))
        if self.updated_after is not None:
            found.append(column["updated_at"] > self.updated_after)
        if self.updated_before is not None:
            found.append(column["updated_at"] < self.updated_before)
        return found

    def with_metadata(self, column: ColumnElement[Any]) -> ColumnElement[bool]:
        return cast(column, JSONB).contains(cast(literal(to_json(self.metadata).decode(), Text), JSONB))

    def said(self, at: ColumnElement[datetime]) -> list[ColumnElement[bool]]:
        """The caller's filters on the time when it was said."""
        found = [] if self.since is None else [at >= self.since]
        return found if self.until is None else [*found, at < self.until]


UNFILTERED = Filters()


def restricted(fields: Any) -> Any:
    """The fields of a request with its `trusted_only` as a filter, too."""
    if not isinstance(fields, dict) or fields.get("trusted_only") is not True:
        return fields
    filters = fields.get("filters") or {}
    known = filters.model_dump(exclude_unset=True) if isinstance(filters, Filters) else filters
    return {**fields, "filters": {**known, "trusted_only": True}} if isinstance(known, dict) else fields


TrustedOnly = Annotated[
    Flag, Field(description="Nothing that comes from outside: no text of tools, documents, other agents and imports.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The memories that a search may find, among those visible to its viewer, and with `messages` also messages.

    `about`: about any of these entities; `stretches`: said in all of these; `kinds`: of these kinds; without it,
    procedures that were not requested and open loops are left out.
    """

    filters: Filters = UNFILTERED
    messages: bool = False
    about: frozenset[UUID] | None = None
    stretches: tuple[message_reader.Stretch, ...] = ()
    kinds: frozenset[Kind] | None = None

    def conditions(self, viewer: Viewer) -> list[ColumnElement[bool]]:
        """The conditions in a statement over memories."""
        found = [*visible_to(viewer), active(), *self.narrowed(viewer)]
        if self.kinds is None:
            found += [retrievable(), unasked(viewer.categories or frozenset())]
        else:
            found.append(memories.c.kind.in_(sorted(self.kinds)))
        return found

    def narrowed(self, viewer: Viewer) -> list[ColumnElement[bool]]:
        """What the filters say of memories."""
        found = self.filters.conditions()
        if self.about is not None:
            found.append(about(self.about))
        if self.stretches:
            found.append(self._came_from(viewer, memories.c.source_turn_ids))
        return found

    @property
    def words(self) -> tuple[Words, ...]:
        """What full-text search knows of them."""
        return (memory_words, message_words) if self.messages else (memory_words,)

    def documents(self, viewer: Viewer) -> Select[Any] | CompoundSelect[Any]:
        """The candidates: each `id` with its full-text search terms as `search`, and when it was said as `at`."""
        column = memories.c
        shown = (column.memory_id.label("id"), column.search.label("search"), column.occurred_at.label("at"))
        found = select(*shown).where(*self.conditions(viewer))
        among = self._messages(viewer)
        if among is None:
            return found
        said = select(messages.c.subject_id, messages.c.search, messages.c.occurred_at).where(*among)
        return union_all(found, said)

    async def runs(
        self, connection: AsyncConnection, viewer: Viewer, around: Collection[UUID]
    ) -> Sequence[Sequence[Said[int]]]:
        """Each of these ids that is a message, with its neighbours in the thread that are candidates too."""
        if not around or not self._finds_messages():
            return []
        return message_reader.in_runs(await ask(connection, viewer, _runs, self, around=list(around)))

    def _finds_messages(self) -> bool:
        asked = self.filters
        weighed = asked.pinned or asked.importance_min is not None or asked.importance_max is not None
        return self.messages and not weighed and asked.category in (None, CATEGORY)

    def _messages(self, viewer: Viewer) -> Sequence[ColumnElement[bool]] | None:
        """The conditions on messages; None if the filters exclude all: a message has no importance and no pin."""
        if not self._finds_messages():
            return None
        column, asked = messages.c, self.filters
        found = [*message_reader.visible_to(viewer), message_reader.active(), ~column.remembered, *asked.of(column)]
        if len(asked.origins) < len(Origin):
            found.append(column.role.in_([role for role in Role if Origin.of_role(role) in asked.origins]))
        found += [one.messages(viewed(viewer)) for one in self.stretches]
        if self.about is not None:
            found.append(column.speaker_entity_id.in_(sorted(self.about)))
        return found

    def said(
        self, viewer: Viewer, at: ColumnElement[datetime], turn_ids: ColumnElement[Any]
    ) -> list[ColumnElement[bool]]:
        """The filters by time and by conversation, on rows of another kind that name the messages they came from."""
        placed = self.stretches or self.filters.thread_id is not None
        return [*self.filters.said(at), *([self._came_from(viewer, turn_ids)] if placed else [])]

    def _came_from(self, viewer: Viewer, turn_ids: ColumnElement[Any]) -> ColumnElement[bool]:
        """Whether one of these messages was said in the thread and in the stretches asked for."""
        found = [owned(messages, viewer), messages.c.message_id == any_(turn_ids)]
        if self.filters.thread_id is not None:
            found.append(messages.c.thread_id == self.filters.thread_id)
        found += [one.messages(viewed(viewer)) for one in self.stretches]
        return select(messages.c.message_id).where(*found).exists()


def _runs(viewer: Viewer, candidates: Candidates) -> CompoundSelect[Any]:
    among = candidates._messages(viewer)
    assert among is not None, "messages are candidates"
    return message_reader.runs(viewer, among)


def about(entity_ids: Collection[UUID]) -> ColumnElement[bool]:
    """Rows about any of these entities; the partial index covers rows with entities."""
    column = memories.c.entity_ids
    return and_(func.cardinality(column) > 0, column.overlap(literal(sorted(entity_ids), ARRAY(Uuid))))


def visible_to(viewer: Viewer, table: FromClause = memories) -> list[ColumnElement[bool]]:
    """The conditions of every read of memories: one user of a tenant, and what the agent may see (A §5, B §5)."""
    within = (
        true()
        if viewer.categories is None
        else table.c.category == any_(literal(sorted(viewer.categories), ARRAY(Text)))
    )
    return [owned(table, viewer), shared(table, viewer), within]


def unasked(categories: frozenset[str] = frozenset()) -> ColumnElement[bool]:
    """Without procedures, unless their category is requested (B §12)."""
    if PROCEDURAL in categories:
        return true()
    return (memories.c.kind != Kind.PROCEDURE) & (memories.c.category != PROCEDURAL)


def retrievable() -> ColumnElement[bool]:
    """What a search finds: not open loops, which are read separately and were replaced by todos (D §Retrieval)."""
    return memories.c.type.is_distinct_from(MemoryType.OPEN_LOOP)


def active() -> ColumnElement[bool]:
    """What may be shown: neither hidden nor erased. A read as of before an erasure shows no text either (X07)."""
    return memories.c.status.in_(sorted(VISIBLE)) & (memories.c.text != "")


def identified(memory_ids: set[UUID]) -> ColumnElement[bool]:
    return memories.c.memory_id == any_(literal(sorted(memory_ids), ARRAY(Uuid)))
