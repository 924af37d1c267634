"""The filters of a query, applied in the database (B §6, §6.1, B06)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from secrets import token_hex
from typing import Any, Self
from uuid import UUID

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
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from mnemolog.domain.category import PROCEDURAL
from mnemolog.domain.importance import shows_at_least, shows_more_than
from mnemolog.domain.memory import VISIBLE, Kind
from mnemolog.domain.memory_key import MemoryType
from mnemolog.domain.message import CATEGORY, WITHOUT_TEXT
from mnemolog.domain.origin import Origin
from mnemolog.domain.relevance import Said
from mnemolog.domain.turn import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import Varying, ask
from mnemolog.projections.conversation import reader as message_reader
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.conversation.tables import words as message_words
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.memories.tables import words as memory_words
from mnemolog.projections.requests import UNFILTERED, Filters
from mnemolog.projections.visibility import owned, shared, viewed
from mnemolog.projections.words import Words

# Stands for the metadata in a compiled statement. No caller's text contains it, because it is random.
_STANDING = f"metadata-{token_hex(16)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates(Varying):
    """The memories that a search may find, among those visible to its viewer, and with `messages` also messages.

    `about`: about any of these entities; `stretches`: said in all of these; `kinds`: of these kinds; without it,
    procedures that were not requested and open loops are left out.
    """

    filters: Filters = UNFILTERED
    messages: bool = False
    about: frozenset[UUID] | None = None
    stretches: tuple[message_reader.Stretch, ...] = ()
    kinds: frozenset[Kind] | None = None

    def shaped(self) -> tuple[Self, Mapping[str, str]]:
        """Statements differ in the value of a filter by metadata, which has no hash, by a parameter alone."""
        if self.filters.metadata is None:
            return self, {}
        standing = self.filters.model_copy(update={"metadata": _STANDING})
        return replace(self, filters=standing), {_json(_STANDING): _json(self.filters.metadata)}

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
        found = conditions(self.filters.model_copy(update={"thread_id": None}))
        found += self._placed(viewer, memories.c.source_turn_ids, memories.c.thread_id)
        return found if self.about is None else [*found, about(self.about)]

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
        found = [
            *message_reader.visible_to(viewer),
            message_reader.active(),
            column.text != WITHOUT_TEXT,
            ~column.remembered,
            *shared_conditions(asked, column),
        ]
        if len(asked.origins) < len(Origin):
            found.append(column.role.in_([role for role in Role if Origin.of_role(role) in asked.origins]))
        found += [one.messages(viewed(viewer)) for one in self.stretches]
        if self.about is not None:
            found.append(column.speaker_entity_id.in_(sorted(self.about)))
        return found

    def said(
        self,
        viewer: Viewer,
        at: ColumnElement[datetime],
        turn_ids: ColumnElement[Any],
        thread_id: ColumnElement[str] | None = None,
    ) -> list[ColumnElement[bool]]:
        """The filters by time and by conversation, on rows of another kind that name the messages they came from."""
        return [*said(self.filters, at), *self._placed(viewer, turn_ids, thread_id)]

    def _placed(
        self, viewer: Viewer, turn_ids: ColumnElement[Any], thread_id: ColumnElement[str] | None
    ) -> list[ColumnElement[bool]]:
        """The filters by conversation. A row belongs to the thread it was written in, and to those it came from."""
        wanted = self.filters.thread_id
        if self.stretches or (wanted is not None and thread_id is None):
            return [self._came_from(viewer, turn_ids)]
        if wanted is None or thread_id is None:
            return []
        return [or_(thread_id == wanted, self._came_from(viewer, turn_ids))]

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


def conditions(filters: Filters) -> list[ColumnElement[bool]]:
    """The caller's filters, on memories."""
    column = memories.c
    found = [*shared_conditions(filters, column), *from_where(filters, column.origin)]
    if filters.category is not None:
        found.append(column.category == filters.category)
    if filters.pinned is not None:
        found.append(column.pinned == filters.pinned)
    if filters.importance_min is not None:
        found.append(column.importance >= shows_at_least(filters.importance_min, "filters.importance_min"))
    if filters.importance_max is not None:
        found.append(column.importance < shows_more_than(filters.importance_max, "filters.importance_max"))
    return found


def shared_conditions(filters: Filters, column: ReadOnlyColumnCollection[str, Any]) -> list[ColumnElement[bool]]:
    """The caller's filters on properties that memories and messages share."""
    names = {"agent_id", "run_id", "actor_id", "role", "thread_id"}
    equal: dict[str, Any] = filters.model_dump(include=names, exclude_none=True)
    found: list[ColumnElement[bool]] = [column[name] == value for name, value in equal.items()]
    found += said(filters, column["occurred_at"])
    if filters.metadata is not None:
        found.append(with_metadata(filters, column["metadata"]))
    if filters.updated_after is not None:
        found.append(column["updated_at"] > filters.updated_after)
    if filters.updated_before is not None:
        found.append(column["updated_at"] < filters.updated_before)
    return found


def from_where(filters: Filters, column: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    """The caller's filters by origin."""
    return [] if len(filters.origins) == len(Origin) else [column.in_(sorted(filters.origins))]


def with_metadata(filters: Filters, column: ColumnElement[Any]) -> ColumnElement[bool]:
    return cast(column, JSONB).contains(cast(literal(_json(filters.metadata), Text), JSONB))


def _json(metadata: object) -> str:
    return to_json(metadata).decode()


def said(filters: Filters, at: ColumnElement[datetime]) -> list[ColumnElement[bool]]:
    """The caller's filters on the time when it was said."""
    found = [] if filters.since is None else [at >= filters.since]
    return found if filters.until is None else [*found, at < filters.until]


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
