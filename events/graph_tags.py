"""Tags of entities and relations: by id, by name, by subject."""

from collections.abc import Iterable
from uuid import UUID

from mnemolog.domain.facts import Validity
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import normalize_name
from mnemolog.events.event import blind_tag


def entity_tag(entity_id: UUID) -> str:
    return f"entity:{entity_id}"


def relation_tag(relation_id: UUID) -> str:
    return f"relation:{relation_id}"


def about_tag(entity_id: UUID) -> str:
    """Tag of the relations with an entity as subject or object."""
    return f"about:{entity_id}"


def slot_tag(scope: Scope, agent_id: str | None, subject_id: UUID, predicate: str) -> str:
    """Tag of the relations with one subject and predicate, in one scope."""
    return f"slot:{scope}:{agent_id or ''}:{subject_id}:{predicate}"


def name_tag(name: str) -> str:
    """Tag of an entity's name. Stored as an HMAC, so the log does not reveal it."""
    return blind_tag("name", normalize_name(name))


def relation_tags(validity: Iterable[Validity]) -> set[str]:
    """Tags of the relations whose validity changed."""
    return {relation_tag(one.relation_id) for one in validity}
