"""Tags of entities and relations: by id, by name, by subject."""

from collections.abc import Iterable
from uuid import UUID

from mnemolog.domain.facts import Validity
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import name_key, normalize_name
from mnemolog.events.event import blind_tag


def entity_tag(entity_id: UUID) -> str:
    return f"entity:{entity_id}"


def relation_tag(relation_id: UUID) -> str:
    return f"relation:{relation_id}"


def about_tag(entity_id: UUID) -> str:
    """Tag of the relations with an entity as subject or object."""
    return f"about:{entity_id}"


def slot_tag(scope: Scope, agent_id: str | None, subject_id: UUID, predicate: str) -> str:
    return f"slot:{scope}:{agent_id or ''}:{subject_id}:{predicate}"


def name_tag(name: str) -> str:
    """Tag of an entity's name. Stored as an HMAC, so the log does not reveal it."""
    return blind_tag("name", name_key(name))


def spelling_tags(name: str) -> set[str]:
    """The tags by which an entity with this name is found, in whatever version of the software it was recorded.

    Earlier versions tagged a name as it was written: with spaces, hyphens or underscores.
    """
    key = name_key(name)
    spellings = {key, normalize_name(name), key.replace(" ", "-"), key.replace(" ", "_")}
    return {blind_tag("name", one) for one in spellings}


def relation_tags(validity: Iterable[Validity]) -> set[str]:
    """Tags of the relations whose validity changed."""
    return {relation_tag(one.relation_id) for one in validity}
