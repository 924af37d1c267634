"""Slots: what people ask about somebody again and again, such as a home or a weight, and how messages tell it.

A message may tell it in none of the words of the question, as "89 kg this morning" tells what somebody weighs; the
latest one counts. By rules, which know English.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from mnemolog.domain import hydration
from mnemolog.domain.answers import tells, tells_age, tells_person
from mnemolog.domain.asked import AnswerKind, asks_why
from mnemolog.domain.direct_question import KIN, only_of, relative_words
from mnemolog.domain.extraction.clauses import DROPPED_G
from mnemolog.domain.extraction.rule import DRUG, form
from mnemolog.domain.extraction.times import DAY, MONTH
from mnemolog.domain.extraction.vocabulary import AGES, CARS, MODELS, MODELS_IN_SMALL, ONE_OF, PETS, RELATIONS, SOME_OF
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.predicates import dose_of
from mnemolog.domain.state import NO_EMPLOYER, NOT_YET, reported
from mnemolog.domain.text import normalize_name, without_questions


@dataclass(frozen=True, slots=True)
class Slot:
    """`asked`: forms of the question. `told`: what tells it. `words`: what to look for beside the question's words.

    `predicates`: those of facts that fill it. `figure`: the value is a number, so that of two messages the later one
    supersedes the other. `by_others`: a sentence about somebody else may tell it, as "Mia is a great boss" does. `also`:
    what else a sentence must have.
    """

    name: str
    asked: re.Pattern[str]
    told: re.Pattern[str]
    words: str
    predicates: frozenset[str] = frozenset()
    figure: bool = False
    by_others: bool = False
    also: Callable[[str], bool] = bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """A slot of the user, or of somebody whom the question names; of medication, the one that it names, and of
    pets, the sort.

    `dose`: whether it is how much of the medication. `kin`: what somebody with a name is to the user, as in "my
    colleague Marta", who may share it with a sister. `relative`: what a relative whom the question does not name may be
    called, as `mum` and `mother` are.
    """

    slot: Slot
    names: tuple[str, ...] = ()
    drug: str = ""
    dose: bool = False
    kin: str = ""
    animal: str = ""
    relative: frozenset[str] = frozenset()

    @property
    def of_other(self) -> bool:
        """Whether it is of somebody else than the user."""
        return bool(self.names or self.relative)

    @property
    def figure(self) -> bool:
        return self.slot.figure or self.dose

    @property
    def predicates(self) -> frozenset[str]:
        """Those of facts that fill it."""
        return frozenset([dose_of(self.drug)]) if self.dose else self.slot.predicates

    def by(self, speaker: str) -> "Wanted":
        """The slot in a message of this speaker, who is "I" in it."""
        others = tuple(one for one in self.names if normalize_name(one) != normalize_name(speaker))
        return replace(self, names=others)

    def told_in(self, text: str) -> bool:
        """Whether a message tells it, of whom it is asked.

        >>> wanted_slot("How much do I weigh?").told_in("89 kg this morning, at last")
        True
        >>> wanted_slot("How much do I weigh?").told_in("Tom is 89 kg")
        False
        """
        if self.relative and self.slot.name == "age":
            return self._tells_age_of_relative(text)
        if not self.of_other and reported(text):
            return False
        if self.dose and not tells(AnswerKind.NUMBER, _TIME_SPAN.sub("", text)):
            return False
        sentences = _SENTENCE.split(text[:_LONGEST])
        told = (place for place, sentence in enumerate(sentences) if self._is_told(sentence))
        return any(self.of_other or not place or self._is_own(sentences[place], sentences[place - 1]) for place in told)

    def _is_own(self, sentence: str, before: str) -> bool:
        """Not if it goes on about somebody else: `Cian's in Sydney. Working on the scaffolding`."""
        if self.slot.by_others or self.slot.figure or _WHOSE.search(sentence):
            return True
        whose = [one.lastgroup for one in _WHOSE.finditer(before)]
        return not whose or whose[-1] == "own" or (bool(self.drug) and whose[-1] == "acts")

    def _is_told(self, sentence: str) -> bool:
        sentence = _with_whole_name(DROPPED_G.sub(r"\1ing", sentence), self.drug)
        sentence = _ADVISED.sub("", sentence) if self.dose else sentence
        if _UNSETTLED.search(sentence) or not self.slot.also(sentence) or self.drug not in sentence.lower():
            return False
        animals = {RELATIONS.get(one, one) for one in _ANIMAL.findall(sentence.lower())} if self.animal else ()
        if animals and self.animal not in animals:
            return False
        if self.slot.name == "age":
            return any(_age_of(one).search(sentence) for one in self.names)
        if self.relative and not self._speaks_of_relative(sentence):
            return False
        if self.of_other and self.slot.name == "home":
            whose = "|".join(map(re.escape, self.names or self.relative))
            if re.search(rf"\b(?i:{whose}){_IS_IN}", sentence):
                return True
            sentence = re.sub(rf"\b(?:{whose})'s room\b", "", sentence)
        if self.relative:
            return self.slot.told.search(sentence) is not None
        if self.names:
            named = all(re.search(rf"\b{re.escape(one)}\b", sentence, re.I) for one in self.names)
            return named and self.slot.told.search(sentence) is not None
        return any(not of_another for of_another in _told_of_others(sentence, self.slot))

    def _tells_age_of_relative(self, text: str) -> bool:
        """Also in the sentences that go on about them: `Dad came by. He's 71`."""
        of_them = False
        for sentence in _SENTENCE.split(without_questions(text[:_LONGEST])):
            of_them = self._speaks_of_relative(sentence) or (of_them and _GOES_ON.match(sentence) is not None)
            if of_them and tells_age(sentence):
                return True
        return False

    def _speaks_of_relative(self, sentence: str) -> bool:
        words = "|".join(map(re.escape, self.relative))
        return re.search(rf"(?<!'s )(?<!\bhis )(?<!\bher )(?<!\btheir )\b(?:{words})\b", sentence, re.I) is not None


def wanted_slot(question: str) -> Wanted | None:
    """The slot that a question asks for, if it is one.

    >>> wanted_slot("Where does Lena live?").slot.name, wanted_slot("Who lives in Leeds?")
    ('home', None)
    """
    slot = None if asks_why(question) else next((one for one in SLOTS if one.asked.search(question)), None)
    names = tuple(one for one in hydration.capitalised_names(question) if f" at {one}" not in question)
    if slot and slot.name in _OF_RELATIVES and not names:
        pet = _AN_ANIMAL.search(question) if slot.name == "age" else None
        if relative := frozenset({pet[1].lower()}) if pet else relative_words(question):
            return Wanted(slot, relative=relative)
    if slot is None or not (names or only_of(question) <= hydration.stems(slot.words)):
        return None
    if not names and (slot.name in _OF_SOMEBODY or _OF_OTHERS.search(question)):
        return None
    if names and slot.name != "partner" and _OF_THEIR_KIN.search(question):
        return None
    drug = form("{DRUG}").search(question) if slot.name == "medication" else None
    dose = drug is not None and _ASKS_DOSE.search(question) is not None
    kin = _NAMED_KIN.search(question) if names else None
    pet = _AN_ANIMAL.search(question) if slot.name == "pet" else None
    animal = RELATIONS.get(pet[1].lower(), pet[1].lower()) if pet else ""
    of_drug = drug[0].lower() if drug else ""
    return Wanted(slot, names, drug=of_drug, dose=dose, kin=kin[1] if kin else "", animal=animal)


def _with_whole_name(sentence: str, drug: str) -> str:
    """With the name of a medication in place of its first letters, by which it may be called: `levo`."""
    for word in re.findall(rf"[a-z]{{{_SHORTEST},}}", sentence.lower()) if drug else ():
        if drug.startswith(word) and word != drug:
            return re.sub(rf"\b{word}\b", drug, sentence, flags=re.IGNORECASE)
    return sentence


def _age_of(name: str) -> re.Pattern[str]:
    """What tells the age of somebody with this name."""
    return re.compile(
        rf"\b{re.escape(name)}(?:(?:'s|,? who(?:'s| is)|,| is| has| just| now| already| only| turned| turns| turning)+ | \()(?:(?:aged? )?\d{{1,3}}|{'|'.join(AGES)})\b"
        r"(?! (?:minutes?|hours?|days?|miles|foot|feet|pages|times|of|percent|stone)\b)",
        re.IGNORECASE,
    )


def _told_of_others(sentence: str, slot: Slot) -> Iterator[bool]:
    """Of each place that tells it, whether somebody else was named last before: `Tom is 89 kg`, `89 kg for Tom`."""
    whose = _WHOSE.finditer(sentence)
    following, before = next(whose, None), list[re.Match[str]]()
    for told in slot.told.finditer(sentence):
        while following and following.end() <= told.start():
            if not (slot.by_others and following.lastgroup == "acts"):
                # Others count from near by only: "Ana's boss is Mia", but not "Ana's son is my boss".
                before = [*(one for one in before if one.lastgroup == "own" != following.lastgroup), following]
            following = next(whose, None)
        near = [one for one in before if one.lastgroup == "own" or told.start() - one.end() <= _BESIDE]
        if named := near if slot.by_others else before:
            yield named[-1].lastgroup != "own"
        else:
            yield slot.figure and _FOR_ANOTHER.match(sentence, told.end()) is not None


def _tells_boss(sentence: str) -> bool:
    """Whoever writes in small letters names people in them, too, but not where the boss only does something."""
    small = sentence == sentence.lower() and _BOSS_DOES.search(sentence) is None
    return small or (tells_person(sentence) and sentence != sentence.lower())


def _tells_partner(sentence: str) -> bool:
    return _TIE_OF_OTHERS.search(sentence) is None and (tells_person(sentence) or _PARTED.search(sentence) is not None)


def _tells_home(sentence: str) -> bool:
    to_come = _TO_BE_NEW.search(sentence) is not None
    return not to_come and any(one.search(sentence) for one in (_AT_A_PLACE, _IS_OURS, _HOME_IS))


_BOSS_DOES = lazy_compile(
    r"\b(?:boss|manager|supervisor)(?:'s|s)?(?: is| has| was| just| keeps| won't)* (?:(?!(?:called|named)\b)\w+(?:ing|ed)|off|away|out|ill|sick|on|at|in|so|such"
    r"|being|an?|the|not|really|very|late|back|mad|angry|says|said|wants|gave|told|knows)\b"
)
_OF_SOMEBODY = ("age", "death")
"""Slots of somebody who is named."""
_OF_RELATIVES = ("home", *_OF_SOMEBODY)
"""Slots that may be of a relative whom the question does not name."""
# Where somebody is, unless only for some days.
_IS_IN = (
    r"(?:'s| is)(?: (?:now|still|back|over|away|living|based))* in (?!(?:Hospital|A&E)\b)[A-Z]"
    r"(?!.*\b(?:for (?:the|an?|two|three|this)|until|till|today|tonight|this week(?:end)?|hospital|ward)\b)"
)
_ASKS_DOSE = lazy_compile(r"\bhow (?:much|many)\b|\bdos(?:e|age)\b", re.IGNORECASE)
_TIME_SPAN = lazy_compile(r"\b[\w:]+ ?(?:hours?|days?|weeks?|months?|years?|[ap]m|o'clock)\b", re.IGNORECASE)
# What a doctor wants one to take is what one takes.
_ADVISED = lazy_compile(r"\b(?:he|she|they|doctor|doc|gp|nurse|[A-Z]\w+) wants? (?:to|me)\b", re.IGNORECASE)
_SHORTEST = 4
_BESIDE = 8
_LONGEST = 4_000  # Characters of a message that are looked at.
_OF_OTHERS = lazy_compile(r"\b(?:he|she|they|his|her|their|him|them|you|your)\b", re.IGNORECASE)
_OF_THEIR_KIN = lazy_compile(rf"\b[A-Z][\w-]*'s (?:[a-z]+ )?(?:{KIN})\b(?!-)")
_SENTENCE = lazy_compile(r"(?<=[.!?;])\s+|\n+")
_GOES_ON = lazy_compile(r"\W*(?:she|he|they)\b", re.IGNORECASE)
_NAMED_KIN = lazy_compile(r"\b(?:[Mm]y|[Oo]ur) (?:[a-z]+ )?([a-z]{3,}) (?=[A-Z])")
_RELATIVE = f"(?:{ONE_OF}|{SOME_OF}|{PETS}|mate|kids?|son|parents?|ex)"
_NO_NAME = r"(?i:it|that|this|here|there|what|where|how|who|let|the|a|an|and|but|so|then|today|now|my|our)"
_IS = r"(?:'s|'ve|'ll|'d)? (?:\w+ly )?(?:is|are|was|were|has|have|had|got|gets|lives?|lived|works?|can|can't|cannot|cant|moved|moves|drives?|takes|will|wants|says|said|passed)\b"
_WHOSE = lazy_compile(
    r"\b(?P<own>(?i:i|i'm|i've|i'd|i'll|im|ive|we|we're|we've|we'll|me|us)\b"
    rf"|(?i:my|our)\b(?! (?:\w+ )?{_RELATIVE}\b))"
    rf"|\b(?P<other>(?i:he|she|they|his|her|their|he's|she's|they're|hes|shes)\b|(?<!with )(?i:my|our) (?:\w+ )?{_RELATIVE}\b"
    r"|(?i:an?|the|that) \w+ (?:who|that)\b"
    rf"|(?!{_NO_NAME}\b)[A-Z][\w-]+(?='s (?!my |our |the |an? ))|(?<![\w.,;] )(?<![\w'-])(?!{_NO_NAME}\b)[a-z]{{3,}}(?={_IS}|'s \w))"
    rf"|\b(?P<acts>(?!{_NO_NAME}\b)[A-Z][\w-]+(?={_IS})|(?!(?:{_NO_NAME}|(?i:just|\w+ly|yesterday|already|also|never|last|first|only))\b)[A-Z][\w-]+(?= (?:took(?! me\b)|got|starts?|started|joins?|joined|goes|went|found)\b))|^(?P<both>[A-Z][\w-]+ and (?!I\b)[A-Z])"
)
_FOR_ANOTHER = lazy_compile(r"\s*(?:for|of) (?!me\b|us\b)(?:[A-Z]\w+|my \w+)")
_DWELLING = (
    r"(?:flat|house|(?:my|our|new|own|a|'s) (?:place|room)|apartment|studio|sublet|cottage|bedsit|bungalow|farmhouse|condo|annexe|houseboat"
    r"|(?:\d|one|two|three|four)[- ]?(?:bed|room)(?:room|ed)?|houseshare|lodgings)"
)
# Not what is so: only looked at, wished for or offered.
_UNSETTLED = lazy_compile(
    r"\?|\b(?:if|maybe|offer\w*|viewing|viewed|didn't get|on the market|sell(?:ing)?|sold|buying|buyer|too (?:big|small)|might|could|should|would|wants? (?:to|me|us)|wanted|wish|hop(?:e|es|ing)|hopefully|dream\w*|look(?:ed|ing) (?:at|for|to|round)"
    r"|thinking (?:of|about|we)|consider\w*|visit\w*|holiday|hotel|airbnb|used to|ago|back in \d{4}|as a (?:child|kid|girl|boy)"
    rf"|(?:went|going|gone|go|came) to (?:see|view|look at) (?:an?|the|another|some) (?:[\w-]+ ){{0,2}}?{_DWELLING}|(?<=[Ss]aw) an? (?:[\w-]+ ){{0,2}}?{_DWELLING}"
    r"|when i was|need to find|until we find|last night in|interview\w*|applied|applying)\b",
    re.IGNORECASE,
)
_TO_BE_NEW = lazy_compile(rf"\bnew {_DWELLING}\b(?!{NOT_YET})", re.IGNORECASE)
# "Hove came through" is a home; a visa and an offer come through, too.
_CAME_THROUGH = (
    r"(?<!\S)(?-i:(?!(?:The|My|Our|It|He|She|They|That|This|Visa|Results?|Papers?|Passport|Offer|Loan|Money)\b)"
    r"[A-Z][\w'-]+) came through\b"
)
_IS_OURS = lazy_compile(
    rf"{_CAME_THROUGH}|\b(?:is|are) (?:finally )?(?:mine|ours)\b|\bgot the keys to\b", re.IGNORECASE
)
_HOME_IS = lazy_compile(r"\b[Hh]ome(?:'s| is| will be) (?:now |going to be )?[A-Z]")
_PARTED = lazy_compile(r"\b(?:dumped|left me|broke up|split up|divorced|called it quits|single)\b", re.IGNORECASE)
# "Hana is dating a vet", "my cousin Nuno gets married".
_TIE_OF_OTHERS = lazy_compile(
    rf"(?:\b(?i:my|our) (?!(?i:girlfriend|boyfriend|partner|husband|wife)\b)(?:\w+ )?{_RELATIVE}\b(?: [A-Z][\w-]+)?|\b(?!We\b)[A-Z][\w-]+)"
    r"(?:(?:'s| is| has| got| gets)(?: (?:just|now|finally|getting|been|got))* (?:married|engaged|dating|seeing|divorc\w+)| (?:split|broke) up)\b"
    r"(?!.*\b(?:me|us|I)\b)"
)
# What says that a figure is a rent; "900 a month" may be for anything, unless a sentence says nothing but that of it.
_OF_A_HOME = lazy_compile(
    rf"\b(?:rent\w*|landl\w+|{_DWELLING}|leases?|signed|tenan\w+|deposit|pcm|rooms?|share|between us)\b"
    r"|\b(?:pay|paying|charges|wants|(?:give|giving) (?:him|her|them))(?: (?:about|around|only|just))? [£$€]?\d"
    r"|^\W*(?:(?:so|and|but|now|still|only)\W+)*(?:(?:it|that|mine|ours)\b|[£$€]?\d)",
    re.IGNORECASE,
)
_ALLERGIC = lazy_compile(r"\ballerg|\b(?:rash|hives)\b|\b(?:mustn't|must not) (?:have|take)\b", re.IGNORECASE)
_IN_JEST = form(r"\ballergic to (?:(?:my|the|all) )?{NO_FOOD}\b")
_ANIMALS = f"(?:{PETS}|puppies|kittens|bunny|gerbil|canary|donkeys?|hens?|chickens|gecko|lizard)"
_AN_ANIMAL = lazy_compile(rf"\b(?:an?|my|our) ({PETS})\b", re.IGNORECASE)
_ANIMAL = lazy_compile(rf"\b({PETS})s?\b")
_MONEY = r"[£$€]?\d{1,3}(?:[,.]?\d{3}){0,3}(?:\.\d\d)?(?:k| thousand| grand)?"
_IN_WORDS = r"(?:ten|eleven|twelve|\w{3,5}teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[- ]\w+)?)"
_MONTHLY = r"[£$€]?(?:\d{3,4}|\d{1,2}[,.]\d{3})\b"
_AT_A_PLACE = lazy_compile(
    rf"\b(?:in|at|into|(?<!need )(?<!needs )(?<!have )(?<!had )(?<!has )(?<!want )(?<!got )(?<!going )(?<!like )to|on|near) (?:(?:the|a|an|my|our|this) )?(?!(?i:the|an?|my|our|this|(?:[a-z-]+ )?{_DWELLING}|{DAY}s?|{MONTH})\b|\d)[\w'-]+"
)


def _slot(
    name: str, asked: str, told: str, words: str, predicates: str = "", **how: bool | Callable[[str], bool]
) -> Slot:
    return Slot(name, lazy_compile(asked, re.IGNORECASE), form(told), words, frozenset(predicates.split()), **how)  # type: ignore[arg-type]


SLOTS = (
    _slot(
        "home",
        r"\b(?:where|(?:which|what) (?:city|town|village|suburb|neighbou?rhood|district|area|part of))\b.*\b(?:liv(?:e|es|ing)|stay|staying|based)\b(?! with\b)|\bmy (?:home|address)\b|\bwhat(?:'s| is) \w+'s address"
        r"|\b(?:since when|how long|when did)\b.*\b(?:liv(?:e|ed|ing)|mov(?:e|ed))\b",
        r"\b(?:liv(?:e|es|ing)|stay(?:s|ing)?|rent(?:s|ing)?|settled|(?:i'm|im|am|we're|are) (?:now )?based|crashing|lodg\w+) (?:\w+ ){0,3}?(?:in|at|with|on|near)\b"
        r"|\b(?:moved?|moving|relocated) (?:(?:back|out|over|down|up|across) )?(?:to|into|in)\b"
        rf"|\b{_DWELLING}\b|\b(?:first|second) (?:night|morning|week|weekend) in\b|\b(?:boxes|unpack\w+|keys|my stuff|tenancy|lease)\b"
        rf"|\bthat'?s (?:us|me) in\b|{_CAME_THROUGH}|\bhome(?:'s| is| will be)\b",
        "moved moving flat house place rent renting staying stuff boxes keys landlord landlady room night",
        "lives_in",
        also=_tells_home,
    ),
    _slot(
        "trip",
        r"\b(?:trips?|holidays?|vacations?)\b.*\b(?:coming up|planned|booked)\b|\b(?:next|upcoming) (?:trip|holiday|vacation|journey)"
        r"|\bgoing on (?:holiday|vacation)\b",
        r"\b(?:booked(?! (?:the|an?) (?:table|appointment|session))|fly(?:ing)?|flights?|trip|holiday|vacation|cruise|getaway|camping|city break|off to|tickets to"
        r"|(?:going|go|travell?ing|driving|drive|heading) (?:back )?to (?-i:[A-Z])|(?:christmas|easter|new year|weekend|week) in)\b",
        "trip booked flight flying holiday travel cruise tickets",
        "next_trip trip_to",
    ),
    _slot(
        "employer",
        r"\bwho\b.*\bwork(?:s|ing)? for\b|\b(?:where|since when|how long)\b.*\bwork(?:s|ed|ing)?\b|\bsince when (?:am|are|is) .* at\b|\b(?:employer|company)\b",
        rf"\b(?:work(?:s|ing|ed)?|i work (?:[\w']+ ){{1,8}}?) ?(?:at|for|with)\b{NO_EMPLOYER}"
        r"|\b(?:start(?:s|ed|ing)?|join(?:s|ed|ing)|sign(?:ed|ing) (?:on|up)|employed|hired|transferr\w+) (?:\w+ )?(?:at|with|by)\b"
        r"|\bon (?:nights|days|earlies|lates) at\b|\b(?:job|contract|post|position|role|shifts?|(?<!\b[Mm]y )(?<!\b[Oo]ur )(?<!(?<!\bam )(?<!'m )\b[Tt]he )(?!(?:[Mm]y|[Oo]ur) ){OCCUPATION}|apprentice\w*|trainee\w*|intern(?:ship)?|first (?:day|week|month|shift)) (?:at|with|for|in)\b|\bjoined (?:\w+ ){1,3}as\b|\bhired (?:me|us)\b|\b(?:took|taken) (?:me|us) on\b|\b(?:driv|teach|cook|nurs)(?:e|es|ing) (?:\w+ ){1,2}(?:for|at)\b",
        "work started joined job hired employed contract company",
        "works_at",
    ),
    _slot(
        "occupation",
        r"\bwhat\b.*\b(?:job|profession|occupation|job title|for work|for a living)\b|\bwhat (?:do|does) \w+ do\W*$"
        r"|\bdo (?:i|we) (?:still )?have (?:a|any) (?:job|work)\b|\bam i (?:still )?(?:working|employed|unemployed|out of work)(?: now| at the moment)?\W*$",
        r"(?<!\bto )(?<!\bwith )(?<!\bfrom )(?<!\bby )(?<!\bsee )\b(?:an?|as|am|i'm|im) {OCCUPATION}|\b(?:work(?:s|ing|ed)? as|i work (?:[\w']+ ){0,8}?at|promoted|job|retrain\w+|apprentice\w*|acting|act up|team lead\w*|in charge|retired|retiring"
        r"|laid off|redundan\w+|let me go|finish(?:ed|ing)? up|last (?:day|shift) (?:at|in)|unemployed|self-employed|freelanc\w+|start(?:ed|s|ing) (?:\w+ ){0,2}?(?:as|with|at|for)|got on)\b",
        "job work promoted started lead career retired freelance",
        "job_title works_at",
    ),
    _slot(
        "weight",
        r"\bweigh|\bhow heavy\b",
        r"\b\d+(?:[.,]\d+)? ?(?:kgs?|kilos?|kilograms?|lbs?|stone)\b|\b(?:[5-9]|1\d|2[02-9]) ?st\b(?! (?-i:[A-Z]))|\b\d{2,3}(?:[.,]\d)?(?= [^.!?]*\bon (?:a|the|my|our) (?:\w+ )?scales?\b(?! of))"
        r"|\bscales? (?:says?|said|shows?|reads?) \d{2,3}\b",
        "kg kilo kilos stone lbs weigh weighing scales",
        "weight",
        figure=True,
    ),
    _slot(
        "pay",
        r"\b(?:earn\w*|salary|wages?|income|paid)\b|\b(?:my|our|'s) (?:\w+ ){0,2}pay\b|\bdo i make\b|\bpay (?:me|us)\b",
        rf"\b(?:salary|wages?|pay(?: goes| went| is| rise|'s)|earn(?:s|ing)?|income|raise|day rate|pays(?: me)?|(?:i'm|im) on(?= (?:about |around |now )?(?:[£$€]|\d))|(?:i'm|im) on(?=[^.;!?]{{0,40}}?(?:[£$€]\d|\d(?:k| grand| thousand)\b)))\b[^.;!?]{{0,40}}?{_MONEY}"
        rf"(?! ?(?:mg|kg|%))|\b(?:i|we)(?: now)? make {_MONEY}|{_MONEY} ?/ ?(?:hr|hour|h)\b|{_MONEY}(?: \w+)? (?:an hour|per hour|a year|per year|before tax|gross|to start)\b"
        rf"|\b{_IN_WORDS}(?: and \w+(?: \w+)?| {_IN_WORDS})? (?:dollars |pounds |euros )?an hour\b|\bpa(?:y|ys|id|ying) (?:me|us) {_IN_WORDS}\b"
        r"|\b(?:job|post|position|role|offer(?:ed)?|promoted)\b[^.;!?]{0,60}?\d\d(?:,\d{3}| thousand| grand)\b|\bat (?:the )?[A-Z][\w-]+\b[^.;!?]{0,60}?\d\d (?:thousand|grand)\b",
        "salary wage pay paid earn raise hour gross promoted",
        "salary",
        figure=True,
    ),
    _slot(
        "rent",
        r"\brent\b|\bpay\b.*\b(?:flat|room|house|roof|place|month)\b",
        rf"\b(?:rent\w*|landl\w+|{_DWELLING})\b[^;!?]{{0,60}}?(?<![\d,.-]){_MONTHLY}(?!,\d)|{_MONTHLY}(?: \w+)? (?:a|per|each|every|/) ?month\b|{_MONTHLY} (?:a|per|each|every) week\b|{_MONTHLY} (?:each|pcm|all in)\b"
        rf"|\b(?:(?:he|she|they) (?:\w+ )?(?:charges?|wants?)|giving (?:him|her|them)) (?:\w+ )?{_MONTHLY}",
        "rent month landlord landlady bills pcm",
        "rent",
        figure=True,
        by_others=True,
        also=lambda sentence: _OF_A_HOME.search(sentence) is not None,
    ),
    _slot(
        "car",
        r"\b(?:car|vehicle)\b|\bwhat (?:do|does|am|is) \w+ driv|\b(?:do|can) i (?:still )?drive\W*$|\b(?:what|which) (?:truck|van|pickup) do",
        rf"(?-i:\b(?:{CARS}|{MODELS})\b)|\b(?:{CARS}|{MODELS_IN_SMALL})\b|(?<!\bin )\b(?:my|our|the|a|new|old|second-hand) (?:car(?! park| boot| seat)|van|motor|hatchback|automatic|estate|pickup|truck|minivan)\b",
        "car van drive drives driving bought",
        "drives",
    ),
    _slot(
        "boss",
        r"\b(?:who(?:'s| is)|what(?:'s| is)).*\b(?:boss|manager|supervisor|team lead(?:er)?)\b|\breport to\b",
        r"\b(?:boss|(?:line )?manager|supervisor|head of|(?:report|answer)(?:s|ing)? to|runs? (?:things|(?:the|our) (?:\w+ )?(?:group|team|department|place|shop))"
        r"|(?:takes?|took|taking) over|(?<!me )(?<!i'm )(?<!as )(?<!am )team lead(?:er)?)\b",
        "boss manager supervisor report head team",
        "boss manager supervisor",
        by_others=True,
        also=_tells_boss,
    ),
    _slot(
        "partner",
        r"\bwho\b.*\b(?:partner|girlfriend|boyfriend|husband|wife|seeing|dating|married to|together with)\b|\b(?:do|am) i\b.*\b(?:partner|girlfriend|boyfriend|single|seeing|dating)\b",
        r"\b(?:girlfriend|boyfriend|(?:my|our|new|a) partner|husband|wife|hubby|missus|fianc\w+|married|engaged|dating|seeing|going out|broke up|split up|dumped|left me|called it quits|(?:are|we're|is) (?:over|finished|done)\b"
        r"|separat\w+|divorc\w+|official|an? (?:couple|item)|met (?:someone|somebody)|(?:first|second|third) date)\b",
        "girlfriend boyfriend partner husband wife dating seeing married met date official",
        "partner_of married_to engaged_to",
        by_others=True,
        also=_tells_partner,
    ),
    _slot(
        "age",
        r"\bhow old (?:is|are)\b|\bwhat age is\b|\b's age\b",
        r"\b(?:\d{1,3}|turned|turns)\b",
        "turned turns years old age birthday",
        "age",
        figure=True,
    ),
    _slot(
        "death",
        r"\bwhen did\b.*\b(?:die|pass(?! (?:the|an?|my|our|his|her|their)\b))\b|\b(?:is|are|was) .*\balive\W*$|\bis \w+(?: \w+)? dead\b",
        r"\b(?:died|dead|passed(?: away| on)?(?! (?:the|my|his|her|out|by|it|with)\b)|lost|no longer with us|slipped away|did(?:n't| not) make it)\b"
        r"|(?:'s| is) gone(?=[.,!;]|\W*$)",
        "died passed away lost gone funeral death",
        "died",
    ),
    _slot(
        "phone",
        r"\b(?:what|which)\b.*\b(?:phone|mobile)\b.*\b(?:i|we) (?:now )?(?:use|have|own|got|using)\b",
        r"\b(?:iphone|pixel|galaxy|samsung|fairphone|oneplus|xiaomi|motorola|nokia)\b(?! (?:watch|buds|tablet|tab|tv|charger|case)\b)",
        "iphone pixel galaxy samsung phone mobile",
    ),
    _slot(
        "phone number",
        # Not which telephone it is.
        r"^(?!.*\b(?:using|use|own|have|got|bought)\b).*\b(?:phone|mobile|cell|telephone)\b|\b(?:phone|mobile|cell|telephone|my) number\b",
        r"\b(?:number|phone|mobile|cell)\b[^;!?]{0,60}?\d{3}",
        "number phone mobile sim",
        "phone_number",
        figure=True,
    ),
    _slot(
        "pet",
        rf"\b(?:pets?|animals?)\b|\b(?:do i (?:still )?have|have i got) (?:an?|my|our|the) {_ANIMALS}\b",
        rf"\b(?:an?|my|our|the|two|three|new|old|little|baby|rescue) (?:\w+ )?{_ANIMALS}\b|\b{_ANIMALS}(?:'s| is)? (?:called|named)\b|\bput to sleep\b|\bre-?homed?\b|\bfound (?!me\b|us\b|the\b|a\b)\w+ an?(?: \w+)? home\b|\b(?:gave|given|give) (?!(?:it|them|me|us|my|the|an?|up)\b)\w+ (?:up|away|to (?:my|our) \w+)\b|^\W*rip\b[\w ]{{0,20}}\W*$",
        "dog cat puppy kitten rabbit hamster budgie horse parrot pet vet",
        "dog cat",
    ),
    _slot(
        "allergy",
        # Not what is taken for it.
        r"^(?!.*\b(?:medic\w+|drugs?|tablets?|pills?|spray|dose|what)\b.*\b(?:use|using|take|taking|for (?:my|the))\b).*\b(?:allerg\w+|intoleran\w+)\b|\b(?:can't|cannot|can \w+ not|mustn't|shouldn't) \w* ?eat\b",
        r"\b(?:allerg\w+|intoleran\w+|epipen(?= (?:for|because)\b)|anaphyla\w+|(?:can't|cannot|must not|mustn't) (?:have|eat|drink|touch)|coeliac|celiac)\b",
        "allergy allergic intolerant intolerance epipen reaction",
        "allergy allergic_to intolerance",
        also=lambda sentence: _IN_JEST.search(sentence) is None,
    ),
    _slot(
        "medication",
        rf"\b(?:medication|medicines?|meds|tablets?|pills?|drugs?|prescri\w+)\b|\b(?:take|taking|on|dose of|my|much) {DRUG}",
        r"\b{DRUG}|\b(?:tablets?|pills?|capsules|inhaler|injections?|antibiotics|painkillers|statins?|ointment)\b|\bprescri\w+|\bput me on\b|\d ?mg\b",
        "tablets pills mg medication prescribed doctor dose",
        "medication",
        also=lambda sentence: _ALLERGIC.search(sentence) is None,
    ),
)
DEATH = next(one for one in SLOTS if one.name == "death")
