"""States that people speak of, such as a home or a job: of several statements, the latest is current.

For what is said in plain sentences, without a key or a fact. It knows English sentences; others are left as they are.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemolog.domain.asked import Span, periods
from mnemolog.domain.entity import ME
from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.extractor import extract
from mnemolog.domain.extraction.times import DAY, MONTH
from mnemolog.domain.extraction.vocabulary import ONE_OF, PARENTS, RELATIONS, SOME_OF
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.predicates import NEXT_TRIP, TRIP_TO, trip_of
from mnemolog.domain.text import NOT_A_TITLE, SENTENCE_END, ends_of, name_key, normalize_name, search_terms

_FIRST_PERSON = lazy_compile(r"\b(?:i|i'm|i've|i'll|me|my|mine|we|we're|we've|our|us)\b")
_OF_ANOTHER = lazy_compile(r"(?:works|lives)\b")
# Not what is the case now: earlier, later, or only imagined.
_NOT_NOW = lazy_compile(
    r"\?|(?<!have )(?<!'ve )\blived in\b"
    r"|\b(?:used to|formerly|previously|years ago|months ago|as a (?:child|kid|teenager|student)|when i was|grew up"
    r"|going to|will|would|might|could|should|if|need(?:s)? to|want(?:s|ed)? to|plan(?:s|ning)? to|hop(?:e|es|ing) to"
    r"|thinking (?:of|about)|consider(?:s|ing)|dream(?:s|ing)?|wish(?:es)?|next (?:week|month|year)"
    r"|visit(?:s|ed|ing)?)\b"
)
_PAST_QUESTION = lazy_compile(
    r"\b(?:used to|before|previous(?:ly)?|former(?:ly)?|first|earlier|originally|old|ago|in \d{4}|did|was|were|had"
    r"|since when|how long|history|ever)\b"
)
_FORMER_QUESTION = lazy_compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|used to)\b|(?:\bmy|'s) (?:old|ex)\b|\b(?:did|was|were|had)\b.*\bbefore\b"
)
_BEFORE = lazy_compile(r"\bbefore\b")
_WHEN_IT_WAS = lazy_compile(
    r"(?:when|(?:on )?(?:what|which) (?:day|date)) (?:was|were|did (?:i|we) (?:go|fly|travel))\b"
)
# When the new one is only to begin: "new house 16 May".
NOT_YET = rf"(?!(?: (?:on|from|in|starts?|starting))*(?: the)? (?:\d|next\b|{DAY}\b|{MONTH}\b))"
# For how long, when or how one works, and not for whom.
NO_EMPLOYER = (
    r"(?! (?:(?:about|around|over|nearly|almost) )?(?:\d"
    r"|(?:two|three|four|five|six|seven|eight|nine|ten|twelve|hours|days|weeks|months|years)\b"
    r"|(?:an?|the) (?:while|bit|few|long|moment|weekends?|evenings?|mornings?|garden|kitchen|day|night)\b"
    r"|(?:ages|home|least|once|night|silence|peace|nothing|free|hard|much|well|usual|normal|long)\b"
    r"|(?:it|me|us|him|her|them)\b))"
)
_LOVE = r"(?:girlfriend|boyfriend|husband|wife|fianc\w+)"
_STATES: Mapping[str, re.Pattern[str]] = {
    "home": lazy_compile(
        r"\b(?:live[sd]?|living|based) in\b"
        r"|(?<!been )(?<!was )(?<!got )\b(?:moved|relocated|settled|moving) (?:back )?(?:to|in|into|from)\b"
        rf"|\bnew (?:home|flat|apartment|house|place)\b{NOT_YET}"
        r"|\b(?:my|our) (?:home|flat|apartment|house|place)(?:'s| is)?(?: now)? (?:in|at|on|near)\b"
    ),
    "job": lazy_compile(
        rf"\bwork(?:s|ed|ing)? (?:at|for|as|in)\b{NO_EMPLOYER}"
        rf"|(?<!about )(?<!about my )(?<!about the )\bnew (?:job|employer|position)\b{NOT_YET}"
        r"|\b(?:my|her|his) (?:job|employer|position)(?: is|'s)?(?: now)? (?:at|with|as)\b"
        r"|\b(?:my|her|his) employer(?: is|'s)(?: now)? (?!an?\b|the\b|so\b|not\b|very\b|really\b|\w+ing\b)"
        r"|\bjoined\b(?! (?:an?|the|my|our|this|in)\b(?! (?:[\w-]+ ){0,2}(?:team|company|firm|staff|bank|start-?up"
        r"|agency|police|army|navy|force|service|nhs|hospital|department)\b))"
        r"|\b(?:started|starting) (?:at|as|working|a (?:new )?job)\b|\bpromoted\b|\bhired\b|\bquit\b|\bresigned\b"
        r"|\bgot (?:a|the) job\b|\blaid off\b|\bfreelanc\w+"
    ),
    "diet": lazy_compile(
        r"\b(?:vegan|vegetarian|pescatarian|omnivore|keto|gluten[- ]free|eat(?:s|ing)? (?:meat|fish))\b"
    ),
    "partner": lazy_compile(
        r"\b(?:married|engaged|divorced|dating|broke up|split up)\b"
        rf"|\b(?:an?|new) {_LOVE}\b|(?:\bis|'s|\bare) (?:now )?my {_LOVE}\b"
        rf"|\bmy {_LOVE}(?:'s name)?(?:,| is| called| named) (?!(?:an?|the|so|very|not|in|at|on|out|\w+ing|\w+ed)\b)"
    ),
}
SPOKEN_OF: Mapping[str, str] = {
    "home": "live living based moved moving relocated settled home flat apartment house place",
    "job": "work working job employer position joined start started promoted hired quit resigned laid freelance left",
    "diet": "vegan vegetarian pescatarian omnivore keto gluten diet eat eating meat fish",
    "partner": "married engaged divorced separated dating together split broke girlfriend boyfriend husband wife fiance"
    " fiancee",
}
"""The words of which a message about a state has one."""
_ASKED: Mapping[str, re.Pattern[str]] = {
    "home": lazy_compile(
        r"\b(?:(?:lives?|living)(?! with\b)|home|address|resides?|based)\b|\b(?:which|what) (?:city|town|country)\b"
    ),
    "job": lazy_compile(r"\b(?:works?|working|job|employer|company|profession|occupation|for a living|employed)\b"),
    "diet": lazy_compile(r"\b(?:diet|eats?|eating|vegan|vegetarian|meat|fish)\b"),
    "partner": lazy_compile(r"\b(?:partner|girlfriend|boyfriend|husband|wife|dating|married|relationship)\b"),
}
# `My manager is Carla`, `the wedding is now on 3 May`, `Ana's favourite tea is oolong`.
_WHOSE = r"(?:(?:my|our) (?P<kin>\w+)'s|my|our|\w+'s)"
_WHAT = r"(?:new |current )?(?P<sort>(?:\w+ ){0,2}?)(?P<noun>\w+)"
_TURNED = lazy_compile(
    rf"\b(?:{_WHOSE}|the) {_WHAT} (?:is|are|has been|was|got|have been)"
    r" (?:now|called|named|on|at|moved|postponed|rescheduled|pushed|changed) "
)
_VALUED = lazy_compile(rf"\b{_WHOSE} {_WHAT} (?:is|are) ")
# Where a value ends, and what is none: "my car is in the garage", "our landlord is such a nightmare".
_BEHIND_VALUE = lazy_compile(r"[.!?,;:(]|\s(?:and|but|so|because|since|now|again)\b")
_NO_VALUE = lazy_compile(
    r"(?:(?:still|just|now) )*(?:in|on|at|up|off|out|with|for|to|as|like|due|about|going|getting)\b"
)
_REMARK = lazy_compile(r"(?:an?|the|so|such|too|very|really|still|not|just|\w{2,}(?:ing|ed))\b")
_CAPITAL = lazy_compile(rf"\b(?!(?i:{DAY}s?|{MONTH}|I|I'm|I've)\b)[A-Z][\w'-]*")
_FIGURE = lazy_compile(rf"\d|\b(?:{DAY}|{MONTH}|today|tomorrow)\b")
_MOST_WORDS = 2
# "My brother Dave got a new job" says nothing about one's own.
_OF_RELATIVE = lazy_compile(
    rf"\W*(?:(?:and|but|so|also|oh|btw) )?(?:(?:my|our) (?:(?:big|little|older|younger|twin) )?"
    rf"({ONE_OF}|{SOME_OF}|pal|mate|buddy|workmate)|({PARENTS}))\b"
    r"(?!.*\b(?:i|i'm|i've|we|we're|we've|and me)\b)"
)
_SENTENCE_END = lazy_compile(r"[.!?:;] |, | - |\b(?:and|but|so) (?=i\b|we\b)")
_I_SUPPOSE = lazy_compile(
    r"\bi (?:suppose|think|guess|reckon|believe|hear|heard|know|hope)(?: that)?"
    r" (?=(?:she|he|they)\b|(?:my|our) (?!.*\b(?:i|we)\b))"
)
_IS_OBJECT = lazy_compile(r" (?:me|us)\b")
# What a sentence without a subject begins with, which is one's own.
_NO_SUBJECT = lazy_compile(
    r"\W*(?:\w+ly|just|now|then|today|yesterday|tonight|last|this|next|so|and|but|also|well|oh|ok|okay|yes|no|not|been|got|getting"
    r"|back|newly|still|again|big|great|good|best|new|first|after|since|at|in|on|by|from|for|with|to|starting|started|the|an?|there|here|it|that)\b"
)
_ONE_AT_A_TIME = frozenset({"lives_in", "works_at", "diet_plan", "married_to", "partner_of"})
_STATE_OF = {
    **dict.fromkeys(("lives_in", "lives_near", "based_in", "home", "city"), "home"),
    **dict.fromkeys(("works_at", "works_for", "works_as", "job_title", "job", "employer"), "job"),
    **dict.fromkeys(("diet", "diet_plan"), "diet"),
    **dict.fromkeys(("married_to", "partner_of", "engaged_to", "dating"), "partner"),
}


# States of which the rules of extraction know what is said.
_EXTRACTED = frozenset({"home", "job", "diet", "partner", "=trip", "=holiday", "=vacation", "=journey"})
# What may tell of the date of a trip, which is read if a question asks when something is that the message names.
_TRAVELS = lazy_compile(
    r"\b(?:fly|flying|flights?|go|going|trip|holiday|vacation|weekend|getaway|travel\w*|driv\w+|off|heading|booked|moved?|postponed?"
    r"|pushed|rescheduled?|delayed?|changed?|cancel\w*|back from|(?:is|will be|'s)(?: now)? (?:on|from|in))\b"
)

_OVER = (Action.END, Action.DENY)
_SAYS = r"(?:said|says|told|tells|wrote|writes|texted|replied|answered|announced|mentioned)"
_SOMEBODY = r"(?<![\w-])(?:[Mm]y \w+(?: [A-Z][\w-]*)?|[A-Z][\w-]*)"
# `Eva said: I live in Graz`, `"I live in Graz," said Eva`, and in indirect speech `Eva told me that she lives in Graz`.
_QUOTED = lazy_compile(
    rf"(?P<who>{_SOMEBODY}) (?:just )?{_SAYS}(?: (?:to )?(?:me|us))?(?:\s*:\s*[\"“«]?|,?\s*[\"“«])(?P<what>[^\"“”«»]+)"
)
_QUOTED_FIRST = lazy_compile(
    rf"[\"“«](?P<what>[^\"“”«»]+)[\"”»],? (?:(?P<who>{_SOMEBODY}) {_SAYS}|{_SAYS} (?P<whom>{_SOMEBODY}))\b"
)
_PRONOUNS = frozenset({"I", "We", "He", "She", "They", "It", "You", "Who", "Somebody", "Someone", "And", "But"})
_INDIRECT = lazy_compile(
    rf"(?P<who>{_SOMEBODY}) (?:just )?{_SAYS}(?: (?:me|us))?(?: that)? (?:he|she|they)(?P<what>\b.+)", re.DOTALL
)


# What is quoted of nobody who is named: `A patient told me "I live in a van"`.
_OWN_WORDS_OF_ANOTHER = lazy_compile(r"[\"“«](?=[^\"“”«»]*\b(?:I|I'm|I've|[Mm]y|[Ww]e)\b)[^\"“”«»]+[\"”»]")
# Where another statement may begin.
_PART = lazy_compile(NOT_A_TITLE + r"(?<=[.!?])\s+|\n+|[,;:]\s|\s(?:and|but|so|because)\s", re.IGNORECASE)
_DETAIL = lazy_compile(r"\W*(?:at|by|close|for|from|in|near|of|on|since|to|where|which|who|with)\b", re.IGNORECASE)
# What leads up to a sentence in a summary: `Extract:`, who said it, and on which day.
_LED_BY = lazy_compile(r"^(?:Extract: )?(?:(?:[\w -]{1,40}, )?\d{4}-\d\d-\d\d: )?")


@dataclass(frozen=True, slots=True)
class Statement:
    """What was said: by or about whom (normalised), of which state, and when. `ended`: whatever it says is over.

    `gives_way`: it may be so beside another, so that it supersedes nothing, as a trip that need not be the next one.
    `unnamed`: it does not say of whom, as "We're married!". `value`: what it says the state is, where that is known.
    `sorts`: else of what sort that is, such as a name.
    """

    id: str
    subject: str
    state: str
    text: str
    at: datetime
    ended: tuple[str, ...] | None = None
    gives_way: bool = False
    unnamed: bool = False
    value: str = ""
    sorts: frozenset[str] = frozenset()

    def replaces(self, sorts: frozenset[str]) -> bool:
        """Whether it tells another value of these sorts: "my car is filthy" names none instead of a Fiat."""
        return not self.sorts or sorts - {"word"} <= self.sorts


def asked_states(question: str) -> frozenset[str]:
    """The states that a question asks for as they are now; a noun such as `manager` is a state too."""
    if not asks_of_present(question):
        return frozenset()
    plain = normalize_name(question)
    named = {state for state, pattern in _ASKED.items() if pattern.search(plain)}
    return frozenset(named | {f"={word}" for word in re.findall(r"\w+", plain)})


def asks_of_present(question: str) -> bool:
    """Whether it asks for what is so now, or does not say of which time.

    >>> asks_of_present("Where do I live?"), asks_of_present("Where did I live before?")
    (True, False)
    """
    return _PAST_QUESTION.search(normalize_name(question)) is None


@dataclass(frozen=True, slots=True)
class Past:
    """The time that a question asks for: what it names after "before", as a key of names, or certain periods.

    `last`: whenever that was, but not what another value replaced.
    """

    before: str = ""
    spans: tuple[Span, ...] = ()
    last: bool = False

    def fits(self, since: datetime, until: datetime | None, pivot: datetime | None = None) -> bool:
        """Whether something held then; without periods, whether it was over at the `pivot`, or is over now."""
        if self.spans:
            return any(since < span.end and (until is None or until > span.start) for span in self.spans)
        return until is not None and (pivot is None or until <= pivot)

    def apart(self, since: datetime, until: datetime | None) -> timedelta:
        """How far from the periods something held; nothing without periods."""
        gaps = (max(since - one.end, one.start - (until or one.start), timedelta()) for one in self.spans)
        return min(gaps, default=timedelta())


def asked_past(question: str, asked_at: datetime) -> Past | None:
    """The time that a question asks for; None if it is the present, or not said.

    >>> from datetime import UTC
    >>> asked_past("Where did I live before Leipzig?", datetime(2026, 5, 20, tzinfo=UTC)).before
    'leipzig'
    >>> asked_past("Where do I live?", datetime(2026, 5, 20, tzinfo=UTC))
    """
    plain = normalize_name(ends_of(question))
    if _FORMER_QUESTION.search(plain):
        return Past(name_key(" ".join(_BEFORE.split(plain, maxsplit=1)[1:]).strip(" ?.!")))
    if spans := periods(ends_of(question), asked_at) if _PAST_QUESTION.search(plain) else ():
        return Past(spans=tuple(spans))
    return Past(last=True) if _WHEN_IT_WAS.match(plain) else None


def statement(id_: str, speaker: str, text: str, at: datetime, asked: frozenset[str]) -> Statement | None:
    """A sentence about a state that is asked for and holds when it is said. `speaker` is "" for a memory.

    What somebody else is quoted with, such as `Eva said: I live in Graz`, is about them.
    """
    if quoted := reported(text):
        return statement(id_, *quoted, at, asked)
    text = _OWN_WORDS_OF_ANOTHER.sub(" ", text)
    plain = normalize_name(text)
    if asked & _EXTRACTED or ("=when" in asked and _may_date_a_trip(plain, asked)):
        found = extract(text, at, normalize_name(speaker) or ME)
        for one in found:
            beside = one.predicate == TRIP_TO and "=next" in asked
            if one.predicate == "partner_of" and asks_of_marriage(asked):
                continue
            # Of what takes the place of another, that is not known here.
            state = "" if one.replaces else state_of(NEXT_TRIP) if beside else _extracted_state(one)
            over_by_then = one.action not in _OVER and one.until is not None and one.until <= at
            if state in asked and (one.since is None or one.since <= at) and not over_by_then:
                over = [each for each in found if each.action in _OVER and each.predicate == one.predicate]
                named = tuple(normalize_name(each.object or "") for each in over)
                ended = named if one.action in _OVER else None
                subject = f"{one.subject} {one.via}" if one.via else one.subject
                return Statement(
                    id_,
                    normalize_name(subject),
                    state,
                    plain,
                    at,
                    ended,
                    gives_way=beside,
                    unnamed=one.with_partner,
                    value="" if ended else name_key(one.object or ""),
                )
        if found:  # The rules know what it says, and it is something else.
            return None
    if _NOT_NOW.search(plain):
        return None
    (state, told), sorts = _state_in(plain), frozenset[str]()
    if not state and (valued := _TURNED.search(plain) or _VALUED.search(plain)):
        # "My old boss is Dana" tells who that was, and "my brother's boss" who somebody else's is.
        is_asked = all(f"={word}" in asked for word in valued["sort"].split())
        sorts = _sorts(plain[valued.end() :], text) if is_asked else sorts
        state = f"={valued['noun']}" if sorts else ""
        if state and (kin := valued["kin"]):
            return Statement(
                id_, f"{normalize_name(speaker) or ME} {RELATIONS.get(kin, kin)}", state, plain, at, sorts=sorts
            )
    if not state:
        return None
    if (theirs := _OF_RELATIVE.match(plain)) and not state.startswith("="):
        kin = theirs[1] or theirs[2]
        relative = f"{normalize_name(speaker) or ME} {RELATIONS.get(kin, kin)}"
        return Statement(id_, relative, state, plain, at)
    if _FIRST_PERSON.search(plain) and not (told and _has_another_subject(plain, told)):
        if told and (of_another := _OF_ANOTHER.match(told[0])) and not plain.startswith(f"i {of_another[0]}"):
            return None  # "My ex-husband works at Acme." Of indirect speech, `reported` makes "I works".
        return Statement(id_, normalize_name(speaker) or "me", state, plain, at, sorts=sorts)
    name = re.match(r"[^\W\d_][\w-]*", plain)
    if name is None or not (text[0].isupper() or name[0] == "the"):
        return None
    return Statement(id_, name[0], state, plain, at, sorts=sorts)


def _sorts(told: str, text: str) -> frozenset[str]:
    """Of what sorts the value is that is told: a name, a figure such as a date, or a word; none if it is no value.

    `text`: what it is told in, with capitals.
    """
    if _NO_VALUE.match(told):
        return frozenset()
    value = _BEHIND_VALUE.split(told, maxsplit=1)[0]
    words, capitals = value.split(), {normalize_name(one) for one in _CAPITAL.findall(text)}
    sorts = {"name"} if not capitals.isdisjoint(words) else set[str]()
    if _FIGURE.search(value):
        sorts.add("figure")
    if not sorts and len(words) <= _MOST_WORDS and not _REMARK.match(told):
        sorts.add("word")
    return frozenset(sorts)


def _state_in(plain: str) -> tuple[str, re.Match[str] | None]:
    """The first state that a sentence speaks of, of the author if of several, and where."""
    for state, form in _STATES.items():
        if found := list(form.finditer(plain)):
            return state, next((one for one in found if not _has_another_subject(plain, one)), found[0])
    return "", None


def _has_another_subject(plain: str, told: re.Match[str]) -> bool:
    """Whether a sentence tells a state of somebody else, whatever it says of "me" behind that: "Mia joined my team"."""
    start = max((one.end() for one in _SENTENCE_END.finditer(plain, 0, told.start())), default=0)
    before = _I_SUPPOSE.sub("", plain[start : told.start()])
    if _FIRST_PERSON.search(before + told[0]) or _IS_OBJECT.match(plain, told.end()):
        return False
    return bool(before.strip()) and _NO_SUBJECT.match(before) is None


def asks_of_marriage(asked: frozenset[str]) -> bool:
    """Whether the question is about a marriage: a new partner is none, and ends none."""
    return not asked.isdisjoint(("=married", "=husband", "=wife", "=divorced"))


def _may_date_a_trip(plain: str, asked: frozenset[str]) -> bool:
    return _TRAVELS.search(plain) is not None and not asked.isdisjoint(f"={term}" for term in search_terms(plain))


def reported(text: str) -> tuple[str, str] | None:
    """Who is quoted in a message, and with what; None if nobody but the speaker is."""
    if quoted := _QUOTED.search(text) or _QUOTED_FIRST.search(text):
        who, what = quoted["who"] or quoted["whom"], quoted["what"]
    elif indirect := _INDIRECT.search(text):
        who, what = indirect["who"], f"I{indirect['what']}"
    else:
        return None
    last = who.split()[-1]
    return None if who in _PRONOUNS else (last if last[0].isupper() else who, what.strip())


def state_of(predicate: str) -> str:
    """The state that a fact with this predicate is about; of `next_trip` a trip, of `lisbon_trip_date` Lisbon."""
    about = trip_of(predicate) or predicate.removesuffix("_date").replace("_", " ")
    return _STATE_OF.get(predicate) or f"={about.strip().rpartition(' ')[2]}"


def _extracted_state(one: Candidate) -> str:
    """An occupation says nothing about an employer, and who has several has one more."""
    return state_of(one.predicate) if one.single or one.predicate in _ONE_AT_A_TIME else ""


def superseded(statements: Sequence[Statement], asked: frozenset[str]) -> Mapping[str, str]:
    """Of the statements about one state of one subject that is asked for, the earlier ones, each with the latest.

    An earlier one that gives the state the value that it has now still holds. One that only says what is over gives
    way to what was said before it of another value, unless that is what is asked: "I'm not vegan" of "Am I vegan?".
    """
    latest: dict[tuple[str, str], Statement] = {}
    about = [one for one in statements if one.state in asked]
    for one in sorted(about, key=lambda one: (not one.gives_way, one.at)):
        before = latest.get((one.subject, one.state))
        if before is not None and not one.replaces(before.sorts):
            continue
        if one.ended is None or before is None or before.unnamed or any(each in before.text for each in one.ended):
            latest[one.subject, one.state] = one
    by = {one.id: latest[one.subject, one.state] for one in about}
    return {
        one.id: by[one.id].id
        for one in about
        if by[one.id] is not one
        and (
            by[one.id].at > one.at
            or (any(one.ended or ()) and asked.isdisjoint(f"={each}" for each in one.ended or ()))
        )
        and by[one.id].text != one.text
        and not (one.value and by[one.id].value == one.value)
    }


def outdated(
    summary: str, at: datetime, now: Mapping[tuple[str, str], Statement], asked: frozenset[str]
) -> Statement | None:
    """The statement that is current instead of one that a summary repeats; None if it repeats no former one."""
    for line in SENTENCE_END.split(summary):
        told = statement("", "", _LED_BY.sub("", line.strip(" -")), at, asked)
        current = now.get((told.subject, told.state)) if told else None
        if told and current and told.text not in current.text:
            return current
    return None


def news_after(one: Statement, subjects: Collection[str], state: str, value: str, told: datetime) -> bool:
    """Whether a statement says that a fact no longer holds: it is about the same state, and was said later."""
    if one.state != state or one.subject not in subjects or one.at <= told:
        return False
    if one.ended is not None:
        return any(each in normalize_name(value) for each in one.ended)
    return one.replaces(_sorts(normalize_name(value), value)) and not _says(one, value)


def former_of(one: Statement, subjects: Collection[str], state: str, value: str, since: datetime) -> bool:
    """Whether a statement says what was the case before a fact: another value of the same state, and said earlier.

    `subjects` are the names of whom the fact is about, for the user also `me`.
    """
    same = one.state == state and one.subject in subjects
    return same and one.at < since and one.replaces(_sorts(normalize_name(value), value)) and not _says(one, value)


def says_only(text: str, values: Collection[str]) -> bool:
    """Whether all that a message states is one thing, or has one of these values.

    >>> said = "I've got diabetes type 2, on metformin. And I'm allergic to nuts"
    >>> says_only(said, ["metformin", "nuts"]), says_only("Hi! I live in Berlin, near the canal", ["Berlin"])
    (False, True)
    """
    words = [frozenset(search_terms(part)) for part in _PART.split(text) if not _DETAIL.match(part)]
    told = [part for part in words if len(part) > 1]
    wanted = [frozenset(search_terms(value)) for value in values]
    return len(told) < 2 or all(any(one and one <= part for one in wanted) for part in told)


def _says(one: Statement, value: str) -> bool:
    return name_key(value) in name_key(one.text)
