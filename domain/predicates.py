"""Configuration of predicates (X13, A09, A §6.4). Names are compared as slugs: ALLERGY is `allergy`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from mnemolog.domain.entity import PERSON, THING
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.slug import slug
from mnemolog.domain.text import clean, normalize_name

MAX_PREDICATE = 64  # A §4.2
DIED, MEDICATION = "died", "medication"
WORKS_AT, JOB_TITLE, EMPLOYMENT = "works_at", "job_title", "employment"
NEXT_TRIP, TRIP_TO = "next_trip", "trip_to"
TRIP_DATE = "trip_date"
_OF_TRIP = f"_{TRIP_DATE}"


class PredicateClass(StrEnum):
    """Which of two conflicting facts is shown (A §4.2): for identity the global one, for an agent's domain its own."""

    IDENTITY = "identity"
    AGENT = "agent"


class ObjectKind(StrEnum):
    """The type of a predicate's object: an entity, or a literal value."""

    ENTITY = "entity"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True)
class Predicate:
    """The configuration of one predicate.

    `single`: one value at a time. `critical`: never omitted from a context. `object` None: an entity if the object
    names a known one, else a literal. `subject` and `category` are the categories of entities that it creates.
    `timeless`: it does not change, so another value means that the previous one was wrong from the start.
    """

    name: str
    single: bool = False
    group: PredicateClass = PredicateClass.IDENTITY
    critical: bool = False
    object: ObjectKind | None = None
    category: str = THING
    subject: str = THING
    timeless: bool = False


def _person(
    name: str, object: ObjectKind, category: str = THING, *, single: bool = True, timeless: bool = False
) -> Predicate:
    return Predicate(name, single=single, object=object, category=category, subject=PERSON, timeless=timeless)


BUILT_IN = (
    _person("lives_in", ObjectKind.ENTITY, "Location"),
    _person("born_in", ObjectKind.ENTITY, "Location", timeless=True),
    _person("birthday", ObjectKind.LITERAL, timeless=True),
    Predicate(DIED, single=True, object=ObjectKind.LITERAL, timeless=True),
    _person(WORKS_AT, ObjectKind.ENTITY, "Organization"),
    *(_person(name, ObjectKind.ENTITY, PERSON) for name in ("married_to", "partner_of")),
    *(_person(name, ObjectKind.ENTITY, PERSON, single=False) for name in ("knows", "friend_of", "parent_of")),
    *(_person(name, ObjectKind.LITERAL) for name in ("age", "job_title", "email")),
    *(Predicate(name, critical=True, subject=PERSON) for name in ("allergy", "allergic_to", "safety_boundary")),
    *(Predicate(name, critical=True, subject=PERSON) for name in (MEDICATION, "intolerance")),
    *(Predicate(name, single=True, group=PredicateClass.AGENT) for name in ("diet_plan", "counseling_mode")),
)


def _by_name(predicates: Iterable[Predicate]) -> dict[str, Predicate]:
    return {predicate_name(one.name): one for one in predicates}


DOSE = "_dose"
"""How the predicate of the dose of a medication ends."""


def dose_of(drug: str) -> str:
    """The predicate of the dose of a medication.

    >>> dose_of("Vitamin D")
    'vitamin_d_dose'
    """
    return f"{'_'.join(re.findall(r'[a-z]+', drug.lower()))}{DOSE}"


def trip_date_of(place: str) -> str:
    """The predicate of the date of the trip to a place: several trips may be planned.

    >>> trip_date_of("New York")
    'new_york_trip_date'
    """
    words = "_".join(re.findall(r"[^\W_]+", normalize_name(place)))
    return f"{words[: MAX_PREDICATE - len(_OF_TRIP)]}{_OF_TRIP}"


def trip_of(predicate: str) -> str:
    """The place of a trip whose date has this predicate, in small letters; "" for any other predicate.

    >>> trip_of("new_york_trip_date"), trip_of("trip_date"), trip_of("lives_in")
    ('new york', '', '')
    """
    return predicate.removesuffix(_OF_TRIP).replace("_", " ") if predicate.endswith(_OF_TRIP) else ""


@dataclass(frozen=True, slots=True)
class PredicatePolicy:
    """The configured predicates, by name; any other is multi-valued and has the class identity."""

    predicates: Mapping[str, Predicate] = field(default_factory=lambda: _by_name(BUILT_IN))

    @classmethod
    def of(cls, predicates: Iterable[Predicate]) -> "PredicatePolicy":
        """These, plus the built-in ones that they do not override."""
        return cls(_by_name((*BUILT_IN, *predicates)))

    @property
    def critical(self) -> Sequence[str]:
        """The names of those that are in every context."""
        return sorted(name for name, rule in self.predicates.items() if rule.critical)

    @property
    def single(self) -> Sequence[str]:
        """The names of those that have one value at a time."""
        return sorted(name for name, rule in self.predicates.items() if rule.single)

    def rule(self, name: str) -> Predicate:
        """The configuration of a predicate, in any spelling."""
        known = _known_name(name)
        return self.predicates.get(known, Predicate(known))


@lru_cache(maxsize=4096)
def _known_name(name: str) -> str:
    """A search asks for the rules of the same few predicates hundreds of times."""
    return predicate_name(name)


def predicate_name(text: object, path: str = "predicate") -> str:
    """The name under which a predicate is stored and compared."""
    said = clean(text, path)
    name = slug(said, path)
    if (length := max(len(said), len(name))) > MAX_PREDICATE:
        message = f"has {length} characters, at most {MAX_PREDICATE} are accepted"
        raise InvalidInput(message, field=path, fix="use a shorter word, such as lives_in")
    return name


DEFAULT_PREDICATES = PredicatePolicy()
