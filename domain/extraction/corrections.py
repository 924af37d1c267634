"""What a sentence says instead of what was said before: "Porto, not Faro", "when I said Linz, I meant Graz"."""

import re
from dataclasses import dataclass

from mnemolog.domain.extraction.times import DAY, MONTH
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import name_key

_A_NAME = (
    rf"(?-i:(?!(?:I|I'm|I've|It|The|My|He|She|We|They|You|{DAY.title()}s?|{MONTH.title()})(?![\w'-]))"
    r"[A-Z][\w'&.-]*[\w'](?: (?:(?:of|de|da|do|del|la|le|the|and|&|van|von|der|y) )?(?!I\b)[A-Z0-9][\w'&-]*){0,4})"
)
_AT = r"(?:(?:in|at|to|for|with|into) )?(?:the |an? )?"
_A_WORD = (
    r"(?!(?:im|ive|its|thats|i|it|that|this|he|she|they|we|you|there|what|who|is|are|was|were|am|do|dont|does|did|has"
    r"|have|had|can|will|would|should|could|if|so|still|just|really|yet|surely|probably|certainly)\b)[a-z][a-z-]*\b(?!')"
)
_A_THING = rf"(?:an? |the )?(?P<{{}}>(?-i:{_A_WORD}(?: {_A_WORD}){{{{0,2}}}}?))"
_RIGHT, _WRONG = rf"{_AT}(?P<right>{_A_NAME})", rf"{_AT}(?P<wrong>{_A_NAME})"
_AS_SAID = (
    r"(?:,? (?:sorry|as i (?:said|wrote|told you|mentioned)|like i (?:said|wrote|told you)|i mean|my mistake|my bad)"
    r"(?: (?:before|earlier|yesterday|above|last time))?|,? (?:for the (?:last|hundredth|umpteenth|second|third) time|by the way|btw"
    r"|just so you know|okay|ok|thanks|please|remember|actually))?"
)
_LED = r"(?:(?:sorry|oops|no|wait|actually|typo|correction|my mistake|my bad|wrong \w+|scratch that)[\s,:;.!-]+)*"
_IT_IS = r"(?:(?:it|that|this)(?:'s| is| was| should (?:be|have been|read|say)| has to be)|should (?:be|have been)|make (?:it|that)|(?:i )?meant(?: to (?:say|write|put))?|i mean(?: to (?:say|write|put))?)[,:]? "
_SAID = r"(?:said|say|wrote|put|typed|told you|mentioned)"
_MEANT = r"(?:i (?:really |actually |of course )?(?:meant(?: to (?:say|write))?|mean)|meant(?: to (?:say|write))?|(?:it|that)(?:'s| is| was| should (?:be|have been))|should (?:be|have (?:been|said|written)))"
_END = r"[\s.!)]*$"
_MORE = r"[,;] (?!(?:is|was|are|were|has|had|will|would|can|could)\b)[^?]{1,60}$"
_END_OR_MORE = r"(?:[\s.!)]*$|[,;] [^?]*$)"
# The whole sentence: what is right, and what was wrong if that is said.
_WHOLE = tuple(
    lazy_compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^{_LED}(?:{_IT_IS})?{_RIGHT}(?:,| -|\.)? (?:and )?\(?(?:not|instead of|rather than) {_WRONG}\)?{_AS_SAID}{_END}",
        rf"^(?=(?:sorry|oops|no|wait|correction|typo|(?:i )?meant)\b){_LED}(?:{_IT_IS})?{_RIGHT}(?:,| -)? (?:and )?not {_WRONG}{_MORE}",
        rf"^{_LED}(?:it's |that's |it is )?not {_WRONG}(?:[,;:]| -)? (?:but |it's |it is |that's |i meant )*{_RIGHT}{_AS_SAID}{_END}",
        rf"^{_LED}(?:when )?i {_SAID} {_WRONG},? (?:(?:and|but|when|then) )?{_MEANT} {_RIGHT}{_END_OR_MORE}",
        rf"^{_LED}{_WRONG} (?:was|is) (?:wrong|a typo|a mistake|not right|incorrect)[,;:]? (?:and |but )?{_MEANT} {_RIGHT}{_END_OR_MORE}",
        rf"^(?:\*{_RIGHT}\*?|{_RIGHT.replace('?P<right>', '?P<after>')}\*)[\s.!]*$",
        rf"^{_RIGHT}, i mean(?:t)?{_END}",
        rf"^(?:(?:no|sorry|oops|wait)[\s,:;.!-]+)*(?:make that|scratch that[,:;.-]|typo[,:;.-]|i meant(?: to (?:say|write))?:?|correction[,:;.-]) {_RIGHT}{_END}",
        rf"^(?=(?:sorry|oops|no|wait|correction|typo|scratch that|make that|my mistake|(?:i )?mean(?:t)?)\b){_LED}(?:{_IT_IS})?"
        rf"{_A_THING.format('right')}(?:,| -)? (?:and )?(?:not|instead of|rather than) {_A_THING.format('wrong')}{_AS_SAID}{_END}",
    )
)
_HINTS = (
    "not ",
    "i said",
    "i wrote",
    "instead of ",
    "rather than ",
    "meant",
    "i mean",
    "*",
    "scratch that",
    "make that",
    "typo",
    "correction",
    "should",
)
# Behind a sentence that states what is right, or before it.
_BEHIND = lazy_compile(
    rf"(?:(?:,|,? and| -| \(|\() ?(?:not|rather than)| rather than|(?<=[\w'-]) not) {_WRONG}\)?{_AS_SAID}(?:{_END}|(?={_MORE}))",
    re.IGNORECASE,
)
_BEFORE = lazy_compile(rf"^(?:no[,.]? )?not {_WRONG}(?:[,;:]| -) (?=(?:i|we|my|our|it)\b)", re.IGNORECASE)
# "I don't live in Linz, I live in Graz": of what is not so any more, nothing is wrong.
_DENIED = lazy_compile(
    rf"^(?:no[,.]? )?(?P<who>i|we)(?: don't| do not|'m not| am not|'re not| are not) (?:live|work|living|working|based|moving|going|flying|travelling) {_WRONG}"
    r"[,;:]? (?:but )?(?=(?:i|we)(?:'m|'re| am| are)? (?:live|work|living|working|based|mov|go|going|fly|travel))",
    re.IGNORECASE,
)
_NAMED = lazy_compile(rf"\b{_A_NAME}", re.IGNORECASE)
_NAME_LAST = lazy_compile(r"\b(?!I\b)[A-Z][\w'&-]*$")
# Within a sentence what has a capital is a name; at its beginning, what does something is.
_OTHER_NAMED = lazy_compile(
    rf"(?<![.!?\n] )(?<![.!?\n])\b{_A_NAME}"
    rf"|\b(?!(?:It|That|There|This|What|He|She|We|They|You|Who|Here|Let)'){_A_NAME}"
    r"(?:'s\b| and\b| (?:is|was|has|had|will|can) | (?!as\b|yes\b|always\b)[a-z]+(?<!i)(?<!s)s\b| [a-z]{2,}ed\b)"
)
_CHANGED = lazy_compile(
    r"\b(?:now|nowadays|these days|any ?more|any longer|since|from now on|today|again)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Correction:
    """What is right, and what was wrong; "" if the sentence does not say it."""

    right: str
    wrong: str = ""


def correction(sentence: str) -> Correction | None:
    """What a sentence that only corrects a name, or a thing that it contrasts with another, says.

    >>> correction("Sorry, it's Porto, not Faro."), correction("When I said Linz I meant Graz")
    (Correction(right='Porto', wrong='Faro'), Correction(right='Graz', wrong='Linz'))
    >>> correction("I meant Graz"), correction("I meant Tuesday"), correction("No, Graz")
    (Correction(right='Graz', wrong=''), None, None)
    >>> correction("Sorry, I meant pine nuts, not peanuts")
    Correction(right='pine nuts', wrong='peanuts')
    """
    lower = sentence.lower()
    if len(sentence) > _BRIEF or not any(map(lower.__contains__, _HINTS)):
        return None
    found = next(filter(None, (one.match(sentence) for one in _WHOLE)), None)
    if found is None:
        return None
    groups = found.groupdict()
    right, wrong = groups.get("right") or groups.get("after") or "", groups.get("wrong") or ""
    return Correction(right, wrong) if name_key(right) != name_key(wrong) else None


def is_last_named(name: str, said: str) -> bool:
    """Whether a name was said, and no other behind it, so that "I meant Graz" can be about it.

    >>> is_last_named("Linz", "I live in Linz. So happy!"), is_last_named("Linz", "I live in Linz. Tom plays the viola.")
    (True, False)
    """
    place = said.lower().rfind(name.lower()) if name else -1
    return place >= 0 and _OTHER_NAMED.search(said[place + len(name) :]) is None


def contrasted(sentence: str) -> tuple[str, str]:
    """A sentence without the name that it says was wrong, and that name: "I live in Graz, not Linz".

    >>> contrasted("I live in Graz, not in Linz.")
    ('I live in Graz', 'Linz')
    >>> contrasted("I live in Graz now, not Linz."), contrasted("I live in Graz, not alone.")
    (('I live in Graz now, not Linz.', ''), ('I live in Graz, not alone.', ''))
    """
    if not any(map(sentence.lower().__contains__, ("not ", "n't ", "rather than "))):
        return sentence, ""
    for one in (_BEHIND, _BEFORE, _DENIED):
        if (found := one.search(sentence)) and _is_contrast(sentence, found):
            rest = f"{sentence[: found.start()]}{sentence[found.end() :]}"
            return (sentence, "") if _CHANGED.search(rest) else (rest.strip(" ,;"), found["wrong"])
    return sentence, ""


def _is_contrast(sentence: str, found: re.Match[str]) -> bool:
    """Whether "not Linz" is said of another name, and does not deny: "I am not Anna"."""
    before = sentence[: found.start()]
    return not before or (_NAMED.search(before) if found[0][0] == "," else _NAME_LAST.search(before)) is not None


_BRIEF = 120
"""The characters of a sentence that only corrects a name."""
