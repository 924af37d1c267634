"""The authority ladder: which of two slots that contradict each other is right (A §1, A03).

GRAPH overrules all. KNOWLEDGE holds unless GRAPH has an exception for this user. EPISODE is history. AFFECT states
nothing. What is overruled stays, and is marked.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mnemolog.domain.contradiction import Difference, difference, one_frame
from mnemolog.domain.hydration import stems
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import normalize_name


class Slot(StrEnum):
    """The slots that state something, highest authority first."""

    GRAPH = "GRAPH"
    KNOWLEDGE = "KNOWLEDGE"
    EPISODE = "EPISODE"


class Because(StrEnum):
    """Why a statement is overruled.

    `former_value`: it says what was so before a fact. `contradicts`: it says something else. `exception`: the graph has
    an exception for this user, such as an allergy. `scope`: a fact of another scope takes precedence (A09).
    """

    FORMER_VALUE = "former_value"
    CONTRADICTS = "contradicts"
    EXCEPTION = "exception"
    SCOPE = "scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact of the graph. `former`: values that it replaced or, without a `value`, the one that ended.

    `sources`: the ids of the memories and messages from which the former values came.
    """

    id: str
    sentence: str
    subject: str
    value: str
    single: bool = False
    critical: bool = False
    former: tuple[str, ...] = ()
    sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A hit. `about`: the ids of the entities that it is about; `opposed`: a newer memory that contradicts it.

    `outdated`: the fact that tells what has been so since it was said.
    """

    slot: Slot
    id: str
    text: str
    about: frozenset[str] = frozenset()
    opposed: str = ""
    outdated: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What overrules a statement: a fact or a hit, by id."""

    slot: Slot
    id: str
    because: Because


def ruling(said: Statement, facts: Sequence[Fact], others: Sequence[Statement] = ()) -> Ruling | None:
    """What overrules a statement, of the facts and of the other statements; None if nothing does."""
    for fact in facts:
        if because := _against(said, fact):
            return Ruling(Slot.GRAPH, fact.id, because)
    if said.outdated:
        return Ruling(Slot.GRAPH, said.outdated, Because.FORMER_VALUE)
    if said.opposed:
        return Ruling(Slot.EPISODE, said.opposed, Because.CONTRADICTS)
    if said.slot is Slot.EPISODE:
        for other in others:
            static = other.slot is Slot.KNOWLEDGE and not any(_against(other, fact) for fact in facts)
            if static and _contradicting(said.text, other.text):
                return Ruling(Slot.KNOWLEDGE, other.id, Because.CONTRADICTS)
    return None


def names(text: str, value: str) -> bool:
    """Whether a text contains a name or a value as whole words, whatever its case and accents."""
    plain = normalize_name(value)
    return bool(plain) and re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", normalize_name(text)) is not None


def sentences(text: str) -> Iterator[str]:
    return (plain for one in _END.split(text) if (plain := one.strip()))


def _against(said: Statement, fact: Fact) -> Because | None:
    """Why a fact overrules a statement."""
    if said.id in fact.sources:
        return Because.FORMER_VALUE
    if said.slot is Slot.KNOWLEDGE and fact.critical and stems(fact.value) <= stems(said.text):
        return Because.EXCEPTION
    if fact.subject not in said.about:
        return None
    now = names(said.text, fact.value)
    if any(names(said.text, value) for value in fact.former) and not now:
        return Because.FORMER_VALUE
    kinds = _DENYING | _OTHER_VALUE if fact.single and not now else _DENYING
    return Because.CONTRADICTS if _contradicting(fact.sentence, said.text, kinds) else None


def _contradicting(one: str, other: str, kinds: frozenset[Difference] | None = None) -> bool:
    """Whether a sentence of one is a sentence of the other but for a "not", a number, a date or a name."""
    return any(
        one_frame(left, right) and difference(left, right) in (kinds or _DENYING | _OTHER_VALUE)
        for left in sentences(one)
        for right in sentences(other)
    )


_END = lazy_compile(r"(?<=[.!?。！？])\s+|\n+")
_DENYING = frozenset({Difference.NEGATION, Difference.POLARITY})
_OTHER_VALUE = frozenset({Difference.NUMBER, Difference.DATE, Difference.WEEKDAY, Difference.NAME})
