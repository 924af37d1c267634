"""What happens to a relation: it is asserted, observed, ended, retired, hidden and erased (A §4.2).

When facts hold is in `validity`: for each relation of which something changed, all of its periods from this record on;
none when it is retired (X13).
"""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import JsonValue

from mnemolog.domain.facts import Validity
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import turn_tag
from mnemolog.events.entities import Attributes
from mnemolog.events.event import Event, Personal, PersonalText
from mnemolog.events.graph_tags import about_tag, relation_tag, relation_tags, slot_tag


class RelationEvent(Event):
    """An event whose subject is one relation, sealed with that relation's key."""

    relation_id: UUID

    def tags(self) -> frozenset[str]:
        return frozenset({relation_tag(self.relation_id)})

    def key_scope(self) -> str:
        return relation_tag(self.relation_id)


class ValidityEvent(RelationEvent):
    """Carries what changes of when facts hold: of its own relation, and of others under the same predicate."""

    validity: tuple[Validity, ...]

    def tags(self) -> frozenset[str]:
        return super().tags() | relation_tags(self.validity)


class RelationAsserted(ValidityEvent):
    """Something is said to hold, from `valid_from` on: an edge to `object_id`, or a `value` (A §4.2, X13).

    `valid_from` and `valid_to` are as said; what follows from it is in `validity`. `single`: whether the predicate was
    single-valued then. `source_turn_ids` are the turns that it was extracted from this time.
    """

    scope: Scope
    agent_id: str | None = None
    subject_id: UUID
    predicate: str
    object_id: UUID | None = None
    confidence: float
    valid_from: datetime
    valid_to: datetime | None = None
    single: bool
    source_turn_ids: tuple[str, ...] = ()
    memory_id: UUID | None = None
    value: Annotated[JsonValue, Personal()] = None
    metadata: Annotated[Attributes, Personal()] = {}  # noqa: RUF012

    def tags(self) -> frozenset[str]:
        ends = {about_tag(self.subject_id), *([about_tag(self.object_id)] if self.object_id else [])}
        slot = slot_tag(self.scope, self.agent_id, self.subject_id, self.predicate)
        return super().tags() | ends | {slot, *map(turn_tag, self.source_turn_ids)}


class RelationObserved(RelationEvent):
    """What is known was said again: `confidence` is what it is afterwards; `entity_ids` are its ends."""

    version: ClassVar[int] = 2

    confidence: float
    source_turn_ids: tuple[str, ...] = ()
    memory_id: UUID | None = None
    entity_ids: tuple[UUID, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | {turn_tag(turn_id) for turn_id in self.source_turn_ids}


class RelationEnded(ValidityEvent):
    """A fact ended at `valid_to`, as is known from this record on."""

    valid_to: datetime


class RelationRetired(ValidityEvent):
    """A fact never held, as is known from this record on; what it had ended goes on."""


class RelationForgotten(RelationEvent):
    """A relation is hidden and will be purged at `purge_at` unless it is restored (A19)."""

    purge_at: datetime
    reason: PersonalText = ""


class RelationRestored(RelationEvent):
    """A forgotten relation is shown again."""


class RelationReverted(ValidityEvent):
    """Undo: one relation is as it was before the event `undoes`; `was` is its status until now (X03).

    One that began with that event has no periods from now on. `single`: whether its predicate was single-valued when it
    was told; None of version 1, which left that as it was.
    """

    version = 2

    undoes: UUID
    was: Status
    status: Status
    confidence: float
    single: bool | None = None
    purge_at: datetime | None = None
    metadata: Annotated[Attributes, Personal()] = {}  # noqa: RUF012


class RelationErased(RelationEvent):
    """The value and the metadata of a relation are destroyed; that there was one, and when it held, stays."""

    def shreds(self) -> frozenset[str]:
        return frozenset({relation_tag(self.relation_id)})
