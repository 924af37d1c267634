"""What a row of history is about."""

from typing import NamedTuple

MEMORY, ENTITY, RELATION = "memory", "entity", "relation"


class Subject(NamedTuple):
    """A memory, an entity or a relation, and its id as text."""

    kind: str
    id: str
