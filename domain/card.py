"""Entity cards: what is known about an entity, as one line for a prompt (D06)."""

from collections.abc import Iterable
from itertools import islice

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.slug import slug
from mnemolog.domain.text import normalize_name

TOP_FACTS = 3
TELLING = 0.5
"""The minimum importance for a card, except for pinned memories: from here on, 2 is the nearest of D's levels."""

# The types of D's references, by the category of an entity (A §4.1).
REF_TYPES = {"Person": "person", "Location": "place", "Organization": "org", "Project": "project"}


def reference(category: str, name: str) -> str:
    """Such as `person:john_doe`. A category without a type in D, such as Food, is used as it is."""
    return f"{REF_TYPES.get(category) or _word(category)}:{_word(name)}"


def _word(text: str) -> str:
    """A name without letters or digits has no slug and is used as it is."""
    try:
        return slug(text)
    except InvalidInput:
        return normalize_name(text).replace(" ", "_")


def card(reference: str, facts: Iterable[str]) -> str:
    """`[person:john]: fact1; fact2; fact3` with the first three facts, in one line; "" if there are none."""
    listed = "; ".join(" ".join(fact.split()) for fact in islice(facts, TOP_FACTS))
    return f"[{reference}]: {listed}" if listed else ""
