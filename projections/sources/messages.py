"""Whether a hit is a message that tells something, and whether it was told before another."""

from datetime import datetime

from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.text import without_questions
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.sources.graph import FACT

NO_ANSWER = 0.8
"""The weight of a message that tells no place or nobody, if the question asks for one."""


def no_answer(hit: Hit) -> Hit:
    """The hit as one that does not tell what is asked for."""
    return hit.lowered("no_answer", NO_ANSWER)


def was_told_before(hit: Hit, later: Hit) -> bool:
    """Whether it is an earlier message of the same speaker, or a fact that the rules found in one."""
    if hit.kind == FACT:
        return is_older_fact(hit, later)
    if hit.kind != MESSAGE or hit.date >= later.date or hit.row["speaker"] != later.row["speaker"]:
        return False
    return tells_something(hit)


def is_older_fact(hit: Hit, later: Hit) -> bool:
    """Whether it is a fact that holds and that the rules found in an earlier message."""
    if hit.kind != FACT or not hit.current or "extractor" not in hit.row["details"]["metadata"]:
        return False
    known: datetime = hit.row["details"]["known_from"]
    return max(known, hit.date) < later.date


def tells_something(hit: Hit) -> bool:
    """Whether it is a message that tells something, whatever it asks besides."""
    return hit.kind == MESSAGE and bool(without_questions(hit.row["text"]))
