"""What comes to a being's mind: fragments of its scenes, and a search by keywords (C §Recall Flow, C12, C13)."""

import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from random import Random
from xml.sax.saxutils import escape

from mnemolog.domain.scene import Experience, when_texts

AT_MOST = 3
"""The scenes that come to mind at most."""
SEPARATOR = " / "
ALIVE_WEIGHT, DEAD_WEIGHT = 1, 2
"""How much a scene is reactivated when it is looked for: a dead one more, so that it revives (C ❺)."""


class Mode(StrEnum):
    """Whether a scene must contain one of the terms, or all of them."""

    OR = "or"
    AND = "and"


def fragments(scenes: Iterable[Sequence[str]], random: Random) -> list[str]:
    """The parts of all scenes, shuffled together, so that it cannot be told which belong to one scene."""
    mixed = [part for parts in scenes for part in parts if part]
    random.shuffle(mixed)
    return mixed


def recall_block(parts: Sequence[str]) -> str:
    """The fragments as a block of a prompt; "" if nothing came to mind.

    >>> recall_block(["won the race", "proud"])
    '<recall>\\nwon the race / proud\\n</recall>'
    """
    return f"<recall>\n{escape(SEPARATOR.join(parts))}\n</recall>" if parts else ""


def terms_of(query: str) -> tuple[str, ...]:
    """The terms of a query: what white space divides, of any script."""
    return tuple(dict.fromkeys(_folded(query).split()))


def matches(text: str, experience: Experience | None, terms: Sequence[str], mode: Mode) -> bool:
    """Whether a scene contains one of the terms, or each of them in any of its fields (C §search_memory).

    A term is in `action`, `feeling` or an entry of `when` if it is a part of it, since many scripts do not divide
    words; and in `themes` if it is one of them, or a word of one whose words are all among the terms. Case and
    compatibility forms do not matter. `text` stands for the action of a memory without a scene.
    """
    scene = experience.scene if experience else None
    told = [scene.action, *when_texts(scene)] if scene else [text]
    parts = [_folded(part) for part in (*told, experience.feeling if experience else "")]
    themes = [_folded(theme).split() for theme in experience.themes] if experience else []
    of_themes = {word for words in themes if set(words) <= set(terms) for word in words}
    found = (term in of_themes or any(term in part for part in parts) for term in terms)
    return bool(terms) and (all(found) if mode is Mode.AND else any(found))


def _folded(text: str) -> str:
    """A form in which texts are equal if they differ only in case, width and composition."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
