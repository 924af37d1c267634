"""Who is meant, when several bear one name: the active, else the last seen, else one question (A §10.2)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemolog.domain.entity import Entity
from mnemolog.domain.text import normalize_name

MAX_NAMED = 4
"""So many are named in a question; more would be no question to answer."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One who bears the name, and when he was last seen, where that is known."""

    entity: Entity
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    entity_id: UUID


@dataclass(frozen=True, slots=True)
class Ask:
    """Nothing tells who is meant. The question names the candidates by what tells them apart."""

    question: str


def resolve(candidates: Sequence[Candidate], active: Collection[UUID] = ()) -> Resolved | Ask:
    """Of one or more candidates the one who is meant. `active`: whom the session speaks of."""
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
    """Those that were seen last; all, when that is not known of one of them."""
    times = [one.last_seen for one in candidates if one.last_seen is not None]
    if len(times) < len(candidates):
        return list(candidates)
    return [one for one in candidates if one.last_seen == max(times)]


def _told_apart(entity: Entity) -> str:
    """An alias that says more than the name, else the name with what is known beside it."""
    name = entity.traits.name
    telling = (one for one in entity.traits.aliases if normalize_name(name) in normalize_name(one))
    known = [str(value) for value in entity.traits.attributes.values() if isinstance(value, str | int)]
    return next(telling, f"{name} ({', '.join([entity.traits.category, *known[:2]])})")
