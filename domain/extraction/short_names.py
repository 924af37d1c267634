"""Names in short: who works at Hart's Bakery may say "Hart's", and "my walnut allergy" is one to walnuts."""

import re

from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import name_key


def is_called(said: str, known: str) -> bool:
    """Whether a name is another one, or short for it, or its last words.

    >>> is_called("Patel", "Dr Patel"), is_called("Hart's", "Hart's Bakery"), is_called("Linz", "Graz"), is_called("Linz", "")
    (True, True, False, False)
    """
    if not known:
        return False
    short, long = name_key(said), name_key(known)
    return short == long or long.endswith(f" {short}") or is_short_for(said, known)


def is_short_for(said: str, known: str) -> bool:
    """Whether a name is the first words of another, also in the genitive, or the same in the singular or plural.

    >>> is_short_for("Hart's", "Hart's Bakery"), is_short_for("walnut", "walnuts"), is_short_for("Bakery", "Hart's Bakery")
    (True, True, False)
    >>> is_short_for("Mortimer's", "Mortimer & Sons")
    True
    """
    short, long = name_key(said), name_key(known)
    owner = name_key(re.sub(r"['’]s?$", "", said))
    return long.startswith((f"{short} ", f"{owner} ")) or (
        short != long and short.removesuffix("s") == long.removesuffix("s")
    )


def in_plural(allergen: str) -> str:
    """What somebody is allergic to, of whom it is said that they have such an allergy.

    >>> in_plural("tree nut"), in_plural("strawberry"), in_plural("milk")
    ('tree nuts', 'strawberries', 'milk')
    """
    return _COUNTED.sub(lambda one: one[0].removesuffix("y") + ("ies" if one[0].endswith("y") else "s"), allergen)


_COUNTED = lazy_compile(
    r"(?:nut|almond|cashew|pistachio|pecan|egg|bee|wasp|cat|dog|horse|prawn|mussel|oyster|clam|scallop|strawberry"
    r"|mushroom|lentil|chickpea|(?:soy)?bean|feather)$",
    re.IGNORECASE,
)
