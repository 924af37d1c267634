"""What a user has said since that may end a critical fact, such as a medication: a reader is told it beside the fact.

A rule ends such a fact only if a message says so plainly. Whatever else may mean it is shown as it was said: the fact
neither vanishes on a hint nor stands as if nobody had said anything. By words, in English.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from mnemolog.domain.delta import shortened
from mnemolog.domain.entity import ME
from mnemolog.domain.extraction.candidate import Action
from mnemolog.domain.extraction.clauses import LONGEST, sentences_of
from mnemolog.domain.extraction.extractor import extract
from mnemolog.domain.extraction.rule import DOSE_CHANGED, DRUG
from mnemolog.domain.extraction.vocabulary import NOTHING_BUT
from mnemolog.domain.hydration import stems
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.predicates import DOSE, MEDICATION
from mnemolog.domain.text import normalize_name

SHOWN = 160
"""The characters of what was said that are shown."""


def doubt(text: str, predicate: str, value: str, *, of_other: bool = False) -> str:
    """What a message says that may end a fact with this value, in its own words; "" if it says nothing of the sort.

    `of_other`: the fact is not about its author, whose own new medication takes the place of nobody else's.

    >>> doubt("Saw Dr Lee. She thinks I could stop the losartan soon.", "medication", "losartan")
    'She thinks I could stop the losartan soon.'
    >>> doubt("They switched me to losartan.", "medication", "warfarin", of_other=True)
    ''
    >>> doubt("I took my losartan this morning.", "medication", "losartan")
    ''
    >>> doubt("New bloods, so the GP bumped my levo, it's 88 now.", "levothyroxine_dose", "75")
    "New bloods, so the GP bumped my levo, it's 88 now."
    """
    if predicate.endswith(DOSE):
        changed = (one for one in sentences_of(text[:LONGEST]) if _changes_dose(one, predicate, value))
        return shortened(next(changed, ""), SHOWN)
    text = _NOTHING_ELSE.sub("only allergic to", text)
    if not _ENDING.search(text) and not _SWITCHED.search(text):
        return ""
    sentences = sentences_of(text[:LONGEST])
    for one, following in zip(sentences, (*sentences[1:], ""), strict=True):
        if _names_another(one, predicate, value) and not (of_other and _OF_AUTHOR.search(one)):
            return shortened(one, SHOWN)
        if _names(one, predicate, value):
            # The next sentence may go on with it: "I asked about the losartan. They said I may stop it."
            said = f"{one} {following}" if _OF_IT.search(following) else one
            told = next((part for part in (one, said) if _ENDING.search(part)), "")
            if told and not told.rstrip().endswith("?"):
                return shortened(told, SHOWN)
    return ""


def stated(text: str, at: datetime, predicate: str, value: str) -> bool:
    """Whether the author of a message says again that a fact holds, so that what was said before no longer counts."""
    if not _names(text, predicate, value):
        return False
    own = (one for one in extract(text, at) if one.subject == ME and not one.via)
    told = (one for one in own if one.action is Action.STATE and one.predicate == predicate)
    return any(normalize_name(one.object or "") == normalize_name(value) for one in told)


def noted(at: datetime, said: str) -> str:
    """What was said, as a reader of the fact is told it."""
    return f'said on {at:%Y-%m-%d}: "{said}"'


def words_of(predicate: str, value: str) -> str:
    """The words of which a message has one that says something of a fact with this value."""
    if predicate.endswith(DOSE):
        return " ".join(_names_of_drug(predicate))
    return f"{value} {_NOUNS.get(predicate, '')}"


def _names_of_drug(predicate: str) -> Sequence[str]:
    """The words of a medication with a dose, and what people call it for short: `levo` is levothyroxine."""
    words = [word for word in predicate.removesuffix(DOSE).split("_") if len(word) > 1]
    return [*words, *(word[:length] for word in words for length in _CLIPPED if length < len(word) - 1)]


def _changes_dose(sentence: str, predicate: str, value: str) -> bool:
    """Whether a sentence says that the dose is another one now, or that somebody changed it."""
    said = set(re.findall(r"[a-z]+", sentence.lower()))
    if said.isdisjoint(_names_of_drug(predicate)) or sentence.rstrip().endswith("?"):
        return False
    others = set(_NUMBER.findall(sentence)) - set(_NUMBER.findall(value))
    return DOSE_CHANGED.search(sentence) is not None or (bool(others) and _IS_NOW.search(sentence) is not None)


def _names(sentence: str, predicate: str, value: str) -> bool:
    """Whether a sentence names the value, most words of a longer one, or all of its sort."""
    wanted = stems(value)
    if 2 * len(wanted & stems(sentence)) > len(wanted):
        return True
    nouns = _NOUNS.get(predicate, "").replace(" ", "|")
    return (
        bool(nouns) and re.search(rf"\b(?:my|the|all|any) (?:{nouns})\b(?! to\b)", sentence, re.IGNORECASE) is not None
    )


def _names_another(sentence: str, predicate: str, value: str) -> bool:
    """Whether a sentence says that somebody takes another medication from now on, whatever it takes the place of."""
    found = _SWITCHED.search(sentence) if predicate == MEDICATION and not sentence.rstrip().endswith("?") else None
    return found is not None and stems(found["to"] or found["on"]).isdisjoint(stems(value))


_NOTHING_ELSE = lazy_compile(NOTHING_BUT, re.IGNORECASE)
_CLIPPED = (4, 5, 6)
"""The letters of a medication's name that are said instead of it."""
_NUMBER = lazy_compile(r"\d+(?:[.,]\d+)?")
_IS_NOW = lazy_compile(r"\b(?:now|from (?:today|tomorrow|now)|instead)\b", re.IGNORECASE)
# What people call it without its name.
_NOUNS = {
    MEDICATION: "medication medications medicine medicines meds tablets tablet pills pill",
    **dict.fromkeys(("allergy", "allergic_to"), "allergy allergies"),
    "intolerance": "intolerance intolerances",
}
_SWITCHED = lazy_compile(
    rf"\b(?:switch|swap|chang|mov)(?:e|es|ed|ped|ing|ping)?(?: me)?(?: over)? (?:on)?to (?P<to>{DRUG})"
    rf"|\bon (?P<on>{DRUG}) instead\b",
    re.IGNORECASE,
)
_OF_AUTHOR = lazy_compile(r"\b(?:i|i'm|i've|me|my)\b", re.IGNORECASE)
_OF_IT = lazy_compile(r"\b(?:it|that|this|them|those)\b", re.IGNORECASE)
_ENDING = lazy_compile(
    r"\b(?:stop(?:s|ped|ping)?|quit(?:ting)?|off|no (?:longer|more|need)|(?:not|n't) need|any ?more|any longer"
    r"|(?:not|n't) (?:\w+ )?(?:allergic|intolerant)|finish(?:ed|ing)?|done|end(?:s|ed|ing)?|discontinu\w+"
    r"|withdr[ae]w\w*|cancel\w*|gone|(?:goes|go|went|going) away|disappear\w*|out ?gr[eo]w\w*"
    r"|(?:grew|grown|grow) out|negative|cleared|after all|never (?:had|was|been|said|allergic|needed)"
    r"|(?:was|were) never|wean\w*|taper\w*|paus(?:e|ed|ing)"
    r"|swap\w*|switch\w*|replac\w+|instead of|g[ai]ve(?:n)? up|giving up|without|drop(?:ped|ping)?|ditch\w*|cured"
    r"|safe(?:ly)?|allowed|(?:fine|ok|okay) with|tolerat\w+|by mistake|wrong|misdiagnos\w+|(?:is|are|'s|was) over"
    r"|haven't|hasn't|(?:eat|have|drink|take)\b[^,;]{0,40} again)\b",
    re.IGNORECASE,
)
