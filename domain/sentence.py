"""A fact as a plain English sentence: `Ana lives in Leipzig`, `Ana's manager is Marta`."""

import json
import re
from datetime import datetime, timedelta
from functools import lru_cache

from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.precision import Precision, shown

_KNOWN = {
    "age": "is aged",
    "allergy": "is allergic to",
    "based_in": "is based in",
    "born_in": "was born in",
    "born_on": "was born on",
    "engaged_to": "is engaged to",
    "friend_of": "is a friend of",
    "intolerance": "is intolerant of",
    "knows": "knows",
    "located_in": "is located in",
    "married_to": "is married to",
    "medication": "takes",
    "named": "is named",
    "parent_of": "is a parent of",
    "partner_of": "is the partner of",
    "trip_to": "plans a trip to",
}
# Third person singular; any other word that stands first is taken for a noun.
_VERBS_WORDS = (
    "attends avoids belongs bought breeds builds buys calls came can carries collects considers cooks cycles"
    " dates did died dislikes does drinks drives earns eats employs enjoys enrolled expects favours favors fears feels"
    " follows goes got graduated had has hates helps hosts is joined keeps knows lacks learns leads leaves left"
    " lent likes lived lives loves made maintains makes manages married may meets mentors met misses moved must"
    " needs opposes orders organises organizes owes owned owns paid pays plans plays practises practices prefers"
    " reads rejects rents reports requires runs said saw says sells shares should sings sits sleeps smokes sold"
    " speaks spends started starts stays stopped stops studied studies supports takes talks teaches thinks took"
    " trains travels treats trusts used uses visited visits volunteers walks wants was watches wears went will"
    " wishes works worked writes wrote"
)
_VERBS = frozenset(_VERBS_WORDS.split())
# Of these verbs, the past of those that do not end in -ed.
_PAST_WORDS = (
    "is:was has:had does:did goes:went buys:bought breeds:bred builds:built drinks:drank drives:drove eats:ate"
    " feels:felt gets:got keeps:kept knows:knew leads:led leaves:left makes:made meets:met pays:paid reads:read"
    " runs:ran says:said sees:saw sells:sold sings:sang sits:sat sleeps:slept speaks:spoke spends:spent takes:took"
    " teaches:taught thinks:thought wears:wore writes:wrote plans:planned travels:travelled can:could must:had_to"
    " will:would prefers:preferred stops:stopped include:included"
)
_PAST = {now: was.replace("_", " ") for now, was in (pair.split(":") for pair in _PAST_WORDS.split())}
_PRESENT = frozenset(one for one in _VERBS if one.endswith("s") and one not in {"was", *_PAST})
_PREPOSITIONS_WORDS = "about as at by for from in into near of on over to under until with"
_PREPOSITIONS = frozenset(_PREPOSITIONS_WORDS.split())
_SINGULAR = ("ss", "us", "is", "news", "headquarters", "series")
# Before `in`, `at` and the like: what somebody or something has there.
_PLACES_WORDS = (
    "apartment base branch desk factory farm flat garden headquarters home hometown house office room school shop site"
    " store studio warehouse workplace workshop"
)
_PLACES = frozenset(_PLACES_WORDS.split())
_VERB_OF_NOUN = lazy_compile(rf"\b(?:is|include)(?=(?: (?:{'|'.join(sorted(_PREPOSITIONS))}))?$)")


def sentence(subject: str, predicate: str, thing: str, *, over: bool = False) -> str:
    """The fact with the names of its ends, or its value; in the past if it is over.

    >>> sentence("Ana", "lives_in", "Leipzig", over=True), sentence("Ana", "manager", "Marta", over=True)
    ('Ana lived in Leipzig', "Ana's manager was Marta")
    >>> sentence("Ana's twins", "allergy", "milk"), sentence("Ana's twins", "medication", "insulin")
    ("Ana's twins are allergic to milk", "Ana's twins take insulin")
    >>> sentence("Ana", "friend_of", "friend Tom"), sentence("friend Tom", "works_at", "Acme")
    ('Ana is a friend of Tom', 'friend Tom works at Acme')
    >>> sentence("Ana", "lives_in", "US")
    'Ana lives in the US'
    """
    role = predicate.removesuffix("_of").replace("_", " ") + " "
    if thing.startswith(role) and thing[len(role) : len(role) + 1].isupper():
        thing = thing.removeprefix(role)  # By which somebody is told from another with the name.
    thing = f"the {thing}" if _NAMED_WITH_THE.fullmatch(thing) else thing
    words = past(verb_phrase(predicate)) if over else verb_phrase(predicate)
    if predicate == "died" and thing[:1].isdigit():
        words = "died on" if len(thing) == len("2026-05-13") else "died in"
    if _TOGETHER.search(subject):
        words = _OF_SEVERAL.sub(lambda verb: _PLURAL[verb[0]], words)
    return f"{subject}{words} {thing}" if words.startswith("'") else f"{subject} {words} {thing}"


_NAMED_WITH_THE = lazy_compile(
    r"USA?|UK|UAE|EU|UN|United (?:States|Kingdom|Arab Emirates)|States|Netherlands|Philippines|Maldives|Bahamas|Gambia"
    r"|Bronx|Hague|Bay Area|Midlands|Highlands"
)
_TOGETHER = lazy_compile(r"'s (?:[a-z]+(?<!s)(?<!u)(?<!i)s|(?:grand)?children)$")
_PLURAL = {"is": "are", "was": "were", "takes": "take", "'s": "'"}
_OF_SEVERAL = lazy_compile(rf"^(?:{'|'.join(_PLURAL)})\b")
UNDATED = timedelta(minutes=1)
"""A fact that is told without a date holds from when it was told: at most so long before it is recorded."""


def since_when(since: datetime, known_from: datetime | None, precision: Precision | None = None) -> str:
    """The day since which a fact holds, or as of which, if nobody said since when: "I'm allergic to nuts".

    >>> since_when(datetime(2019, 1, 1), datetime(2026, 5, 13, 9)), since_when(*2 * [datetime(2026, 5, 13, 9)])
    ('since 2019-01-01', 'as of 2026-05-13')
    >>> since_when(datetime(2019, 1, 1), datetime(2026, 5, 13, 9), Precision.YEAR)
    'since 2019'
    """
    undated = known_from is not None and abs(known_from - since) < UNDATED
    return f"{'as of' if undated else 'since'} {shown(since, precision)}"


@lru_cache(maxsize=4096)
def verb_phrase(predicate: str) -> str:
    """What stands between the subject and the object; it begins with `'s` if the predicate is a noun."""
    if known := _KNOWN.get(predicate):
        return known
    words = predicate.split("_")
    said = " ".join(words)
    if words[0] in _VERBS:
        return said
    if len(words) > 1 and words[-1] in _PREPOSITIONS and words[-2] in _PLACES:
        return f"'s {' '.join(words[:-1])} is {words[-1]}"
    if words[-1] in _PREPOSITIONS and len(words) > 1:
        # `reports_to` and `comes_from` are verbs, `sister_of` and `interested_in` are not.
        return said if words[0].endswith("s") and not words[0].endswith(_SINGULAR) else f"is {said}"
    plural = words[-1].endswith("s") and not words[-1].endswith(_SINGULAR)
    return f"'s {said} {'include' if plural else 'is'}"


def past(phrase: str) -> str:
    """A verb phrase in the past; one that is in the past, or that is not a verb, stays.

    >>> past("takes"), past("carries"), past("'s dose is"), past("was born in")
    ('took', 'carried', "'s dose was", 'was born in')
    """
    if phrase.startswith("'s "):
        return _VERB_OF_NOUN.sub(lambda verb: _PAST[verb[0]], phrase)
    verb, *rest = phrase.split(" ")
    return " ".join([_past_of(verb), *rest])


def _past_of(verb: str) -> str:
    if verb in _PAST:
        return _PAST[verb]
    if verb not in _PRESENT:
        return verb
    base = re.sub(r"ies$", "i", re.sub(r"(?<=ch|sh|ss|zz)es$|(?<=x)es$|(?<!ie)s$", "", verb))
    return f"{base}d" if base.endswith("e") else f"{base}ed"


def value_text(value: object) -> str:
    """A literal value as people write it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
