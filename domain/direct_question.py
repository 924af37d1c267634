"""A question that asks one thing of one person, such as a home or a sister, so that it can be said to be unknown.

By rules, which know English; of other questions, nothing is said to be unknown but names.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

from mnemolog.domain import hydration
from mnemolog.domain.answers import tells_name
from mnemolog.domain.extraction.rule import form
from mnemolog.domain.extraction.times import DAY, MONTH
from mnemolog.domain.extraction.vocabulary import BREEDS, OCCUPATIONS, PETS, RELATIONS, VERBS
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import TITLE, name_key, without_questions

KIN = (
    "wife|husband|fiancée?|fiancee?|girlfriend|boyfriend|(?:grand|god|step)?(?:mother|father|mum|mom|dad|son|daughter)"
    "|grandma|grandpa|granny|gran|nan|nana|grandd?ad|mam|gogo|nonna|oma|abuela|ah ma"
    "|opa|nonno|abuelo|(?:step|half[- ])?(?:sister|brother)|cousin|aunt|uncle|niece"
    "|nephew"
    "|(?:mother|father|sister|brother|son|daughter)-in-law"
)
_MY = r"(?:[Mm]y|[Oo]ur) (?:(?:older|younger|elder|eldest|youngest|big|little|twin|late|only|own)[- ])?"
_RELATIVE = lazy_compile(rf"\b{_MY}(?P<kin>{KIN})\b(?!-| [A-Z])")
# Who has a role; of a question that only mentions one, such as "Should I ask my boss?", nothing is said to be unknown.
_ROLE = lazy_compile(
    r"\W*(?:who|what)(?: is|'s) my"
    r" (?P<kin>boss|manager|doctor|gp|vet|dentist|landlord|landlady|hairdresser|grandchild|grandkid)"
    r"(?: called|'s name)?(?: now| currently| at the moment)?\W*",
    re.IGNORECASE,
)
_WHOSE = lazy_compile(rf"\b{_MY}(?:{KIN}|friend|colleague|neighbou?r),? (?=[A-Z])")
_TITLE = rf"(?:{TITLE}\.?|Aunt(?:ie|y)?|Uncle|Cousin|Grandma|Granny|Nana?|Grandpa|Grandad)"
_NAME = rf"(?:{_TITLE} )?(?P<name>(?!I\b)[A-Z][\w-]*(?: [A-Z][\w-]*){{0,3}})"
_WHO = rf"(?:{_NAME}|{_MY}(?P<kin>{KIN}))"
_NOW = "(?: now| today| these days| currently| at the moment)?"
_HOME = "live lives home house flat apartment address city town country location based moved move stays"
_SURNAME = "surname"
_MEDICATION, _ALLERGY = "medication", "allergy"
_TAKES = "take taking tablets pills medication medicine drug prescribed dose mg injection inhaler pump drops shot patch"
_JOB = "work job employer company firm office profession career position role title hired joined"
# By the whole word: who is asked to write something is not a writer.
_OCCUPATION = lazy_compile(rf"\b(?:{OCCUPATIONS})s?\b", re.IGNORECASE)
# What is asked for, the words that tell of it, and the forms of the question.
_ASKED = tuple(
    (what, hydration.stems(words), lazy_compile(rf"\W*{form}{_NOW}\W*"))
    for what, words, forms in (
        (
            "home",
            _HOME,
            (
                rf"[Ww]here do(?:es)? {_WHO} live",
                rf"[Ww]here(?: is|'s) {_WHO} (?:living|based)",
                rf"[Ww](?:hich|hat) (?:city|town|country) does {_WHO} live in",
                rf"[Ww]hat(?: is|'s) {_WHO}'s home",
            ),
        ),
        ("address", "address street road avenue lane drive", (rf"[Ww]hat(?: is|'s) {_WHO}'s (?:home )?address",)),
        (
            "job",
            _JOB,
            (
                rf"[Ww]here does {_WHO} work",
                rf"[Ww]hat does {_WHO} do(?: for (?:a living|work))?",
                rf"(?:[Ww]ho|[Ww](?:hich|hat) company) does {_WHO} work for",
                rf"[Ww]hat(?: is|'s) {_WHO}'s (?:job|profession|occupation|employer)",
            ),
        ),
        (
            "birthday",
            "birthday born birth age old",
            (rf"[Ww](?:hen|hat)(?: is|'s) {_WHO}'s birthday", rf"[Ww]hen was {_WHO} born"),
        ),
        (
            "pay",
            "earn earns salary wage wages pay paid pays makes raise income",
            (
                rf"[Hh]ow much(?: money)? (?:does|did) {_WHO} (?:earn|make|get paid)",
                rf"[Ww]hat does {_WHO} earn",
                rf"[Ww]hat(?: is|'s) {_WHO}'s (?:salary|pay|wage|income)",
            ),
        ),
        (
            "university",
            "university uni college degree study studied studies studying student graduated graduate graduation",
            (
                rf"[Ww](?:hich|hat) (?:university|uni|college) (?:does|did) {_WHO} (?:go to|attend|study at)",
                rf"[Ww]here (?:does|did) {_WHO} (?:study|go to (?:university|uni|college))",
            ),
        ),
        ("birthplace", "born birth birthplace native grew hail", (rf"[Ww]here was {_WHO} born",)),
        (
            _MEDICATION,
            _TAKES,
            (
                rf"[Ww](?:hat|hich) (?:medications?|medicines?|meds|tablets|pills|drugs?) (?:does|is) {_WHO}"
                r" (?:take|taking|on)",
                rf"[Ww]hat does {_WHO} take(?: for (?:his|her|their) [\w ]+)?",
            ),
        ),
        (_ALLERGY, "allergy allergic intolerant coeliac celiac", (rf"[Ww]hat(?: is|'s) {_WHO} allergic to",)),
        (_SURNAME, "surname", (rf"[Ww]hat(?: is|'s) {_WHO}'s (?:surname|last name|family name)",)),
        ("phone number", "phone number mobile", (rf"[Ww]hat(?: is|'s) {_WHO}'s (?:phone|mobile)(?: number)?",)),
        ("email address", "email mail address", (rf"[Ww]hat(?: is|'s) {_WHO}'s e-?mail(?: address)?",)),
    )
    for form in forms
)

_IN_OTHER_WORDS = {"job": _OCCUPATION, _MEDICATION: form(r"\b{A_DRUG}|\bput (?:him|her|them) on\b|\d ?mg\b")}
"""What else tells what is asked for."""

# Many write without capitals: then a word is a name if it is none of these.
_NO_NAME = (
    "i|you|he|she|it|we|they|one|this|that|these|those|there|who|what|which|some|any|no|every|every(?:one|body)"
    "|any(?:one|body)|some(?:one|body)|nobody|people|the|an?|my|our|your|his|her|its|their|most|all|both|each|other"
)


@cache
def _uncapitalised() -> Sequence[tuple[str, frozenset[str], re.Pattern[str]]]:
    name = rf"(?P<name>(?!(?:{_NO_NAME}|{KIN})\b)[^\W\d_][\w-]*)"
    return tuple(
        (what, words, re.compile(pattern.pattern.replace(_NAME, name)))
        for what, words, pattern in _ASKED
        if not pattern.fullmatch("What does Ana do")  # `what does caching do` asks of nobody.
    )


# What somebody asks of themselves, and what tells it: a word of their own, or of a fact or a memory about somebody.
_OWN = {
    "birthday": lazy_compile(
        r"\b(?:my|your) (?:\w+ )?(?:birthday|bday|date of birth)\b(?! (?:present|gift|wish|cake|party|card))"
        r"|\b(?:i|you)(?:'m| was| were) (?:\w+ )?born\b|\bi turn(?:ed)? \d|(?:^|[.!?] )turned \d\d?\b"
        r"|^(?:[\w ]+: )?(?:birthday|date of birth)\b",
        re.IGNORECASE,
    ),
    "phone number": lazy_compile(
        r"\b(?:my|your) (?:\w+ )?(?:phone|mobile|cell|number)\b|^(?:[\w ]+: )?phone\b", re.IGNORECASE
    ),
    "email address": lazy_compile(r"\b(?:my|your) (?:\w+ )?e-?mail\b|@|^(?:[\w ]+: )?e-?mail\b", re.IGNORECASE),
}
# Who is somebody's relative.
_KIN_OF = lazy_compile(
    rf"\W*(?:[Ww]ho|[Ww]hat)(?: is|'s) (?:the name of )?{_NAME}'s (?P<kin>{KIN}|partner|boss|manager)"
    rf"(?: called|'s name)?{_NOW}\W*"
)
_ASKED_OF_ONESELF = tuple(
    (what, lazy_compile(rf"\W*{form}{_NOW}\W*", re.IGNORECASE))
    for what, form in (
        (
            "birthday",
            r"(?:(?:on )?(?:when|what day)(?: is|'s)|do you know|what(?: is|'s)) my (?:birthday|bday|date of birth)",
        ),
        ("birthday", r"when was i born"),
        ("phone number", r"what(?: is|'s) my (?:phone|mobile|cell)(?: number)?"),
        ("email address", r"what(?: is|'s) my e-?mail(?: address)?"),
    )
)


# By what the relative of another relative may be called: "Gareth's wife" may be a daughter-in-law.
_SPOUSE = "wife|husband|fianc\\w+|partner"
_VIA = {
    **dict.fromkeys(("daughter-in-law", "son-in-law", "sister-in-law", "brother-in-law"), _SPOUSE),
    **dict.fromkeys(("mother-in-law", "father-in-law"), "mother|mum|mom|mama|father|dad"),
    **dict.fromkeys(("niece", "granddaughter"), "daughter|girl|baby"),
    **dict.fromkeys(("nephew", "grandson"), "son|boy|baby"),
}
_NO_NAME_AFTER = rf"(?!(?:I|I'm|I've|THE)\b|(?i:{DAY}|{MONTH})\b)"
_NAMED_SO = (
    r"(?i:(?:(?<!'s )|(?<=user's ))\b(?:KIN)s?(?:'s name(?:'s| is)?|,| is| are| was|'s| called| named|:| \()*)"
    rf" {_NO_NAME_AFTER}[A-Z][\w'-]+"
    r"|\b[A-Z][\w'-]+(?:,| is| was|'s)? (?i:my|our) (?:[\w-]+ )?(?i:KIN)\b"
    r"|\b[A-Z][\w'-]+ [^.!?]*[.!?]+ (?i:my|our) (?i:KIN)(?: [iI] mean)?\W*(?=$|[.!?]|\w+ \w+)"
    r"|(?i:\b(?:KIN)\b[^.!?]{0,60}\b(?:called|named|(?:his|her|their) name)\b)"
    rf"|(?i:\b(?:have|got|be|become|is|a) an? (?:\w+ )?(?:KIN)[.!:]+) {_NO_NAME_AFTER}[A-Z][\w'-]+"
    r"(?:[,.!]| (?:is|was|arrived|came|born)\b)"
)
_NO_SMALL_NAME = (
    f"{VERBS}|is|isn't|was|has|had|and|or|who|with|from|at|in|on|to|for|but|just|now|also|still|never|always|he|she|they"
    "|that|this|because|when|if|my|the|coming|can|can't|will|won't|would|could|should|over|today|yesterday|tomorrow|next"
    "|last|again|too|btw|lol|then|there|here|up|off|out|about|not|as|so|really"
)
_NAMED_SMALL = rf"(?<!'s )\b(?:KIN) (?!(?:{_NO_SMALL_NAME})\b)(?!\w+(?:ed|ing)\b)[a-z]{{3,}}"
_DOCTORS = "doctor|gp|vet|dentist"
_TITLED = lazy_compile(r"\b(?:[Dd]r|DR|Prof)\.? (?!who\b)\w")
_NAME_OF = lazy_compile(
    rf"\W*(?:[Ww]hat|[Ww]ho)(?: is|'s| was) {_MY}(?:{KIN}|{_DOCTORS}|grandchild|grandkid)"
    rf"(?:'s (?:first )?name| called| named)?{_NOW}\W*"
)


def asks_name(question: str) -> bool:
    """Whether a question asks what a relative of the user is called.

    >>> asks_name("What's my sister's name?"), asks_name("What does my sister like?")
    (True, False)
    """
    return _NAME_OF.fullmatch(question.replace("’", "'")) is not None


@dataclass(frozen=True, slots=True)
class Direct:
    """Whom a question is about, and what it asks of them; "" for who they are.

    By name, as a relative of the user, or `own`, if it is the user.
    """

    name: str = ""
    relative: str = ""
    own: bool = False
    asks: str = ""
    words: frozenset[str] = frozenset()

    @property
    def said(self) -> str:
        if self.own:
            return f"my {self.asks}"
        who = self.name or f"my {self.relative}"
        return f"{who}'s {self.asks}" if self.asks else who

    @property
    def kin(self) -> frozenset[str]:
        """What such a relative is called, such as `mum` and `mother`."""
        plain = self.relative and "-" not in self.relative
        alike = hydration.alike_words(hydration.stems(self.relative)) - _ANY if plain else ()
        spelt = _IN_TWO_WORDS if "grandmother" in alike else frozenset[str]()
        return frozenset({self.relative, *alike, *spelt} - {""})

    @property
    def predicates(self) -> frozenset[str]:
        """The predicates of facts that say who it is."""
        return frozenset(RELATIONS.get(one, one) for one in self.kin)

    def tells(self, text: str, names: Collection[str]) -> bool:
        """Whether a text speaks of them and has a word for what is asked, or goes on about somebody named before.

        A question tells nothing.
        """
        text = without_questions(text)
        if self.own:
            return _OWN[self.asks].search(text) is not None or self._is_of(text, {*names, "the user"})
        if not self.asks:
            return self.speaks_of(text, names)
        if self.asks == _SURNAME and any(re.search(rf"\b{re.escape(one)} [A-Z]", text) for one in names):
            return True
        goes_on = _GOES_ON.match(text.rpartition(": ")[2]) is not None
        if not (goes_on or self.speaks_of(text, names)):
            return False
        other = _IN_OTHER_WORDS.get(self.asks)
        return not self.words.isdisjoint(hydration.stems(text)) or (
            other is not None and other.search(text) is not None
        )

    def _is_of(self, text: str, names: Collection[str]) -> bool:
        """Whether a text has what is asked beside a name of the user: `Ana's birthday is 3 May`."""
        said = text.casefold()
        whose = [f"{name.casefold()}'s {word}" for name in names for word in self.asks.split()]
        return any(one in said for one in (*whose, *(f"{name.casefold()} was born" for name in names)))

    def speaks_of(self, text: str, names: Collection[str]) -> bool:
        """Whether a text has one of the names, or calls somebody such a relative."""
        padded = f" {' '.join(_WORD.findall(name_key(text)))} "
        return any(f" {name} " in padded for name in {*map(name_key, names), *map(name_key, self.kin)})

    def speaks_of_theirs(self, text: str) -> bool:
        """Whether a text speaks of a relative of somebody who may be this one of the user: `Gareth's wife`."""
        via = _VIA.get(self.relative)
        return via is not None and re.search(rf"'s (?:\w+ )?(?:{via})\b", text, re.IGNORECASE) is not None

    def names_them(self, text: str) -> bool:
        """Whether a text says what such a relative is called: `my sister Ana`, not `my sister came. Rex barked`."""
        kin = "|".join(one.replace("-", "[- ]") for one in self.kin)
        if re.search(_NAMED_SO.replace("KIN", kin), text.replace("’", "'")) is not None:
            return True
        if self.relative in _DOCTORS.split("|") and _TITLED.search(text):
            return True
        if text == text.lower() and re.search(_NAMED_SMALL.replace("KIN", kin), text) is not None:
            return True
        via = _VIA.get(self.relative)
        theirs = rf"'s (?:\w+ )?(?:{via})(?:,| is| was|'s| called| named)* [A-Z]"
        return via is not None and re.search(theirs, text) is not None


def direct(question: str) -> Direct | None:
    """What a question asks directly, or else the relative without a name of whom it speaks.

    >>> direct("Where does my cousin Eva Novak live?").said, direct("What is our uncle called?").said
    ("Eva Novak's home", 'my uncle')
    >>> direct("where does zoltan live").said, direct("where does everyone live?")
    ("zoltan's home", None)
    """
    plain = _WHOSE.sub("", question.replace("’", "'"))
    for what, words, pattern in _uncapitalised() if plain[1:] == plain[1:].lower() else _ASKED:
        if found := pattern.fullmatch(plain):
            return Direct(found["name"] or "", (found["kin"] or "").lower(), asks=what, words=words)
    for what, pattern in _ASKED_OF_ONESELF:
        if pattern.fullmatch(plain):
            return Direct(own=True, asks=what)
    if found := _KIN_OF.fullmatch(plain):
        kin = hydration.stems(found["kin"])
        return Direct(found["name"], asks=found["kin"], words=kin | hydration.alike(kin))
    related = _ROLE.fullmatch(plain) or _RELATIVE.search(plain)
    return Direct(relative=related["kin"].lower()) if related else None


@dataclass(frozen=True, slots=True)
class Thing:
    """Something of the user's or of somebody else's that a question asks for by a noun, such as a shoe size.

    `named`: it asks what it is called. `kin`: it is somebody's relative, as in "my brother's wife".
    """

    said: str
    words: frozenset[str]
    named: bool = False
    kin: str = ""

    def told_in(self, text: str) -> bool:
        """Whether a text has the noun, or another for the same. A question tells nothing."""
        told = without_questions(text)
        if self.kin:
            return re.search(rf"\b(?:{self.kin}|{_LIKE[self.kin]})\b", told, re.IGNORECASE) is not None
        said = hydration.stems(told)
        animals = {BREEDS[breed] for breed in _BREED.findall(told.lower())}
        return self.words <= said | hydration.alike(said) | animals

    def may_name(self, text: str, question: str) -> bool:
        """Whether a text that has the noun may say what it is called, in whatever way.

        >>> question = "What is my boat called?"
        >>> thing(question).may_name("I have a boat. Name of Morag", question)
        True
        """
        told = without_questions(text)
        nouns = [one for one in _WORD.findall(told) if hydration.stem(one.lower()) in self.words]
        if not nouns or _CALLED.search(told) or tells_name(told, question):
            return True
        return any(
            re.search(rf"[A-Z][\w'-]+,?(?: is| was)? (?:my|our|the|an?) (?:\w+ )?{one}\b", told) for one in nouns
        )


# What the husband of a sister and so on may be called beside.
_LIKE = {
    **dict.fromkeys(("wife", "husband"), r"\w+[- ]in[- ]law|married|missus|hubby|spouse|wedding|partner"),
    **dict.fromkeys(("girlfriend", "boyfriend"), r"partner|dating|seeing|going out|fianc\w+|wife|husband"),
}
_CALLED = lazy_compile(r"\b(?:call(?:ed|s)?|nam(?:e|ed|es|ing))\b", re.IGNORECASE)
_BREED = lazy_compile(rf"\b({'|'.join(BREEDS)})s?\b")


def thing(question: str) -> Thing | None:
    """What a question asks for by name, if it is nothing that is told in many other words, as a trip is.

    >>> thing("What is my shoe size?").said, thing("Which bank am I with?").said
    ('my shoe size', 'my bank')
    """
    plain = question.replace("\u2019", "'")
    if kin := _KINS_KIN.fullmatch(plain):
        said = f"{kin['whose']} {kin['thing']}".lower()
        return Thing(said, frozenset({hydration.stem(kin["thing"])}), kin=kin["thing"].lower())
    if counted := _MANY.fullmatch(plain):
        return Thing(f"my {counted['counted']}", hydration.question_stems(counted["counted"]))
    if not (found := _THING.fullmatch(plain) or _MINE.fullmatch(plain) or _MUCH.fullmatch(plain)):
        sized = _SIZE.fullmatch(plain)
        return Thing(f"my {sized['worn']} size", hydration.question_stems(f"{sized['worn']} size")) if sized else None
    whose, noun = found.groupdict().get("whose") or "my", found["thing"].lower()
    words = hydration.question_stems(noun)
    # Whoever speaks of an animal calls it by its name, too: "Hank won't eat, he is old for a Lab".
    named = _CALLED.search(plain) is not None and re.fullmatch(rf"(?:{PETS})s?", noun) is None
    return Thing(f"{whose} {noun}", words, named) if words else None


_NOUN = (
    rf"(?P<thing>(?!(?:next|plan|plans|problem|opinion|name|{KIN})\b)[a-z][\w-]*"
    r"(?: (?!(?:now|today|currently|at|called|being|getting|due|born|coming|leaving|starting|back)\b)[a-z][\w-]*){0,2})"
)
_THING = lazy_compile(
    r"\W*(?:[Ww]hat|[Ww]ho|[Ww]hen|[Ww]hich)(?: (?:colou?r|size|make|brand|breed))?(?: is| are|'s) (?:the name of )?"
    rf"(?P<whose>(?:my|our) (?:{KIN})'s|my|our|[A-Z][\w-]*'s) {_NOUN}(?: called| named)?{_NOW}\W*"
)
_KINS_KIN = lazy_compile(
    rf"\W*[Ww](?:hat|ho)(?: is|'s) (?:the name of )?(?P<whose>(?:my|our) (?:{KIN})'s)"
    rf" (?P<thing>wife|husband|girlfriend|boyfriend)(?: called|'s name)?{_NOW}\W*"
)
_MUCH = lazy_compile(rf"\W*[Hh]ow (?:much|high|big) (?:is|are|was) (?P<whose>my|our) {_NOUN}{_NOW}\W*")
_MANY = lazy_compile(
    r"\W*[Hh]ow many (?P<counted>[a-z][\w-]*(?: [a-z][\w-]*)?) (?:do|have) (?:I|we)(?: still)? (?:have|own|keep|got)"
    rf"{_NOW}\W*"
)
_SIZE = lazy_compile(r"\W*[Ww]hat size(?: of)? (?P<worn>[a-z]{3,}?)s? (?:do|am) I (?:wear|take)\W*")
_MINE = lazy_compile(rf"\W*(?:[Ww]hat|[Ww]hich) {_NOUN} (?:am I|are we) (?:with|at){_NOW}\W*")


def relative_words(question: str) -> frozenset[str]:
    """What a relative of the user may be called of whom a question without a name speaks.

    >>> "grandad" in relative_words("Where does my granddad live?"), relative_words("Where do I live?")
    (True, frozenset())
    """
    found = _RELATIVE.search(question.replace("’", "'"))
    return Direct(relative=found["kin"].lower()).kin if found else frozenset()


def only_of(question: str) -> frozenset[str]:
    """The stems of what somebody is to the user, if the question speaks of the user only as of theirs.

    >>> sorted(only_of("Where did my cousin Nia live in March?")), sorted(only_of("Did I live with my cousin?"))
    (['cousin'], [])
    """
    plain = question.replace("’", "'")
    theirs = _THEIRS.search(plain)
    if theirs is None or hydration.asks_about_user(plain[: theirs.start()] + plain[theirs.end() :]):
        return frozenset()
    return hydration.stems(theirs["who"])


_THEIRS = lazy_compile(
    rf"\b{_MY}(?:best |old |new |former |late |ex-?)?"
    rf"(?P<who>{KIN}|partner|friend|colleague|neighbou?r|boss|manager)\b(?!-)"
)
# What may mean another relative.
_ANY = frozenset({"family", "relative", "parent"})
_IN_TWO_WORDS = frozenset({"ah ma"})
_WORD = lazy_compile(r"[^\W_]+")
# `She lives in Berlin.`
_GOES_ON = lazy_compile(r"\W*(?:she|he|they)\b", re.IGNORECASE)
