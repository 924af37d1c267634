"""What a sentence takes for granted of somebody's health, whatever else it says or asks (B13).

"With my peanut allergy I have to be careful" tells of an allergy, "What can I cook for my husband's diabetes?" of
diabetes, and "Can you tell the hotel that I'm coeliac?" of coeliac disease.
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
    found = [] if _UNTRUE.search(sentence) else _told_to_others(sentence)
    if _MAY_BE_OVER.search(sentence):
        return found
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


def _told_to_others(sentence: str) -> list[str]:
    """What others are told, remember or forget of what somebody must not have.

    >>> _told_to_others("Can you tell the caterer that I'm coeliac and my son Leo can't have nuts, please?")
    ["I'm coeliac", "my son Leo can't have nuts"]
    """
    told = _TELLS.search(sentence)
    if told is None or _IF.search(sentence[: told.start()]):
        return []
    facts = [one for one in _APART.split(sentence[told.start("fact") :]) if _FACT.match(one)]
    heard = _HEARD.search(sentence[: told.start("fact")]) is not None
    return [one for one in facts if not (heard and re.match(r"i\b", one, re.IGNORECASE))]


_MUST_NOT = (
    rf"(?:(?:i(?:'m| am)|(?:(?:my|our){{SORT}} (?:{ONE_OF}|{SOME_OF})(?: {PERSON_NAME})?|{PERSON_NAME})(?:'s| is)) (?:\w+ly )?"
    r"(?:allergic to|[a-z]+[- ]intolerant|coeliac|celiac|(?:type [12] )?diabetic|epileptic|asthmatic|vegan|vegetarian)"
    rf"|(?:i|(?:my|our){{SORT}} (?:{ONE_OF}|{SOME_OF})(?: {PERSON_NAME})?|{PERSON_NAME}) (?:(?:can't|cannot|mustn't) (?:eat|have|drink)|(?:have|has) an? (?:[a-z]+ )?allergy))\b"
)
_FACT = form(_MUST_NOT)
_TELLS = form(
    r"\b(?:tell(?:s|ing)?|told|know|knows|knew|forgets?|forgot(?:ten)?|remind(?:s|ed|ing)?|remembers?|remembered|warn(?:s|ed|ing)?"
    r"|mention(?:ed|ing)?|explain(?:ed|ing)?|say|saying|add|adding|aware|note|noting|emphasi[sz]e|stress)\b"
    rf"(?:(?! (?:if|whether|what|how|when|why)\b) [\w'-]+){{0,6}}?(?: that)? (?P<fact>{_MUST_NOT})"
)
_APART = form(
    rf"[,;.?!]+ ?|(?:,)? (?:and|but|so|because|tho|though) (?={_MUST_NOT}|(?:I|he|she|they|we|gave|there|it)\b)"
)
# What others say of the author may not be so.
_HEARD = lazy_compile(
    r"\b(?:she|he|they|you|who) (?:says?|said|thinks?|claims?)\b|\b(?:told|tells?|telling) (?:me|us)\b", re.IGNORECASE
)
_UNTRUE = lazy_compile(
    r"\b(?:wish\w*|imagin\w*|pretend\w*|story|novel|book|film|movie|show|characters?|jok\w+|lie[ds]?|lying|excuse|suppos\w*"
    r"|isn't|aren't|not|thought|used to|misdiagnos\w*)\b",
    re.IGNORECASE,
)
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
