"""By which tags entities and relations are found: by id, by name, by what they are about."""

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
    """The relations that an entity is an end of."""
    return f"about:{entity_id}"


def slot_tag(scope: Scope, agent_id: str | None, subject_id: UUID, predicate: str) -> str:
    """All that is said under one predicate of one subject, in one scope."""
    return f"slot:{scope}:{agent_id or ''}:{subject_id}:{predicate}"


def name_tag(name: str) -> str:
    """The name of a person, place or thing as a tag. Blind: whoever reads the log does not learn it."""
    return blind_tag("name", normalize_name(name))


def relation_tags(validity: Iterable[Validity]) -> set[str]:
    """The relations of which something changed."""
    return {relation_tag(one.relation_id) for one in validity}
