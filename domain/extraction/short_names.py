"""Names in short: who works at Hart's Bakery may say "Hart's", and "my walnut allergy" is one to walnuts."""

from mnemolog.domain.text import name_key


def is_short_for(said: str, known: str) -> bool:
    """Whether a name is the first words of another, or the same in the singular or plural.

    >>> is_short_for("Hart's", "Hart's Bakery"), is_short_for("walnut", "walnuts"), is_short_for("Bakery", "Hart's Bakery")
    (True, True, False)
    """
    short, long = name_key(said), name_key(known)
    return long.startswith(f"{short} ") or (short != long and short.removesuffix("s") == long.removesuffix("s"))
