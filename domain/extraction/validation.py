"""The validator of what is to be remembered (B09): third person, no pronouns, one or two sentences, 280 characters."""

import re
from datetime import datetime

from mnemolog.domain.entity import ME
from mnemolog.domain.extraction.candidate import Candidate
from mnemolog.domain.sentence import sentence
from mnemolog.domain.text import search_terms

LONGEST = 280
MOST_SENTENCES = 2
SHORTEST = 2
"""The letters and digits that a name or a value has at least."""
FIRST_YEAR, YEARS_AHEAD = 1900, 30
_PRONOUNS = re.compile(
    r"\b(?:i|i'm|i've|i'd|me|my|mine|myself|we|we're|us|our|ours|you|you're|your|yours|he|him|his|she|her|hers|it|its|it's"
    r"|they|them|their|theirs|this|that|these|those)\b",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?])\s+")


def conforming(text: str) -> str | None:
    """The text as it may be remembered, cut to two sentences; None if it is empty, too long or has pronouns."""
    plain = " ".join(" ".join(_END.split(text.strip())[:MOST_SENTENCES]).split())
    if not search_terms(plain) or len(plain) > LONGEST or _PRONOUNS.search(plain):
        return None
    return plain


def valid(candidate: Candidate, at: datetime) -> bool:
    """Whether a candidate is a sentence that may be remembered, and its dates are plausible."""
    dates = [one for one in (candidate.since, candidate.until) if one]
    if any(not FIRST_YEAR <= one.year <= at.year + YEARS_AHEAD for one in dates):
        return False
    if candidate.since and candidate.until and candidate.until <= candidate.since:
        return False
    if candidate.object is None:
        return True
    if sum(map(str.isalnum, candidate.object)) < SHORTEST:
        return False
    subject = "The user" if candidate.subject == ME else candidate.subject
    return conforming(sentence(subject, candidate.predicate, candidate.object)) is not None
