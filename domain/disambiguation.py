"""Resolving ambiguous names: the active entity, else the last seen, else one question (A §10.2)."""

from collections.abc import Collection, Sequence
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
    spoken_of = [one for one in candidates if one.entity.entity_id in active] or list(candidates)
    latest = _last_seen(spoken_of)
    if len(latest) == 1:
        return Resolved(latest[0].entity.entity_id)
    return Ask(question([one.entity for one in latest]))


def question(entities: Sequence[Entity]) -> str:
    """Such as `work Marta or family Marta?`."""
    names = [_told_apart(one) for one in entities[:MAX_NAMED]]
    return f"{', '.join(names[:-1])} or {names[-1]}?"


def _last_seen(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates last seen; all of them if that is unknown for one."""
    times = [one.last_seen for one in candidates if one.last_seen is not None]
    if len(times) < len(candidates):
        return list(candidates)
    return [one for one in candidates if one.last_seen == max(times)]


def _told_apart(entity: Entity) -> str:
    """An alias longer than the name, else the name with an attribute."""
    name = entity.traits.name
    telling = (one for one in entity.traits.aliases if normalize_name(name) in normalize_name(one))
    known = [str(value) for value in entity.traits.attributes.values() if isinstance(value, str | int)]
    return next(telling, f"{name} ({', '.join([entity.traits.category, *known[:2]])})")
