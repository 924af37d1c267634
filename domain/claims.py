"""Claims: which sentences of an answer the memory supports, and what to ask where it does not (A §1, A03).

A rule compares words, not meaning: a claim is supported if one statement, or the message itself, has all its words and
denies no more than it does. A claim in other words than the memory counts as unsupported, so that the agent asks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mnemolog.domain import markers
from mnemolog.domain.authority import Slot, sentences
from mnemolog.domain.contradiction import CONTRACTED_NOT, Difference, difference, one_frame
from mnemolog.domain.hydration import stems
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import normalize_name

MOST_CLAIMS = 20


class Support(StrEnum):
    """What the memory says to a claim. `contradicted`: it says something else, or no longer says it."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Known:
    """What a slot states, or without a slot, what stands in the prompt beside them.

    `of_user`: it may be about the user, and so support what is claimed of `you`. `overruled`: what takes precedence.
    `only_value`: the value of a fact that can have no other, such as a home.
    """

    slot: Slot | None
    id: str
    text: str
    of_user: bool = True
    overruled: str = ""
    only_value: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that claims something. `by` is what supports or contradicts it; `question` is what to ask instead."""

    text: str
    support: Support
    by: Known | None = None
    question: str = ""


def claims(text: str) -> Sequence[str]:
    """The sentences that claim something of the user or of the world: no questions, offers, wishes or conditions."""
    return [one for one in sentences(text) if _claims(one)][:MOST_CLAIMS]


def judged(claim: str, known: Sequence[Known], user: str) -> Claim:
    """What the statements say to a claim, of which the first have the most authority. `user` is how they name `you`.

    A claim of two halves (`You live in Porto and work at Acme`) is supported if both are. Otherwise the result is that
    of the half at fault, a contradicted one first, and the question asks only about that half.
    """
    whole = _judged(claim, known, user)
    halves = [] if whole.support is Support.SUPPORTED else [_judged(one, known, user) for one in _halves(claim)]
    if not halves:
        return whole
    found = {one.support: one for one in reversed(halves)}
    decisive = next(found[support] for support in _WORST_FIRST if support in found)
    return replace(decisive, text=claim)


def _halves(claim: str) -> Sequence[str]:
    """The two statements of a claim about one subject, which the second half need not repeat."""
    if not (subject := _SUBJECT.match(claim)) or not (joint := _JOINT.search(claim, subject.end())):
        return ()
    first, second = claim[: joint.start()], claim[joint.end() :]
    return (first, second if _SUBJECT.match(second) else f"{subject[0]} {second}")


def _judged(claim: str, known: Sequence[Known], user: str) -> Claim:
    # `You live in Berlin` as `Ana live in Berlin`.
    of_user, named = _YOUR.sub(lambda _: f"{user}'s", _YOU.sub(lambda _: user, claim)), stems(user)
    wanted, about_user = stems(of_user) - named - _EMPTY, of_user != claim
    opposed: Known | None = None
    for one in known:
        if about_user and not one.of_user:
            continue
        for said in sentences(one.text):
            has_all = bool(wanted) and wanted <= stems(said)
            if has_all and _denies(of_user) == _denies(said):
                if not one.overruled:
                    return Claim(claim, Support.SUPPORTED, one)
                opposed = opposed or one
            elif has_all or _another_value(claim, wanted, one, named) or _otherwise(of_user, said):
                opposed = opposed or one
    question = f"{claim.rstrip(' .!…。！')}?"
    if opposed:
        return Claim(claim, Support.CONTRADICTED, opposed, question)
    return Claim(claim, Support.UNSUPPORTED, None, question)


def _claims(sentence: str) -> bool:
    if sentence.endswith(("?", "？", "؟")) or _NO_CLAIM.match(sentence):
        return False
    return bool(stems(sentence) - _EMPTY)


def _otherwise(claim: str, said: str) -> bool:
    """Whether a statement says the same with another value. That somebody else is allergic denies nothing."""
    one, other = _SUBJECT.match(claim), _SUBJECT.match(said)
    if one and other and normalize_name(one[0]) != normalize_name(other[0]) and not _ROLE.match(claim, one.end()):
        return False
    return one_frame(claim, said) and difference(claim, said) not in (None, Difference.WORDING)


def _another_value(claim: str, wanted: frozenset[str], one: Known, named: frozenset[str]) -> bool:
    """Whether a claim about the user gives another value to a fact that can have only one."""
    if not one.only_value or not _YOU.search(claim) or _YOUR.search(claim):
        return False
    value = stems(one.only_value)
    frame = stems(one.text) - value - named - _EMPTY
    return bool(frame) and frame <= wanted and not value & wanted


def _denies(text: str) -> bool:
    words = normalize_name(CONTRACTED_NOT.sub(" not", text)).split()
    return sum(word in markers.NEGATIONS for word in words) % 2 == 1


_WORST_FIRST = (Support.CONTRADICTED, Support.UNSUPPORTED, Support.SUPPORTED)
_EMPTY = stems("you your yours yourself user is are was were be been has have had do does did currently now still also")
_YOUR = lazy_compile(r"\byour\b", re.IGNORECASE)
_YOU = lazy_compile(r"\byou(?:['’](?:re|ve|d|ll))?\b", re.IGNORECASE)
# `You`, `Your sister`, `The office`, or names.
_SUBJECT = lazy_compile(
    r"(?:(?:[Yy]ou(?:['’]re)?\b(?!\s+and\b))|(?:[Yy]our|The|the)\s+\w+|[A-Z]\w+(?:\s+[A-Z]\w+)*)(?=\s)"
)
# `Paul is Ana's manager`: another name denies it.
_ROLE = lazy_compile(r"\s+(?:is|are|was|were)\s+(?:now\s+)?(?:the|my|your|his|her|our|their|\w+['’]s)\b", re.IGNORECASE)
# `and` before a verb or another subject; between nouns it joins no statements.
_JOINT = lazy_compile(
    r",?\s+(?:and|but)\s+(?:(?:also|now|still|currently|often|usually)\s+)?(?=(?:you|your)\b|(?:[A-Z]\w+\s+)?(?:is|are|was|were"
    r"|has|have|had|do|does|did|can|cannot|will|(?:live|work|like|love|hate|prefer|enjoy|drink|eat|own|play|speak|stud|move"
    r"|marr|plan|want|need|take|use|drive|run|read|write|teach|travel|stay|keep|know|collect|train|visit|grow|grew|quit|start"
    r"|stop|make|made|bought|buy)(?:s|es|ed|d|ies|ied|y)?)(?:n['’]t)?\b)"
)
# What begins an offer, a wish, a condition, a courtesy, an instruction or a guess that says that it is one.
_NO_CLAIM = lazy_compile(
    r"(?:(?:i|we)(?:['’]\w+)?\s+(?:can|could|will|would|may|might|am|are|was|hope|think|suggest|recommend|understand"
    r"|see|know|don['’]t|do|do\s+not|cannot|can['’]t|want|need|remember|believe|guess)\b"
    r"|i['’](?:m|ll|d|ve)\b|(?:you|it|that|this)\s+(?:can|could|may|might|should|would)\b|(?:let|if|when|maybe|perhaps"
    r"|please|thanks?|thank|sorry|sure|of\s+course|hello|hi|hey|good\s+(?:morning|evening|afternoon|night)|congratulations"
    r"|welcome|glad|enjoy|have\s+an?|see\s+you|great|nice|okay|ok|yes|no|well|feel|tell|remember|try|consider|make|take|check|here|how|what)\b)",
    re.IGNORECASE,
)
