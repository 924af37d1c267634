"""Who is in focus: the person whom `she` or `he` means, and the role that was named last."""

import re
from collections.abc import Iterator, Sequence

from mnemolog.domain.extraction.rule import PERSON_NAME, form
from mnemolog.domain.extraction.vocabulary import ONE_OF, PARENTS, SOME_OF, VERBS
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import TITLE

PRONOUN = lazy_compile(r"(?P<who>(?P<she>she)|he)(?='s\b| )", re.IGNORECASE)
_OF_SAME = lazy_compile(r"(?P<who>she|he)(?='s\b| )(?!(?:'s| is) (?:called|named)\b)", re.IGNORECASE)
_OF_THEIRS = form(r"{CARERS} (?:stopped|discontinued|cancelled) (?P<who>(?P<she>her)|his)(?= {A_DRUG})")
_OWNER = form(rf"(?P<who>(?P<she>her)|his)(?={{SORT}} (?:{ONE_OF}|{SOME_OF})\b)")
_OBJECT = form(
    r"{CARERS} (?:put|started|took|taken|switched|moved|changed|swapped) (?P<who>(?P<she>her)|him)(?= (?:back )?(?:on|onto|off|to|from)\b)"
)
_ROLE = lazy_compile(rf"\b({ONE_OF})s?\b", re.IGNORECASE)
# Somebody, or a place or an employer, which nobody calls `she`.
_MENTION = form(
    rf"\b(?:(?:in|at|from|near|for|(?<!spoke )(?<!talked )(?<!married )(?<!engaged )(?<!wrote )to) (?:the )?(?!(?:{PARENTS})\b)(?-i:[A-Z])[\w-]+(?: (?-i:[A-Z])[\w-]+)*"
    rf"|{{OTHER}}(?:, (?P<tie>(?:my|our){{SORT}} (?:{ONE_OF}|{SOME_OF})\b))?|(?<!not ){{ROLE}}\b(?:(?:,|'s name(?: is|'s)|(?:'s| is) (?:called|named))? {{ALONE}})?|(?P<parent>{PARENTS})\b(?!-)|(?:his|her){{SORT}} (?P<theirs>{ONE_OF}|{SOME_OF}) (?P<relative>{PERSON_NAME}))"
)
# What follows a word that begins a sentence and is a name.
_OF_NAME = lazy_compile(rf"'s\b|,| (?:and|&|is|was|has|had|just|now|still|also|{VERBS})\b")
_ILLNESS = form("{CONDITION}")
_PARENTS = frozenset(PARENTS.split("|"))
_TITLED = lazy_compile(rf"{TITLE}\b")
_SIR, _MADAM = lazy_compile(r"Mr\b"), lazy_compile(r"(?:Mrs|Ms|Miss)\b")
_WOMAN = lazy_compile(r"mother|mum|mom|mam|sister|wife|daughter|aunt|niece|girl|gran|nan|fiancee|landlady")
_MAN = lazy_compile(r"father|dad|brother|husband|son\b|uncle|nephew|boy|grandpa|fiance\b|landlord")

# Who has no name may be the one: "I met a guy at work. He's a paramedic", but not "a friend called Al".
_SOMEBODY = form(
    rf"(?<!is )(?<!'s )(?<!was )(?<!as )(?<!be )\b(?:someone|somebody|(?:an?|another) (?:(?-i:[a-z])[\w-]+ ){{0,2}}?(?:guy|girl|man|woman|lady|lad|bloke|chap|{ONE_OF}|{SOME_OF})"
    r"|(?:this|that|some) (?:guy|girl|man|woman|lady|lad|bloke|chap))\b"
    r"(?!(?: new| lovely|,| named| called| from [\w ]{2,20}|, (?:his|her) name(?: is|'s))* (?-i:(?!I\b)[A-Z]))"
)


def named(clause: str, before: Sequence[str]) -> str:
    """The clause with whom `she` or `he` means, or "they put him on": the only one whom the last sentence with a person names.

    >>> named("she now works at Zalando", ["I met Marta, my cousin, in Bremen.", "It was fun."])
    'my cousin Marta now works at Zalando'
    >>> named("she now works at Zalando", ["I met Marta and Eva."])
    'she now works at Zalando'
    >>> named("she works at Zalando", ["I met Marta.", "She's married to Jan"])
    'Marta works at Zalando'
    """
    owner = _OWNER.match(clause) or _OF_THEIRS.match(clause)
    pronoun = PRONOUN.match(clause) or _OBJECT.match(clause) or owner
    if pronoun is None:
        return clause
    start, end = pronoun.span("who")
    genitive = "'s" if owner else ""
    other = _MAN if pronoun["she"] else _WOMAN
    same = pronoun["who"].lower()
    for sentence in reversed(before):
        if not owner and (told := _OF_SAME.match(sentence)) and told["who"].lower() == same:
            continue  # Whom she is married to is another one.
        if _SOMEBODY.search(sentence):
            return clause
        if persons := set(_persons(sentence, other)):
            return f"{clause[:start]}{persons.pop()}{genitive}{clause[end:]}" if len(persons) == 1 else clause
    return clause


def names_in(sentences: Sequence[str]) -> Iterator[str]:
    """The names of people in sentences."""
    each = ((one, sentence) for sentence in sentences for one in _MENTION.finditer(sentence))
    yield from (one["other"] for one, sentence in each if one["other"] and _is_somebody(one, sentence))


def _persons(sentence: str, other: re.Pattern[str]) -> Iterator[str]:
    """Those whom a sentence names, without the relatives of the other sex."""
    for one in _MENTION.finditer(sentence):
        if one["role"] and not other.search(one["role"].lower()):
            yield " ".join(filter(None, ("my", one["role"], one["alone"])))
        elif one["tie"] and not other.search(one["tie"].lower()):
            yield f"{one['tie']} {one['other']}"
        elif one["theirs"]:
            if not other.search(one["theirs"].lower()):
                yield one["relative"]
        elif parent := (one["parent"] or (one["other"] if (one["other"] or "").lower() in _PARENTS else "")):
            if not other.search(parent.lower()):
                yield f"my {parent.lower()}"
        elif one["other"] and not one["tie"] and _is_somebody(one, sentence) and not _title(other).match(one["other"]):
            yield one["other"]


def _is_somebody(mention: re.Match[str], sentence: str) -> bool:
    """Whether a word in capitals is a name: the first of a sentence may be any other, and COPD is none."""
    if mention["other"].isupper() or _ILLNESS.match(sentence, mention.start()):
        return False
    titled = _TITLED.match(mention["other"]) is not None
    return mention.start() > 0 or titled or _OF_NAME.match(sentence, mention.end()) is not None


def _title(sex: re.Pattern[str]) -> re.Pattern[str]:
    return _SIR if sex is _MAN else _MADAM


def role_of(before: Sequence[str]) -> str:
    """The last role in these sentences that one person has at a time; "" if there is none."""
    return next((found[-1] for one in reversed(before) if (found := _ROLE.findall(one))), "")
