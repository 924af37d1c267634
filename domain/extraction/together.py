"""What is said of the health of several at once, of each: "my daughter and my son are allergic to nuts"."""

import re
from collections.abc import Sequence

from mnemolog.domain.extraction.rule import PERSON_NAME, form
from mnemolog.domain.extraction.vocabulary import AILMENTS, DIETS, KIN_TOGETHER, ONE_OF, SOME_OF
from mnemolog.domain.lazy_regex import lazy_compile


def apart(sentence: str, message: str) -> tuple[str, Sequence[str], str] | None:
    """What comes before such a statement, how it begins of each of them, and the rest of it; None if there is none.

    "The kids" are not the author's if the message speaks of others who may have some. Of "my sister and her son" only
    the sister is known.

    >>> apart("so my son and I are both allergic to nuts", "")
    ('so ', ['my son is', 'I am'], ' allergic to nuts')
    >>> apart("the kids are coeliac", ""), apart("the kids are coeliac", "I teach year 2.")
    (('', ['my kids is'], ' coeliac'), None)
    """
    sentence = _NAMED.sub(_each_named, _APPOSED.sub(r"\1 \2", sentence))
    if (found := _TOGETHER.search(sentence)) is None:
        return None
    rest, like_me = _LIKE_ME.subn("", _PLURAL.sub(r"\1", sentence[found.end() :]))
    own = _OWN.match(found["all"]) is not None
    subjects = _AND.split(found["all"])
    together = [one for one in subjects if _KIN.search(one)]
    if (len(subjects) == 1 and not together and not like_me) or (together and not own and _CARE.search(message)):
        return None
    verb = _OF_ONE.get(found["verb"].lower(), found["verb"])
    mine = [_AS_OWN.sub("my ", one) for one in (*subjects, *["I"] * like_me) if not _OF_SOMEBODY.match(one)]
    each = [f"I {_OF_ME.get(verb, verb)}" if one.lower() in ("me", "i") else f"{one} {verb}" for one in mine]
    return sentence[: found.start()], list(dict.fromkeys(each)), rest


def _each_named(several: re.Match[str]) -> str:
    """As "my sons Tom and Ben" are "my son Tom and my son Ben"."""
    one = _ONE_OF_THEM[several["kin"].lower()]
    return " and ".join(f"my {one} {name}" for name in _AND.split(several["names"]))


_ROLE = rf"(?:{KIN_TOGETHER}|{ONE_OF}|{SOME_OF})\b"
_ALL_OF = r"(?:(?:both|all)(?: of)? )?(?:my|our|the) (?:(?:two|three|four) )?"
_SOMEBODY_S = r"(?:his|her|their|(?-i:[A-Z])[\w-]+'s) "
_ONE = (
    rf"(?:{_ALL_OF}(?:[a-z-]+ )?{_ROLE}(?:,? {PERSON_NAME})?|both (?:{KIN_TOGETHER})\b|(?:me|I)\b"
    rf"|{_SOMEBODY_S}(?:[a-z-]+ )?{_ROLE}|{_ROLE}(?: {PERSON_NAME})?|{PERSON_NAME})"
)
# A verb in the plural, and how it is said of one and of oneself.
_OF_ONE = {"are": "is", "aren't": "isn't", "were": "was", "have": "has", "take": "takes"}
_OF_ME = {"is": "am", "isn't": "am not", "has": "have", "takes": "take"}
_BEING = rf"(?:{DIETS}|{'|'.join(AILMENTS)})"
_HEALTH = (
    rf"(?:(?:allergic to|\w+[- ]intolerant|{_BEING}s?\b(?!-)|diagnosed with"
    r"|(?:on )?{A_DRUG}|allerg(?:y|ies)\b|{CONDITION}))"
)
_TOGETHER = form(
    r"(?:^|(?<=, )|(?<=\bbut )|(?<=\bso )|(?<=\bbecause )|(?<=\bsince )|(?<=\band ))(?:both (?!of\b)(?=[\w ]+ (?:and|&) ))?"
    rf"(?P<all>{_ONE}(?:(?:,|,? (?:and|&)) {_ONE})*)(?: (?:all|both|each)\b)?"
    rf" (?P<verb>(?:are|aren't|were|is|isn't|have|has|take|takes)(?=(?: (?!to\b)[\w']+){{0,4}}? {_HEALTH})"
    r"|(?:can't|cannot)(?=(?: \w+)? (?:eat|have|drink|tolerate) ))(?: (?:all|both|each)\b)*"
)
# "My sons Tom and Ben", with or without commas, and "my son, Tom,".
_ONE_OF_THEM = {
    **dict.fromkeys(("kids", "children", "twins", "triplets", "boys", "girls", "lads"), "child"),
    **{
        f"{one}s": one for one in ("son", "daughter", "sister", "brother", "cousin", "niece", "nephew", "aunt", "uncle")
    },
    **{f"{one}s": one for one in ("friend", "colleague", "coworker", "flatmate", "housemate", "roommate", "neighbour")},
}
_GOES_ON = (
    rf"(?= (?:all|both|each|are|aren't|were|have|take|can't|cannot|(?:and|&) (?:I|me|my|our|{ONE_OF}|{SOME_OF}))\b)"
)
_NAMED = lazy_compile(
    rf"\b(?:(?:both|all)(?: of)? )?(?:my|our) (?:(?:two|three|four) )?(?P<kin>{'|'.join(_ONE_OF_THEM)})(?P<apposed>,)?"
    rf" (?P<names>{PERSON_NAME}(?:, {PERSON_NAME})*,? (?:and|&) {PERSON_NAME})(?(apposed),){_GOES_ON}",
    re.IGNORECASE,
)
_APPOSED = lazy_compile(
    rf"\b((?:my|our) (?:[a-z-]+ )?(?:{ONE_OF}|{SOME_OF})), ({PERSON_NAME}),{_GOES_ON}", re.IGNORECASE
)
_AND = lazy_compile(r",? (?:and|&) |, ", re.IGNORECASE)
_OWN = lazy_compile(r"(?:(?:both|all)(?: of)? )?(?:my|our)\b", re.IGNORECASE)
_KIN = lazy_compile(rf"\b(?:{KIN_TOGETHER})$", re.IGNORECASE)
_AS_OWN = lazy_compile(rf"^(?:{_ALL_OF}|both )?(?={_ROLE})", re.IGNORECASE)
_OF_SOMEBODY = lazy_compile(_SOMEBODY_S, re.IGNORECASE)
_PLURAL = lazy_compile(rf"({_BEING})s(?=$|[,.!;]| )", re.IGNORECASE)
_LIKE_ME = lazy_compile(r",? (?:just |exactly )?(?:like|same as) me\b", re.IGNORECASE)
# In whose care the children of others may be, and whose they may be.
_CARE = lazy_compile(
    r"\b(?:class(?:es|room)?|pupils?|students?|teach\w*|babysit\w*|childmind\w*|nann(?:y|ies)|nanny\w*|au pair|nursery|camp|troop|team|coach\w*|scouts?"
    r"|(?:sister|brother|friend|mate|neighbou?r|cousin|boss|colleague|client|patient)s?(?:'s?)?|her|his|their|whose)\b",
    re.IGNORECASE,
)
