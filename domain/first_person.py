"""A question that calls the user by name, or a parent of theirs, as the user would ask it in full."""

import re
from collections.abc import Collection

from mnemolog.domain.extraction.vocabulary import PARENTS
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.mention import spellings

_PARENT = lazy_compile(
    rf"(?:(?<![\w'\u2019])(?P<before>[\w'\u2019]+) )?(?<![\w-])(?P<parent>{PARENTS})(?![\w-]|(?-i: [A-Z]))",
    re.IGNORECASE,
)
# What stands before the word for one's own parent: the beginning of a sentence, a verb that asks, or a preposition.
_ASKS = "did do does is was has had are were will would can could should"
_LEADS_UP = "tell told visit call what's where's who's how's when's about and by for from like of or than to with"
_ASKING = frozenset(_ASKS.split())
_BEFORE_PARENT = {"", *_ASKING, *_LEADS_UP.split()}
# Words of other languages: "Mam kota?"
_ALSO_FOREIGN = frozenset({"gran", "mam", "nan", "nana"})
_VERBS = {"does": "do", "has": "have", "is": "am", "was": "was", "did": "did"}
_POSSESSIVE = lazy_compile(r"\b(?:his|her|their)\b(?= [a-z])", re.IGNORECASE)
# Somebody else, whose "his" or "her" it may be.
_OTHER_NAME = lazy_compile(r"[a-z,] [A-Z]\w")


def of_own_parents(question: str) -> str:
    """The question with "my" before the word for a parent that stands alone, as one speaks of one's own.

    >>> of_own_parents("Where does Mum live?"), of_own_parents("Where does Mia's mum live?")
    ('Where does my mum live?', "Where does Mia's mum live?")
    """

    def owned(found: re.Match[str]) -> str:
        before, parent = found["before"] or "", found["parent"].lower()
        leads_up = _ASKING if parent in _ALSO_FOREIGN else _BEFORE_PARENT
        if before.lower().replace("\u2019", "'") not in leads_up:
            return found[0]
        return f"{before} my {parent}".lstrip()

    return _PARENT.sub(owned, question)


def in_first_person(question: str, names: Collection[str]) -> str:
    """The question with "I", "me" and "my" for each of the user's names.

    >>> in_first_person("Where does Nina work, and what's Nina's job?", ["Nina"])
    "Where do I work, and what's my job?"
    >>> in_first_person("What did Anna tell Nina?", ["Nina"])
    'What did Anna tell me?'
    >>> in_first_person("What does nina do in her free time?", ["Nina"])
    'What do I do in my free time?'
    >>> in_first_person("Is Zoë with Anna-Maria's boss?", ["zoe", "anna maria"])
    'Am I with my boss?'
    """
    said = question
    for name in sorted(spellings(question, names), key=len, reverse=True):
        called = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        said = re.sub(rf"{called}['\u2019]s\b(?! (?:still|now|been|got|\w+ing)\b)", "my", said, flags=re.IGNORECASE)
        said = re.sub(rf"\b({'|'.join(_VERBS)}) {called}", _conjugated, said, flags=re.IGNORECASE)
        said = re.sub(rf"\b(will|can|could|would|should|might|must|are) {called}", r"\1 I", said, flags=re.IGNORECASE)
        said = re.sub(called, "me", said, flags=re.IGNORECASE)
    if said == question or _OTHER_NAME.search(said):
        return said
    return _POSSESSIVE.sub("my", said)


def _conjugated(found: re.Match[str]) -> str:
    verb = _VERBS[found[1].lower()]
    return f"{verb.capitalize() if found[1][0].isupper() else verb} I"
