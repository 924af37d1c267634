"""A relation: a fact that the graph holds, as an edge to an entity or as a literal value (A §4.2)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.domain.errors import Erased, InvalidInput, NotFound, TransitionRefused
from mnemolog.domain.facts import Fact, Validity
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope

MAX_JSON_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation as its events left it. `sources` are the turns that it was drawn from."""

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

    @property
    def fact(self) -> Fact:
        return Fact(self.relation_id, self.single, self.validity)

    def forgotten(self, purge_at: datetime) -> "Relation":
        return replace(self, status=Status.SOFT_DELETED, purge_at=purge_at)

    def restored(self) -> "Relation":
        return replace(self, status=Status.ACTIVE, purge_at=None)

    def erased(self) -> "Relation":
        """Without its value, for good. When it held stays, so that what it ended stays ended (X07)."""
        return replace(self, value=None, metadata={}, status=Status.PURGED, purge_at=None)

    def never_held(self) -> "Relation":
        return replace(self, validity=Validity(self.relation_id))


def value_key(value: Any) -> str:
    """What two literal values are compared by: canonical JSON, in which 1.0 is 1."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def checked_json(value: Any, path: str) -> Any:
    """The value, or InvalidInput when it could not be stored as it is."""
    try:
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("is no JSON value", field=path, fix="send text, a number, a list or an object") from error
    if size > MAX_JSON_BYTES:
        message = f"has {size:,} bytes of JSON, at most {MAX_JSON_BYTES:,} are accepted"
        raise InvalidInput(message, field=path, fix="shorten it")
    if _holds_nul(value):
        raise InvalidInput("contains a NUL character", field=path, fix="remove it")
    return value


def require_shown(relation: Relation, what: str, path: str = "relation_id") -> None:
    if relation.status is not Status.ACTIVE:
        message = f"fact {relation.relation_id} is {relation.status} and cannot be {what}"
        raise TransitionRefused(message, field=path, fix="restore it first")


def no_such_fact(user_id: str, relation_id: UUID, path: str = "relation_id") -> NotFound:
    """The one answer for a fact that is not there and for one that the asker may not see (A01)."""
    return NotFound(f"user {user_id!r} has no fact {relation_id}", field=path, fix="look it up with `mnemolog facts`")


def erased_fact(relation_id: UUID, path: str = "relation_id") -> Erased:
    return Erased(f"fact {relation_id} was erased", field=path, fix="its value is gone for good; tell it anew")


def _holds_nul(value: Any) -> bool:
    match value:
        case str():
            return "\0" in value
        case list() | tuple():
            return any(map(_holds_nul, value))
        case dict():
            return any(map(_holds_nul, (*value.keys(), *value.values())))
        case _:
            return False


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
