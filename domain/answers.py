"""Whether a text has an answer of the kind that a question asks for: a time, a number, a place or a person.

By rules, which know English. A text that has none of that kind may still lead to it.
"""

import re
from collections.abc import Callable

from mnemolog.domain.asked import AnswerKind
from mnemolog.domain.extraction.times import COUNT, DAY, MONTH, SEASON
from mnemolog.domain.extraction.vocabulary import ONE_OF, PETS, SOME_OF
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import TITLE

_TIME = (
    rf"{MONTH}|{DAY}s?|\d{{1,2}}(?:st|nd|rd|th)|\d{{4}}-\d\d(?:-\d\d)?|(?:19|20)\d\d|yesterday|today|tomorrow|tonight|ago"
    rf"|(?:last|this|next) (?:weekend|week|month|year|term|{DAY}|{MONTH}|{SEASON})|{SEASON}|weekends?|noon|midnight"
    r"|\d{1,2}(?:[:.]\d\d)? ?[ap]\.?m"
)
_NUMBER = (
    r"(?!an? (?!minute|hour|day|night|week|fortnight|month|year|decade|couple|few|quarter|third|dozen|hundred))"
    rf"{COUNT}|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty\w*|half|dozen"
    r"|hundred|thousand|free|once|twice"
)
_TELLS = {
    AnswerKind.TIME: lazy_compile(rf"\b(?:{_TIME})\b", re.IGNORECASE),
    AnswerKind.NUMBER: lazy_compile(rf"\d|\b(?:{_NUMBER})\b", re.IGNORECASE),
}
_SORTS_OF_PLACE = (
    "home house flat apartment room kitchen garage garden shed attic loft cellar drawer cupboard shelf box"
    " desk bag street road avenue lane square beach park forest lake river sea coast island hill school"
    " college university uni hospital clinic library office church hall centre center gym pool pub cafe bar"
    " restaurant shop store market mall town city village country abroad station airport hotel museum theatre"
    " theater studio club court field farm"
)
_PLACE = lazy_compile(
    rf"\b(?i:in|at|on|to|from|near|by|outside|above|behind|over|around|through|via)"
    rf" (?:(?:the|my|our|his|her|their|an?|this|that) )?(?:[\w-]+ ){{0,2}}?"
    rf"(?P<place>(?!(?i:{DAY}s?|{MONTH}|Dr|Mr|Mrs|I)\b)[A-Z][\w'-]*|(?:{'|'.join(_SORTS_OF_PLACE.split())})s?\b)"
)
_NO_PERSON = (
    rf"(?i:{DAY}s?|{MONTH}|Christmas|Easter|New|English|Polish|French|German|Spanish|Welsh|Irish|I|I'\w+|A|The)\b"
)
_PERSON = lazy_compile(
    rf"(?<=[\w,;:)] )(?<!\b[Ii]n )(?<!\b[Aa]t )(?!{_NO_PERSON})(?:{TITLE}\.? )?[A-Z][\w'-]+|\b{TITLE}\.? [A-Z]"
    rf"|(?:^|[.!?] )(?!{_NO_PERSON})[A-Z][\w-]+(?='s\b|,| (?:is|was|has|had|and|will|said|came|did)\b)"
)
_RELATIVE = lazy_compile(
    rf"\b(?:{ONE_OF}|{SOME_OF}|famil(?:y|ies)|budd(?:y|ies)|mates?|pals?|kids?|child(?:ren)?|parents?|coach|teachers?"
    r"|team(?:mates?)?|people|guys?|girls?|boys?|lad|bloke|woman|women|man|men|lady|residents?|nobody|no one|someone"
    r"|somebody|everyone|everybody|myself|ourselves)s?\b",
    re.IGNORECASE,
)
# Who writes no capitals names places and people in small letters.
_SMALL_PLACE = lazy_compile(r"\b(?:in|at|near|to|from) (?P<place>[\w'-]+)")
_SMALL_PERSON = lazy_compile(r"\b(?:called|named|my|with|from|dr|mr|mrs|miss|shes|hes|is)\b")


def tells(kind: AnswerKind, text: str) -> bool:
    """Whether a text has a time or a number.

    >>> tells(AnswerKind.TIME, "moved to the 21st"), tells(AnswerKind.NUMBER, "moved to the flat")
    (True, False)
    """
    return _TELLS[kind].search(text) is not None


def tells_place(text: str, question: str = "") -> bool:
    """Whether a text tells a place that the question does not name.

    >>> tells_place("Rent on the shop", "Where is my shop?"), tells_place("A shop on Corve Street", "Where is my shop?")
    (False, True)
    """
    form, known = _SMALL_PLACE if text == text.lower() else _PLACE, question.lower()
    return any(found["place"].lower() not in known for found in form.finditer(text))


def tells_person(text: str, question: str = "") -> bool:
    """Whether a text speaks of somebody of whom the question does not.

    >>> tells_person("New boiler's in, at last", "Who came?"), tells_person("Plumber is Barry Todd", "Who came?")
    (False, True)
    """
    known = question.lower()
    if any(found[0].lower() not in known for found in _RELATIVE.finditer(text)):
        return True
    if text == text.lower():
        return _SMALL_PERSON.search(text) is not None
    return any(found[0].lower().strip(" .!?") not in known for found in _PERSON.finditer(text))


def tells_name(text: str, question: str) -> bool:
    """Whether a text tells what something is called of which a question asks that.

    >>> tells_name("I keep a boat, the Morag", "What's my boat called?")
    True
    """
    about = [found for found in re.findall(r"[a-z]{3,}", question.lower()) if found not in _OF_NAMES]
    if text == text.lower():
        return any(one.rstrip("s") in text for one in about)
    named = rf"\b(?i:{'|'.join(re.escape(one.rstrip('s')) for one in about)})s?"
    return bool(about) and re.search(named + _NAMED, text) is not None


def asked_who(question: str) -> str | None:
    """Whose name it is if a question asks who that is.

    >>> asked_who("Who is Ms. Lorraine?"), asked_who("Who is my boss?")
    ('Ms. Lorraine', None)
    """
    found = _WHO_IS.fullmatch(question)
    return found["name"] if found else None


def introduces(name: str, text: str) -> bool:
    """Whether a text says who somebody is: beside the name, or in the sentence before it, which then stands alone.

    >>> introduces("Eva", "My brother's wife Eva came"), introduces("Eva", "Eva came")
    (True, False)
    >>> introduces("Eva", "I met somebody. Her name is Eva")
    True
    """
    plain, title = re.escape(name), r"(?:'s name)?,?(?: is| was)?(?: called| named)?"
    is_one = rf"{plain}(?:,| is|'s|,? who(?:'s| is)) (?:my|our|his|her|their|the|an?|\w+'s)(?: \w+)? {_TIES}"
    forms = (
        rf"{_TIES}{title} {plain}\b",
        rf"{is_one}\b",
        rf"{_TIES}\b[^.!?]*[.!?] {plain}[.!?]",
        rf"(?:his|her|their) name(?:'s| is) {plain}\b",
    )
    return re.search(rf"\b(?:{'|'.join(forms)})", text, re.IGNORECASE) is not None


_WHO_IS = lazy_compile(rf"\W*[Ww]ho(?:'s| is| was) (?P<name>(?:{TITLE}\.? )?[A-Z][\w'-]*(?: [A-Z][\w'-]*)*)\W*")
_TIES = rf"(?:{ONE_OF}|{SOME_OF}|{PETS}|mama|auntie|ex|mate|buddy|neighbou?rs?|teacher|coach|lawyer|trainer)"
_OF_NAME_WORDS = "what called name named the our his her their mine does did was were are and who has have"
_OF_NAMES = frozenset(_OF_NAME_WORDS.split())
# After what it is called: "twins, Ania and Filip", "a shop, it's called The Purl Diver".
_NAMED = (
    r"\b(?:,? (?:(?:is|are|was|the|a|an|my|it's|she's|he's|which|that|and) )*[A-Z]"
    r"|[^.!?]{0,60}?\b(?:called|named|name(?:'s| is|d)?)\b)"
)


def tells_age(text: str, question: str = "") -> bool:
    """Whether a text tells how old somebody is or when they were born.

    >>> tells_age("Jack turned one yesterday!"), tells_age("Jack was a lobster"), tells_age("We have two cats")
    (True, False, False)
    """
    return _AGE.search(text) is not None


def told_by(question: str) -> Callable[[str, str], bool] | None:
    """What tells whether a text may answer, if the question is where something is, who somebody is or for a name."""
    return next((tells_it for pattern, tells_it in _ASKS if pattern.match(question)), None)


_AGED = rf"(?:{_NUMBER}|\d{{1,3}})"
# "She's 84", "turned one yesterday", "a fisherman, 61", "12 yr old", "my 21st birthday".
_AGE = lazy_compile(
    r"\b(?:is|are|was|were|be|am|turn(?:s|ed|ing)?|aged?|\w+'?s|'?m|[a-z]+'re)"
    rf"(?: (?:now|just|only|nearly|almost|about|today))* {_AGED}(?=[.,;:!?)\n]|\W*$"
    r"| (?:and|but|now|today|yesterday|tomorrow|on|in|already|next|this|last|years?|months?|weeks?)\b)"
    rf"|(?:^|[.,!?;(] ){_AGED}(?: (?:and|but|now|today)\b|[.,!?)]|$)"
    rf"|\b{_AGED}(?:[- ](?:years?|yrs?|months?|weeks?)(?:[- ]old)?| ?y/?o)\b"
    r"|\d(?:st|nd|rd|th) birthday|\bborn (?:in|on)\b|\bbirthday\b",
    re.IGNORECASE,
)
_ASKS = (
    (lazy_compile(r"\W*how old\b", re.IGNORECASE), tells_age),
    (lazy_compile(r"\W*where(?:'s)?\b", re.IGNORECASE), tells_place),
    (lazy_compile(r"\W*who(?:'s|m)?\b", re.IGNORECASE), tells_person),
    (
        lazy_compile(r"\W*what(?:'s| is| are| was| were)\b.*\b(?:called|named)\W*$", re.IGNORECASE),
        tells_name,
    ),
)
