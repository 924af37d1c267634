"""The memory key and its parts, which never change (D §Memory Types, Metadata)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.slug import slug
from mnemolog.domain.text import clean

MAX_KEY_BYTES = 1024
MAX_REFS = 50


class MemoryType(StrEnum):
    """From D. OPEN_LOOP is only read from older systems and never written: todos replaced it."""

    PROFILE = "PROFILE"
    PEOPLE = "PEOPLE"
    PROJECT = "PROJECT"
    OPEN_LOOP = "OPEN_LOOP"


class EntityType(StrEnum):
    PERSON = "person"
    PLACE = "place"
    ORG = "org"
    PROJECT = "project"


class FactType(StrEnum):
    FACT = "fact"
    PREFERENCE = "preference"
    RELATIONSHIP = "relationship"
    FRICTION = "friction"
    HABIT = "habit"


class Source(StrEnum):
    """The origin of a memory; the first three are from D."""

    SHADOW_EXTRACTION = "shadow_extraction"
    SEEDED_PROFILE = "seeded_profile"
    CURATED_FOLD = "curated_fold"
    API = "api"


@dataclass(frozen=True, slots=True)
class Identity:
    """The subject of a memory. `key` is "" if it has none; the first of `entity_refs` is the primary one."""

    type: MemoryType | None = None
    entity_type: EntityType | None = None
    fact_type: FactType | None = None
    source: Source = Source.API
    key: str = ""
    entity_refs: tuple[str, ...] = ()
    entity_label: str = ""
    topics: tuple[str, ...] = ()

    def erased(self) -> "Identity":
        """Without the personal fields."""
        return Identity(self.type, self.entity_type, self.fact_type, self.source)


NOTHING_SAID = Identity()


def memory_key(
    kind: MemoryType | None, entity_type: EntityType | None, refs: Sequence[str], fact_type: FactType | None
) -> str:
    """A key such as `people|person|john_doe|relationship`, or "" if a part of it is unknown (D §memoryKey).

    The default entity type is that of the primary ref.
    """
    if kind is None or fact_type is None or not refs:
        return ""
    of_ref, _, slug = refs[0].partition(":")
    return f"{kind.lower()}|{entity_type or of_ref}|{slug}|{fact_type}"


def slugged_ref(ref: str) -> str:
    """A reference in its current form; older events may contain references that are not slugs."""
    try:
        return entity_ref(ref, "entity_refs")
    except InvalidInput:
        return ref


def entity_ref(value: object, field: str) -> str:
    """A reference with its name as a slug: `person:John-Doe!` is `person:john_doe` (D §entityRefs)."""
    if isinstance(value, str) and len(value) <= MAX_KEY_BYTES:
        kind, colon, name = clean(value, field).partition(":")
        if colon and kind.strip().lower() in list(EntityType):
            return f"{kind.strip().lower()}:{slug(name, field)}"
    raise InvalidInput(
        "is not an entity reference",
        field=field,
        fix="write person, place, org or project, a colon and a slug: person:ana",
    )


def named_key(value: object, field: str) -> str:
    """The caller's key, or ""."""
    return "" if value in (None, "") else clean(value, field, max_bytes=MAX_KEY_BYTES)
