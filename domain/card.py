"""Entity cards: what is known of somebody or something, in one line of a prompt (D06)."""

from collections.abc import Iterable
from itertools import islice

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.importance import from_level
from mnemolog.domain.slug import slug
from mnemolog.domain.text import normalize_name

TOP_FACTS = 3
TELLING = from_level(2)
"""From this importance on something is told in a card, unless it is pinned."""

# The types of D's references, by the category of an entity (A §4.1).
REF_TYPES = {"Person": "person", "Location": "place", "Organization": "org", "Project": "project"}


def reference(category: str, name: str) -> str:
    """Such as `person:john_doe`; a category that D has no type for, such as Food, in its own word."""
    return f"{REF_TYPES.get(category) or _word(category)}:{_word(name)}"


def _word(text: str) -> str:
    """A name of signs alone has no slug, and stands for itself."""
    try:
        return slug(text)
    except InvalidInput:
        return normalize_name(text).replace(" ", "_")


def card(reference: str, facts: Iterable[str]) -> str:
    """`[person:john]: fact1; fact2; fact3`: the first three; "" when there are none."""
    told = "; ".join(islice(facts, TOP_FACTS))
    return f"[{reference}]: {told}" if told else ""
