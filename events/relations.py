"""Events of relations (A §4.2).

`validity` has the complete new periods of each affected relation; empty if it is retired (X13).
"""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import JsonValue

from mnemolog.domain.facts import Validity
from mnemolog.domain.memory import Status
from mnemolog.domain.origin import Origin
from mnemolog.domain.precision import Precision
from mnemolog.domain.retelling import Beliefs
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import turn_tag
from mnemolog.events.entities import Attributes
from mnemolog.events.event import Event, Personal, PersonalText, ShredsItsKey
from mnemolog.events.graph_tags import about_tag, relation_tag, relation_tags, slot_tag


class RelationEvent(Event):
    """An event of one relation, encrypted with that relation's key."""

    relation_id: UUID

    def key_scope(self) -> str:
        return relation_tag(self.relation_id)


class ValidityEvent(RelationEvent):
    """Carries changed validities: of its own relation, and of others with the same subject and predicate."""

    validity: tuple[Validity, ...]

    def tags(self) -> frozenset[str]:
        return super().tags() | relation_tags(self.validity)


class ToldEvent(ValidityEvent):
    """What was said, perhaps before something that was recorded earlier.

    `retold`: set if it was told late, that is, if something of the same subject and predicate had been recorded that
    was told after it. Then it has all beliefs of each relation of which other beliefs follow now.
    """

    retold: tuple[Beliefs, ...] | None = None


class RelationAsserted(ToldEvent):
    """A fact was asserted, from `valid_from` on: an edge to `object_id`, or a `value` (A §4.2, X13).

    `valid_from` and `valid_to` are as asserted; the resulting periods are in `validity`. `single`: whether the
    predicate was single-valued at the time. `source_turn_ids` are the turns it was extracted from this time.

    `told_at`: when it was said, if that was not when it was recorded. `literal`: whether the caller or the predicate
    said that the object is a value; otherwise a text stands for the entity that gets this name. In version 1, which
    did not record it, every value stays one. `origin` is there since version 3.

    `since_precision` and `until_precision`: the unit to which `valid_from` and `valid_to` are known, if that is not the
    day; since version 4. `retold` is there since version 5.
    """

    version: ClassVar[int] = 5

    scope: Scope
    agent_id: str | None = None
    subject_id: UUID
    predicate: str
    object_id: UUID | None = None
    confidence: float
    valid_from: datetime
    valid_to: datetime | None = None
    since_precision: Precision | None = None
    until_precision: Precision | None = None
    single: bool
    origin: Origin = Origin.USER
    source_turn_ids: tuple[str, ...] = ()
    memory_id: UUID | None = None
    told_at: datetime | None = None
    literal: bool = False
    value: Annotated[JsonValue, Personal()] = None
    metadata: Annotated[Attributes, Personal()] = {}  # noqa: RUF012

    def tags(self) -> frozenset[str]:
        ends = {about_tag(self.subject_id), *([about_tag(self.object_id)] if self.object_id else [])}
        slot = slot_tag(self.scope, self.agent_id, self.subject_id, self.predicate)
        return super().tags() | ends | {slot, *map(turn_tag, self.source_turn_ids)}


class RelationObserved(RelationEvent):
    """A known fact was asserted again; `confidence` is the new value, `entity_ids` are its subject and object.

    `metadata` are those of this repetition, which the fact gains. `origin`: what the fact's own is from now on, if that
    changed. `valid_from`: since when it was said to hold, and `stated` whether that was given; since version 5. `late`:
    whether something of the same subject and predicate had been recorded that was told after it, so that it changes
    nothing of what was believed.
    """

    version: ClassVar[int] = 5

    confidence: float
    valid_from: datetime | None = None
    stated: bool = False
    late: bool = False
    origin: Origin | None = None
    source_turn_ids: tuple[str, ...] = ()
    memory_id: UUID | None = None
    entity_ids: tuple[UUID, ...] = ()
    told_at: datetime | None = None
    metadata: Annotated[Attributes, Personal()] = {}  # noqa: RUF012

    def tags(self) -> frozenset[str]:
        return super().tags() | {turn_tag(turn_id) for turn_id in self.source_turn_ids}


class StatedEvent(ToldEvent):
    """`stated_in` are the messages that say so, if it was extracted from messages, by `rule`.

    `told_at`: when it was said, if that was not when it was recorded; since version 3. `retold`: since version 4, or 5
    of an ending.
    """

    version: ClassVar[int] = 4

    stated_in: tuple[str, ...] = ()
    rule: str = ""
    told_at: datetime | None = None

    def tags(self) -> frozenset[str]:
        return super().tags() | {turn_tag(turn_id) for turn_id in self.stated_in}


class RelationEnded(StatedEvent):
    """A fact ended at `valid_to`, which is known to the day, or to the unit of `until_precision` (since version 4)."""

    version: ClassVar[int] = 5

    valid_to: datetime
    until_precision: Precision | None = None


class RelationRetired(StatedEvent):
    """A fact never held; the facts it had ended continue."""


class RelationWithdrawn(ValidityEvent):
    """All messages that a fact was extracted from, `turn_ids`, were deleted.

    It is hidden as they are, and the facts it had ended continue.
    """

    turn_ids: tuple[str, ...]
    purge_at: datetime

    def tags(self) -> frozenset[str]:
        return super().tags() | {turn_tag(turn_id) for turn_id in self.turn_ids}


class RelationForgotten(RelationEvent):
    """A relation is hidden and will be purged at `purge_at` unless it is restored (A19)."""

    purge_at: datetime
    reason: PersonalText = ""


class RelationRestored(RelationEvent):
    """A deleted relation is restored."""


class RelationReverted(ValidityEvent):
    """Undo: one relation is restored to its state before the event `undoes`; `was` is its previous status (X03).

    A relation created by that event then has no periods. `single`: whether its predicate was single-valued when it was
    asserted; None in version 1, which did not change it. `origin`: None if that does not change.
    """

    version = 3

    undoes: UUID
    was: Status
    status: Status
    confidence: float
    single: bool | None = None
    origin: Origin | None = None
    purge_at: datetime | None = None
    metadata: Annotated[Attributes, Personal()] = {}  # noqa: RUF012


class RelationErased(ShredsItsKey, RelationEvent):
    """The value and the metadata of a relation are destroyed; its existence and validity remain."""
