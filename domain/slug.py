"""Slugs: names as one word, as in the entity references of D: `person:john_doe`."""

import unicodedata

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import normalize_name


def slug(text: str, path: str = "name") -> str:
    """Lower case, no punctuation; spaces and hyphens become underscores. Any script; InvalidInput if empty."""
    found = _GAP.sub("_", "".join(filter(_kept, normalize_name(text)))).strip("_")
    if not found:
        raise InvalidInput("has no letter or digit", field=path, fix="send a name")
    return found


_GAP = lazy_compile(r"[\s_-]+")


def _kept(character: str) -> bool:
    return character in "-_" or unicodedata.category(character)[0] not in "PS"
