"""Resolving ambiguous names: the active entity, else the last seen, else one question (A §10.2)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemolog.domain.entity import Entity
from mnemolog.domain.text import normalize_name

MAX_NAMED = 4
"""The maximum number of candidates in a question."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate, and when it was last seen, if known."""

    entity: Entity
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    entity_id: UUID


@dataclass(frozen=True, slots=True)
class Ask:
    """The name is ambiguous. The question lists the candidates with what distinguishes them."""

    question: str


def resolve(candidates: Sequence[Candidate], active: Collection[UUID] = ()) -> Resolved | Ask:
    """The candidate that is meant. `active`: the entities that are active in the session."""
    left = preferred({one.entity.entity_id: one.last_seen for one in candidates}, active)
    if len(left) == 1:
        return Resolved(left[0])
    return Ask(question([one.entity for one in candidates if one.entity.entity_id in left]))


def preferred(last_seen: Mapping[UUID, datetime | None], active: Collection[UUID] = ()) -> Sequence[UUID]:
    """Of entities with one name, those that are active in the session, if any, and of these the one last seen.

    Several if they were last seen at once, or if that is unknown for one.
    """
    left = {id_: at for id_, at in last_seen.items() if id_ in active} or last_seen
    times = [at for at in left.values() if at is not None]
    if len(times) < len(left):
        return list(left)
    return [id_ for id_, at in left.items() if at == max(times)]


def question(entities: Sequence[Entity]) -> str:
    """Such as `work Marta or family Marta?`."""
    names = [_told_apart(one) for one in entities[:MAX_NAMED]]
    return f"{', '.join(names[:-1])} or {names[-1]}?"


def _told_apart(entity: Entity) -> str:
    """An alias longer than the name, else the name with an attribute."""
    name = entity.traits.name
    telling = (one for one in entity.traits.aliases if normalize_name(name) in normalize_name(one))
    known = [str(value) for value in entity.traits.attributes.values() if isinstance(value, str | int)]
    return next(telling, f"{name} ({', '.join([entity.traits.category, *known[:2]])})")
