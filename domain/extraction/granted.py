"""What a sentence takes for granted of somebody's health, whatever else it says or asks (B13).

"With my peanut allergy I have to be careful" tells of an allergy, and "What can I cook for my husband's diabetes?" of
diabetes.
"""

import re
from collections.abc import Sequence

from mnemolog.domain.extraction.rule import PERSON_NAME, form
from mnemolog.domain.extraction.vocabulary import ONE_OF, PETS, SOME_OF
from mnemolog.domain.lazy_regex import lazy_compile


def granted(sentence: str) -> Sequence[str]:
    """What it takes for granted, as somebody would state it.

    >>> granted("What can I bake with my son's egg allergy?"), granted("my asthma is worse")
    (['my son has an egg allergy'], ['I have asthma'])
    >>> granted("my asthma is gone"), granted("I read your book on my asthma course")
    ([], [])
    """
    if _MAY_BE_OVER.search(sentence):
        return []
    found = []
    for one in _HELD.finditer(sentence):
        if _IF.search(sentence[: one.start()]):
            continue
        who = " ".join(filter(None, ("my", one["kin"], one["person"]))) if one["kin"] else "I"
        has, takes = ("have", "take") if who == "I" else ("has", "takes")
        if one["allergen"]:
            found.append(f"{who} {has} an {one['allergen']} {one['sort']}")
        else:
            found.append(f"{who} {takes} {one['drug']}" if one["drug"] else f"{who} {has} {one['value']}")
    return found


_EVERYDAY = r"aspirin|paracetamol|acetaminophen|ibuprofen|naproxen|melatonin|vitamin|birth|morphine|fentanyl"
_HELD = form(
    rf"\b(?:my|our){{SORT}}(?: (?P<kin>{ONE_OF}|{SOME_OF}|{PETS})(?: (?P<person>{PERSON_NAME}))?'s)?"
    r"(?: (?:very|really|severe|serious|bad|mild|strong|life-threatening|chronic|awful|stupid|bloody|damn))*"
    r" (?:(?P<allergen>(?!(?:food|drug|skin|pet|seasonal|new|old|only|main|other|own|little|biggest|worst|known|possible|suspected)\b)[a-z]+(?: [a-z]+)?) (?P<sort>allergy)"
    rf"|{{CONDITION}}|(?!(?:{_EVERYDAY})\b)(?P<drug>{{A_DRUG}}))"
    r"(?![\w-])(?! (?:class|course|group|charity|study|studies|research|paper|essay|article|book|talk|blog|project|presentation|homework"
    r"|clients?|patients?|tests?|screening|scare|check-?up|glass|risk|diagnosis|fundraiser|walk|run)\b)"
)
_IF = lazy_compile(r"\b(?:if|unless|whether)\b[^,]*$", re.IGNORECASE)
# Or it is of another time, is only feared, or the rules read what becomes of it.
_MAY_BE_OVER = lazy_compile(
    r"\b(?:(?:was|were)(?! (?:wondering|hoping|looking|just)\b)|had|used to|no (?:longer|more)|gone|went|going away|over|past|former|old|childhood|as a (?:child|kid|teen\w*)"
    r"|stop\w*|quit\w*|(?:came|come|coming|been|went|go|going|took|taken|wean\w*) (?:me |him |her )?off|rais\w+|lower\w+|upped|doubl\w+|halv\w+|increas\w+|reduc\w+|ran out|finish\w*|instead|replac\w*|swap\w*|switch\w*"
    r"|chang\w*|cur(?:e[ds]?|ing)|remission|outgr\w+|gr[eo]wn? out|los[et]|not|never|without|ended|disappear\w*|turn(?:ed|s) out|thought"
    r"|until|misdiagnos\w*|rul(?:e|ed|ing) out|test(?:ed|ing|s)?|diagnos\w*|imagin\w*|pretend\w*|story|novel|character|suppos\w*|worr\w*)\b|n't\b",
    re.IGNORECASE,
)
