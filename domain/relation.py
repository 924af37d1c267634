"""A relation: a fact in the graph, as an edge to an entity or a literal value (A §4.2)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.domain.errors import Erased, NotFound, TransitionRefused
from mnemolog.domain.facts import Fact, Validity
from mnemolog.domain.memory import Status
from mnemolog.domain.origin import Origin
from mnemolog.domain.precision import Precision, Precisions
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import same_text


@dataclass(frozen=True, slots=True)
class Relation:
    """The current state of a relation. `sources` are the turns it was extracted from.

    `literal`: whether a text as its object is only a value. Otherwise it stands for the entity that has this name.

    `precisions`: how exactly the dates of its validity are known that are not known to the day.
    """

    relation_id: UUID
    scope: Scope
    agent_id: str | None
    subject_id: UUID
    predicate: str
    object_id: UUID | None
    value: Any
    single: bool
    confidence: float
    validity: Validity
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()
    status: Status = Status.ACTIVE
    purge_at: datetime | None = None
    literal: bool = False
    origin: Origin = Origin.USER
    precisions: Precisions = field(default_factory=dict)

    @property
    def name(self) -> str | None:
        """The name of the entity that its object stands for, once there is one."""
        return self.value if isinstance(self.value, str) and not self.literal and self.object_id is None else None

    @property
    def fact(self) -> Fact:
        return Fact(self.relation_id, self.single, self.validity)

    @property
    def is_erased(self) -> bool:
        return self.status is Status.PURGED

    def forgotten(self, purge_at: datetime) -> "Relation":
        return replace(self, status=Status.SOFT_DELETED, purge_at=purge_at)

    def restored(self) -> "Relation":
        return replace(self, status=Status.ACTIVE, purge_at=None)

    def erased(self) -> "Relation":
        """The erased relation. Its validity stays, so that facts it ended stay ended (X07)."""
        return replace(self, value=None, metadata={}, status=Status.PURGED, purge_at=None)

    def valid(self, validity: Validity, said: Mapping[datetime, Precision | None]) -> "Relation":
        """The relation with another validity, for whose dates it was said how exactly they are known."""
        spans = (*validity.said, *validity.periods)
        own = {at for span in spans for at in (span.valid_from, span.valid_to)}
        known = {**self.precisions, **{at: precision for at, precision in said.items() if at in own}}
        precisions = {at: precision for at, precision in known.items() if precision}
        return replace(self, validity=validity, precisions=precisions)

    def never_held(self) -> "Relation":
        return replace(self, validity=Validity(self.relation_id))


def object_key(value: Any) -> str:
    """The form in which the values of facts are compared: words in any case and spacing, and a number as its text.

    Where a text is not plain words, case may be what it says: a code, a password, a unit.

    >>> object_key("Penicillin") == object_key("penicillin "), object_key("34") == object_key(34.0)
    (True, True)
    >>> object_key("Hunter2") == object_key("hunter2"), object_key("mW") == object_key("MW")
    (False, False)
    """
    if not isinstance(value, str):
        return value_key(value)
    words = value.split()
    plain = not any(char.isdigit() or (char.isupper() and place) for word in words for place, char in enumerate(word))
    return same_text(value) if plain else " ".join(words)


def value_key(value: Any) -> str:
    """A value as canonical JSON, in which 1.0 is 1."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def require_shown(relation: Relation, what: str) -> None:
    if relation.status is not Status.ACTIVE:
        message = f"fact {relation.relation_id} is {relation.status} and cannot be {what}"
        raise TransitionRefused(message, field="relation_id", fix="restore it first")


def no_such_fact(user_id: str, relation_id: UUID, path: str = "relation_id") -> NotFound:
    """The error for a fact that does not exist or is not visible to the caller (A01)."""
    return NotFound(
        f"user {user_id!r} has no fact {relation_id}", field=path, fix="look it up with `mnemolog fact list`"
    )


def erased_fact(relation_id: UUID, path: str = "relation_id") -> Erased:
    return Erased(f"fact {relation_id} was erased", field=path, fix="its value is destroyed; record it again")


def _plain(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list() | tuple():
            return [_plain(one) for one in value]
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case _:
            return value
