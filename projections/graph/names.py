"""The form in which names are compared, as far as an index holds it."""

from mnemolog.domain.text import name_key

# Beside the ids of an owner, in the 2,704 bytes that Postgres indexes. No name that is asked for is as long.
MAX_INDEXED_BYTES = 1600


def indexed_name(name: str) -> str:
    """Empty for a text that is too long to be found as a name."""
    key = name_key(name)
    return key if len(key.encode()) <= MAX_INDEXED_BYTES else ""
