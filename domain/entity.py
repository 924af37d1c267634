"""An entity: a person, place or thing that a user mentions, and the changes that its status allows (A §4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.domain.errors import Erased, InvalidInput, NotFound, TransitionRefused
from mnemolog.domain.memory import MAX_MERGE, Status
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import name_key, normalize_name

PERSON = "Person"
THING = "Thing"
"""The default category."""
CATEGORIES = (PERSON, "Location", "Organization", "Project", "Animal", THING)
MAX_NAME = 255  # A §4.1
MAX_CATEGORY = 50
ME = "me"


def category_of(text: str) -> str:
    """A category as it is spelled here, if it is one of these; any other as it is.

    >>> category_of("person"), category_of("Boat")
    ('Person', 'Boat')
    """
    return next((one for one in CATEGORIES if one.casefold() == text.casefold()), text)


def may_be_one(category: str, other: str) -> bool:
    """Whether something of one category may be of the other one: what is only a thing may be anything."""
    return THING in (category, other) or category.casefold() == other.casefold()


def proper_name(user_id: str, name: str) -> str:
    """The user himself is called by his id; `me` means him."""
    return user_id if normalize_name(name) == ME else name


def id_in(name: str) -> UUID | None:
    """The id that stands in the place of a name, if one does."""
    try:
        return UUID(name) if len(name) == len(str(UUID(int=0))) else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Traits:
    """The fields that an update may change. `confidence` is in [0, 1]; `attributes` are JSON."""

    name: str
    category: str
    confidence: float = 1.0
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def also_called(self, *names: str) -> "Traits":
        """With additional names, except those it already has."""
        known = {name_key(name) for name in (self.name, *self.aliases)}
        added = {name_key(name): name for name in reversed(names) if name and name_key(name) not in known}
        return replace(self, aliases=(*self.aliases, *reversed(added.values())))


@dataclass(frozen=True, slots=True)
class Entity:
    """The current state of an entity."""

    entity_id: UUID
    scope: Scope
    agent_id: str | None
    traits: Traits
    status: Status = Status.ACTIVE
    merged_into: UUID | None = None
    purge_at: datetime | None = None

    @property
    def active(self) -> bool:
        return self.status is Status.ACTIVE

    @property
    def is_erased(self) -> bool:
        return self.status is Status.PURGED

    def called(self, name: str) -> bool:
        """Whether it has the name, compared with `name_key`."""
        wanted = name_key(name)
        return any(name_key(one) == wanted for one in (self.traits.name, *self.traits.aliases) if one)

    def absorbed(self, survivor: UUID) -> "Entity":
        return replace(self, status=Status.DORMANT, merged_into=survivor)

    def forgotten(self, purge_at: datetime) -> "Entity":
        return replace(self, status=Status.SOFT_DELETED, purge_at=purge_at)

    def restored(self) -> "Entity":
        return replace(self, status=Status.ACTIVE, purge_at=None)

    def cleared(self) -> "Entity":
        """Without its names and attributes."""
        return replace(self, traits=Traits("", self.traits.category, self.traits.confidence))

    def erased(self) -> "Entity":
        """The erased entity. Its shape stays, so that merges stay intact (X07)."""
        return replace(self.cleared(), status=Status.PURGED, purge_at=None)


def require_active(entity: Entity, what: str, path: str = "entity_id") -> None:
    if not entity.active:
        fix = "undo its merge first" if entity.merged_into else "restore it first: `mnemolog entity restore`"
        raise TransitionRefused(
            f"entity {entity.entity_id} is {entity.status} and cannot be {what}", field=path, fix=fix
        )


def require_mergeable(survivor: Entity, absorbed: Sequence[Entity]) -> None:
    """Refuse a merge of none, too many, itself, different scopes, or inactive entities."""
    if not 1 <= len(absorbed) <= MAX_MERGE:
        raise InvalidInput(
            f"has {len(absorbed)} entities; the limit is 1 to {MAX_MERGE}",
            field="absorbed_ids",
            fix="change the number of entities",
        )
    seen = {survivor.entity_id}
    for place, one in enumerate(absorbed):
        path = f"absorbed_ids[{place}]"
        if one.entity_id in seen:
            raise InvalidInput(f"contains entity {one.entity_id} twice", field=path, fix="give each once")
        if (one.scope, one.agent_id) != (survivor.scope, survivor.agent_id):
            raise InvalidInput(
                "the entities have different scopes", field=path, fix="merge entities with the same scope and agent"
            )
        require_active(one, "merged", path)
        seen.add(one.entity_id)


def no_such_entity(user_id: str, entity_id: UUID, path: str = "entity_id") -> NotFound:
    """The error for an entity that does not exist or is not visible to the caller (A01)."""
    return NotFound(
        f"user {user_id!r} has no entity {entity_id}", field=path, fix="look it up with `mnemolog entity list`"
    )


def erased_entity(entity_id: UUID, path: str = "entity_id") -> Erased:
    return Erased(f"entity {entity_id} was erased", field=path, fix="its name is destroyed; add it again")
