"""The validator of what is to be remembered (B09): third person, no pronouns, one or two sentences, 280 characters."""

import re
from datetime import datetime
from enum import StrEnum

from mnemolog.domain.entity import ME
from mnemolog.domain.extraction.candidate import Candidate
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.sentence import sentence
from mnemolog.domain.text import search_terms

LONGEST = 280
MOST_SENTENCES = 2
SHORTEST = 2
"""The letters and digits that a name or a value has at least, but for the age of a child."""
FIRST_YEAR, YEARS_AHEAD = 1900, 30
# "That" and "this" before another word are not pronouns: "decided that", "this week". Nor are "the US" and "works in IT".
_PRONOUNS = lazy_compile(
    r"\b(?!(?-i:US|IT)\b)(?:i|i'm|i've|i'd|me|my|mine|myself|we|we're|us|our|ours|you|you're|your|yours|he|him|his|himself|she|her|hers"
    r"|herself|it|its|it's|they|them|their|theirs|(?:this|that|these|those)(?=\s*(?:[.,;:!?]|$|(?:is|was|are|were)\b)))\b",
    re.IGNORECASE,
)
_END = lazy_compile(r"(?<=[.!?])\s+")
_MARKUP = lazy_compile(r"(?:(?:[-*•]|\d+[.)])\s+)?(?P<quote>[\"“])?(?P<text>.*?)(?(quote)[\"”])", re.DOTALL)
# English verbs in the past, and those that show that a sentence is about the present or the future.
_PAST = lazy_compile(
    r"\b(?:\w+ed|was|were|had|did|went|came|got|gave|took|made|said|told|met|saw|found|left|felt|heard|kept|began|bought"
    r"|brought|built|chose|drove|ate|fell|flew|forgot|grew|knew|lost|paid|ran|read|sent|set|slept|spent|spoke|swam|taught"
    r"|thought|threw|understood|won|wore|wrote|put|cut|hurt|led|rode|sang|sold|stood|broke|caught|drank|held|sat|quit|shut|dug|split|let|hit|shot|hid|hung|rang|rose|stole|stuck|swore|tore|woke|wept|fed|fought"
    r"|fled|froze|bit|blew|drew|lent|lit|laid|became|burnt|learnt|shook|sank|shone|sprang|struck|swept|withdrew)\b",
    re.IGNORECASE,
)
_ENGLISH = lazy_compile(r"\b(?:the|is|are|was|has|will|a|an|to|of|and)\b", re.IGNORECASE)


class Fault(StrEnum):
    """Why something is not remembered."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    PRONOUN = "pronoun"
    NOT_PAST = "not_past"
    FILLER = "filler"
    SPECULATION = "speculation"
    UNSTATED = "unstated"
    UNGROUNDED = "ungrounded"
    IMPLAUSIBLE = "implausible"
    NOT_STEPS = "not_steps"
    HIDDEN = "hidden"
    KNOWN = "known"
    AMBIGUOUS = "ambiguous"
    OVER_LIMIT = "over_limit"
    UNREADABLE = "unreadable"
    REFUSED = "refused"


def checked(text: str, *, episodic: bool = False) -> str | Fault:
    """The text as it may be remembered, cut to two sentences, and to one if both are too long; or what is wrong.

    >>> checked("- The user moved to Porto. The move took a day. The flat is small.")
    'The user moved to Porto. The move took a day.'
    >>> checked("He moved to Porto.")
    <Fault.PRONOUN: 'pronoun'>
    """
    found = _MARKUP.fullmatch(text.strip())
    sentences = [" ".join(one.split()) for one in _END.split(found["text"] if found else text.strip())]
    plain = " ".join(sentences[:MOST_SENTENCES])
    plain = sentences[0] if len(plain) > LONGEST else plain
    if not search_terms(plain):
        return Fault.EMPTY
    if len(plain) > LONGEST:
        return Fault.TOO_LONG
    if _PRONOUNS.search(plain):
        return Fault.PRONOUN
    if episodic and _ENGLISH.search(plain) and not _PAST.search(plain):
        return Fault.NOT_PAST
    return plain


def is_filler(text: str) -> bool:
    """Whether a message is a greeting, thanks or another passing remark (E06).

    >>> is_filler("Good morning!"), is_filler("ok, thanks a lot"), is_filler("Thanks, I moved to Porto")
    (True, True, False)
    """
    return _FILLER.fullmatch(" ".join(text.split())) is not None


def is_small_talk(text: str) -> bool:
    """Whether a statement only tells that somebody greeted, thanked or asked."""
    return _SMALL_TALK.search(text) is not None


def is_speculation(text: str) -> bool:
    """Whether a statement says itself that it is a guess (E06)."""
    return _SPECULATION.search(text) is not None


_FILLER = lazy_compile(
    r"(?:(?:hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|night)|bye|goodbye|see you(?: (?:later|soon|tomorrow))?"
    r"|thanks|thank you|thx|cheers|ok|okay|k|sure|yes|yeah|yep|no|nope|cool|great|nice|perfect|awesome|lol|haha+|hm+|wow"
    r"|right|fine|got it|i see|sounds good|will do|welcome|please|how are you|what's up|a lot|so much|very much|again|there"
    r"|all|everyone|not bad|you too|and you|it|that helps|done)[\s,.!?:;)(-]*)*",
    re.IGNORECASE,
)
_SMALL_TALK = lazy_compile(
    r"\b(?:greeted|said (?:hello|hi|goodbye|good \w+)|thanked|says? (?:hello|hi|goodbye)|made small talk|asked (?:for|about|how|what"
    r"|whether|if|the assistant)|asks? (?:for|about|how|what|whether|if))\b",
    re.IGNORECASE,
)
_SPECULATION = lazy_compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|apparently|likely|might|could be|(?-i:may) [a-z]+|seems?"
    r"|seemed|appears? to|appeared to|suggests?|implies|supposedly|is thinking (?:about|of)|considers? (?!\w+ (?:a|an|the)\b)\w+ing)\b",
    re.IGNORECASE,
)


def valid(candidate: Candidate, at: datetime) -> bool:
    """Whether a candidate is a sentence that may be remembered, and its dates are plausible."""
    dates = [one for one in (candidate.since, candidate.until) if one]
    if any(not FIRST_YEAR <= one.year <= at.year + YEARS_AHEAD for one in dates):
        return False
    if candidate.since and candidate.until and candidate.until <= candidate.since:
        return False
    if candidate.object is None:
        return True
    if sum(map(str.isalnum, candidate.object)) < SHORTEST and candidate.predicate != "age":
        return False
    subject = "The user" if candidate.subject == ME else candidate.subject
    thing = "the user" if candidate.object == ME else candidate.object
    return not isinstance(checked(sentence(subject, candidate.predicate, thing)), Fault)
