"""A rule: the form of a clause, and what a clause of this form says.

A rule matches a clause from its start, so that a sentence which merely contains the words of a rule says nothing. In a
form, `{I}` is the author with an auxiliary, `{WHO}` somebody in the author's life, `{NAME}` a name in capitals, and
`{END}` the end of what is named.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from mnemolog.domain.extraction.candidate import Candidate
from mnemolog.domain.extraction.times import DAY, MONTH, Dated
from mnemolog.domain.extraction.vocabulary import (
    AGES,
    AILMENTS,
    BANKS,
    CARS,
    DIETS,
    KIN_TOGETHER,
    LANGUAGES,
    MODELS,
    OCCUPATIONS,
    ONE_OF,
    PARENTS,
    PETS,
    ROLE_WORDS,
    SOME_OF,
)
from mnemolog.domain.lazy_regex import lazy_compile


@dataclass(frozen=True, slots=True)
class Said:
    """A clause that matched a rule, and the time of its message."""

    match: re.Match[str]
    clause: Dated
    at: datetime

    @property
    def name(self) -> str:
        return self.named("name") or ""

    def named(self, group: str) -> str | None:
        """The name in a group, without what clings to it; None if there is none."""
        found = self.match.groupdict().get(group)
        if not found:
            return None
        clings = r"[.'&-]+$" if group == "name" else r"'s$|[.'&-]+$"  # One may work at Dan's.
        return re.sub(r"^(Dr|Prof|Mrs?|Ms)\. ", r"\1 ", re.sub(clings, "", found)).strip()

    @property
    def values(self) -> Sequence[str]:
        """The value, or several that are enumerated."""
        first, *others = re.split(r",? and |, | or ", self.match["value"])
        parts = (first, *(one for one in others if not _REMARK.match(one)))
        plain = (_BEHIND.sub("", _COMMENT.sub("", part)).strip(" .'") for part in parts)
        return tuple(dict.fromkeys(one for one in plain if one))

    @property
    def by_the_clock(self) -> bool:
        """Whether a time of day is said: who left at 5 pm went home."""
        return _CLOCK.search(self.match.string) is not None

    @property
    def for_a_time(self) -> bool:
        """Whether the clause says that it is only for a time: who moves in for the winter keeps a home."""
        text = self.match.string
        return _FOR_A_TIME.search(text) is not None or (self.clause.brief and re.search("mov", text, re.I) is not None)

    @property
    def course(self) -> datetime | None:
        """When it is over that was begun for so long: "they put me on prednisone for two weeks"."""
        clause = self.clause
        begun = clause.brief and clause.counted and clause.since and not _LASTED.search(self.match.string)
        return self.at + (self.at - clause.since) if begun and clause.since else None

    @property
    def on_an_occasion(self) -> bool:
        """Whether it is on some day or for something: who goes out with somebody for a curry is not their partner."""
        text, clause = self.match.string, self.clause
        lasting = _LASTING.search(text) is not None or clause.onward
        dated = clause.since is not None or clause.span != ""
        return not lasting and (dated or _OCCASION.search(text) is not None)

    @property
    def changes(self) -> bool:
        """Whether the clause says that this is new."""
        return _NEW.search(self.match.string) is not None


Make = Callable[[Said], Sequence[Candidate]]


@dataclass(frozen=True, slots=True)
class Rule:
    """`hints`: one of these is in each clause of this form, in lower case. `name`: by its first hint."""

    hints: tuple[str, ...]
    text: str
    make: Make
    name: str = ""

    @property
    def form(self) -> re.Pattern[str]:
        """What a clause with one of the hints is matched against."""
        return form(self.text)


def rule(hints: str, text: str, make: Make) -> Rule:
    return Rule(tuple(hints.split("|")), text, make)


def named(*rules: Rule) -> tuple[Rule, ...]:
    """Rules with names, such as `moved-2`: the second of those whose first hint is `moved`."""
    seen = Counter[str]()
    found = list[Rule]()
    for one in rules:
        hint = "-".join(re.findall(r"\w+", one.hints[0]))
        seen[hint] += 1
        found.append(replace(one, name=f"{hint}-{seen[hint]}"))
    return tuple(found)


@cache
def form(text: str) -> re.Pattern[str]:
    """A form with its fragments, in whatever case."""
    for name, fragment in _FRAGMENTS.items():
        text = text.replace(f"{{{name}}}", fragment)
    return lazy_compile(text, re.IGNORECASE)


# What somebody adds to what they say is not part of it: "peanuts, badly".
_ADVERB = r"(?!(?:jelly|lily|holly|family|\w*fly)\b)\w{3,}ly"
_COMMENT = lazy_compile(
    rf"^(?:(?:and|also|{_ADVERB}|maybe)[, ]+)*"
    rf"(?:(?:though|tho|{_ADVERB}|however|too|very much|a lot|as well|of course|you know|i think|i guess|by the way|btw|fyi"
    r"|please|thanks|thank you|ugh|alas|sorry|again|now|these days|enough)[, ]*)*$"
    rf"|^(?:{_ADVERB}|also) ",
    re.IGNORECASE,
)
_BEHIND = lazy_compile(rf"(?<=\w) (?:{_ADVERB}|too|as well|though|tho)$", re.IGNORECASE)
# Behind a value: "penicillin, like properly".
_REMARK = lazy_compile(
    r"(?:like|as|no|not|very|really|so|such|same|always|ever|never|even|unlike|big (?:time|problem|deal)|full (?:on|stop)|mum|mom|dad"
    r"|i|we|he|she|they|you|it|that|this|my|his|her|our|their|who|what)\b",
    re.IGNORECASE,
)
_NEW = lazy_compile(r"\b(?:now|these days|again|instead|new|since|started)\b", re.IGNORECASE)
_FOR_A_TIME = lazy_compile(
    r"\bfor (?:the|a few|some|a couple of) (?:night|week|weekend|month|summer|winter|autumn|fall|spring|holidays?|day)s?\b"
    rf"|\bfor (?:a (?:while|bit|visit)|Halloween|Christmas|Easter|Lent|Ramadan|Veganuary|(?:{MONTH})(?! the)|the time being)\b|\b(?:temporarily|until (?:I|we|he|she|they))\b"
    r"|\bfor (?:an?|the|some|more|his|her|their|my|our) (?:\w+ )?(?:scans?|operation|op|surgery|tests?|x-?rays?|treatment|assessment|check-?up)\b|\bfor (?:an? |some )?(?:respite|rehab)\b",
    re.IGNORECASE,
)
_LASTED = lazy_compile(r"\b(?:been|taken|taking|had)\b", re.IGNORECASE)
_LASTING = lazy_compile(r"\b(?:started|begun|began|been|now|dating)\b", re.IGNORECASE)
_OCCASION = lazy_compile(r"\b(?:about|after|for|(?:and|&) the|at the)\b", re.IGNORECASE)
_CLOCK = lazy_compile(
    r"\b(?:at|around|about|by|before|after|past) (?:(?:half past|quarter (?:past|to)) )?"
    r"(?:noon|midnight|lunch(?:time)?|\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\b| o'clock|(?=$|[,.!]| (?:today|tonight|sharp)\b))"
    r"|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: o'clock|ish)?(?=$|[,.!]| (?:today|tonight|sharp|to|and|so|because)\b))",
    re.IGNORECASE,
)
_ADVERBS = "just|now|finally|recently|also|both|already|currently|actually|really|officially|since|still"
_NOT_A_NAME = (
    "I|I'm|I've|The|My|Our|A|An|This|That|It|He|She|They|We|You|God|Christmas|Easter|Halloween|Monday|Tuesday|Wednesday"
    "|Thursday|Friday|Saturday|Sunday|January|February|March|April|May|June|July|August|September|October|November"
    "|December|Earth|English|TV|PM|AM|OK|Dr|Mr|Mrs|Ms|What|Where|Who|When|How|Here|There|Let"
)
# One moves to, joins and leaves these without a home or a job.
_NO_PLACE = (
    r"Plan|Team|Year|Juniors|Seniors|Reception|Chapter|Part|Section|Level|Phase|Step|Page|Room|Ward (?:\d+|[A-Z])|(?:Bay|Bed|Unit) \d+|ICU|ITU|HDU|A&E|Nights|Days|Earlies|Lates|Settings|Accounting|Marketing|Sales|Engineering|Finance|HR|IT"
    "|Support|Linux|Windows|Mac|MacOS|macOS|iOS|Android|Ubuntu|Kubernetes|Docker|AWS|GCP|Azure|Python|Java|JavaScript"
    "|TypeScript|Rust|Postgres|PostgreSQL|MySQL|MongoDB|Redis|Kafka|React|Vue|Django|Chrome|Firefox|Safari|Slack|Discord"
    "|Teams|Zoom|WhatsApp|Telegram|Signal|Twitter|X|Facebook|Instagram|TikTok|Reddit|LinkedIn|Mastodon|Bluesky|Snapchat"
    "|Tinder|Netflix|Spotify|YouTube|GitHub|GitLab|Jira|Notion|Excel|Word|Gmail|Outlook"
)
# Whose customer or employee one becomes who moves to them.
_NO_HOME = f"Vodafone|EE|O2|Giffgaff|BT|Sky|Verizon|T-Mobile|Comcast|EDF|British Gas|Octopus(?: Energy)?|{BANKS}"
_NO_PERSON = (
    "Pregnant|American|British|Scottish|Irish|Welsh|German|French|Italian|Spanish|Portuguese|Dutch|Belgian|Swiss|Austrian"
    "|Polish|Czech|Slovak|Hungarian|Romanian|Bulgarian|Greek|Turkish|Ukrainian|Russian|Danish|Swedish|Norwegian|Finnish"
    "|Estonian|Latvian|Lithuanian|Serbian|Croatian|Chinese|Japanese|Korean|Vietnamese|Thai|Indian|Pakistani|Iranian"
    "|Persian|Arab|Egyptian|Moroccan|Nigerian|Kenyan|Brazilian|Argentinian|Mexican|Colombian|Canadian|Australian|Catholic"
    "|Muslim|Jewish|Buddhist|Hindu|Vegan|Vegetarian"
)
# What a title, a team or a place begins with, and what a title or a membership ends with.
_NO_FIRST_NAME = (
    f"{_NO_PERSON}|Head|Team|Senior|Junior|Chief|Vice|Lead|Deputy|Assistant|Associate|Executive|Managing|Regional|National|General|Staff"
    "|Principal|Prime|Gold|Silver|Bronze|Platinum|Diamond|Premium|Level|Class|Grade|Group|Roman|South|North|East|West|Southern"
    "|Northern|Eastern|Western|New|Great|San|Santa|Los|Las|Star|Black|White|Blue|Green|Red|Royal|United|First|Second|Full|Employee"
    "|Player|Number|Project|Product|Sales|Account|Data|Software|Human|Public|Old|Real|Happy|Good|Super"
)
_NO_LAST_NAME = (
    "Lead|Leader|President|Officer|Director|Manager|Head|Chief|Member|Captain|Champion|Winner|Nurse|Sister|Chair|Chairman|Chairwoman"
    "|Partner|Associate|Fellow|Engineer|Developer|Designer|Analyst|Consultant|Editor|Teacher|Professor|Lecturer|Doctor|Sergeant"
    "|Inspector|Secretary|Treasurer|Assistant|Coordinator|Supervisor|Executive|Orthodox|Status|Class|Level|Club|Team|Year|One|Two|Three"
    "|Owner|Master|Mum|Mom|Dad|Grandma|Fan|Certified|Free|Ready|Time"
)
# Who is allergic to these is joking.
_NO_FOOD = (
    "work|working|hard work|housework|meetings?|mondays?|mornings?|people|humans?|bullshit|nonsense|drama|stupidity|idiots?|deadlines?"
    "|homework|exercise|exercising|cleaning|chores|responsibility|commitment|money|politics|paperwork|lies|liars"
    "|early (?:mornings?|starts?)|late nights?|evenings?|technology|computers?|admin|effort|small talk|sports?|men|women|him|her|them|you"
)
# What a name may end with in lower case; "St. Mary's hospital" is also called "St. Mary's".
_SORTS_OF_PLACES = "hospital|clinic|university|college|school|academy|library|museum|bank|bakery|pharmacy|hotel|supermarket|brewery|nursery"
_NAME = (
    rf"(?-i:(?:the )?(?P<name>(?!(?:{_NOT_A_NAME})(?![\w'&-]))[A-Z][\w'&.-]*"
    r"(?: (?:(?:of|de|da|do|del|la|le|the|and|&|van|von|der|y) )?[A-Z0-9][\w'&.-]*){0,4}"
    rf"(?:(?<!'s) (?:{_SORTS_OF_PLACES})\b)?)(?:(?<='s) (?:{_SORTS_OF_PLACES})\b)?)"
)
# A name of one to three words with or without a title, which no `and` or `of` connects.
PERSON_NAME = (
    rf"(?-i:(?:(?:Dr|Prof|Mrs?|Ms)\.? )?(?!(?:{_NOT_A_NAME})(?![\w&-]))(?!(?:{_NO_PERSON})(?![\w-]))(?:[DO]')?[A-Z][\w-]+"
    r"(?: (?:(?:de|da|van|von|der) ){0,2}(?:[DO]')?[A-Z][\w-]+){0,2})"
)
# Behind these it is what somebody is given: "I gave my son Minecraft and my daughter Lego".
GIVES = lazy_compile(
    r"\b(?:g[ai]ve|giving|got|get|getting|bought|buy|buying|sent|send|lent|lend|taught|teach|teaching|show|showed|brought|made|read|promised|owe)"
    r" (?:(?:my|our|his|her|their) |(?-i:[A-Z])[\w-]+ |him |her |them )",
    re.IGNORECASE,
)
WHO_IS_AGED = r",? (?:who(?:'s| is)|aged) \d{1,2}\b"
_ROLES = f"{ONE_OF}|{SOME_OF}|{PETS}"
# What may follow the name of a food without being a part of it.
_NO_DISH = r"(?:and|or|so|too|also|now|since|because|but|as|though|tho|btw|fyi|lol|haha|innit|pls|please|which|that|who|apparently|actually|really|again|if|when)\b"
DRUG = (
    r"(?:(?!(?:april|cholesterol)\b)[a-z]+(?:pril|sartan|statin|azole|azepam|azolam|mycin|cillin|formin|oxetine|pram|lukast|olol|terol|butamol|sonide|coxib|oxacin"
    r"|thyroxine|parin|profen|tidine|semide|gliptin|dipine|zepine|triptan|setron|zide|gabalin|pentin|xaban|triptyline|cycline|tadine|tizine|glutide|flozin|peridone|lamotrigine|codone|morphone|dronate|limumab|ximab|ciclovir|conazole|racetam)|insulin|aspirin|paracetamol"
    r"|acetaminophen|warfarin|xarelto|eliquis|prozac|zoloft|lexapro|xanax|ritalin|adderall|strattera|vyvanse|elvanse|lithium|methotrexate|vitamin [a-k]\d{0,2}"
    r"|prednis(?:ol)?one|hydrocortisone|sertraline|venlafaxine|mirtazapine|quetiapine|olanzapine|naproxen|codeine|tramadol|morphine|methadone|fentanyl|zopiclone|donepezil|levodopa|sinemet|madopar|memantine|keppra|valproate|alendronic acid|gliclazide|eltroxin|synthroid|novorapid|humalog|lantus|levemir|tresiba|toujeo"
    r"|oxy(?:contin)?|percocet|vicodin|co-?codamol|bupropion|wellbutrin|trazodone|buspirone|methylphenidate|lisdexamfetamine|spironolactone|hydroxychloroquine|azathioprine|mesalazine|clopidogrel|tamsulosin|allopurinol|colchicine|digoxin|tamoxifen|letrozole|anastrozole|cetirizine|propranolol|melatonin|topiramate|amiodarone|verapamil|diltiazem|indapamide|doxazosin|nitrofurantoin|trimethoprim|diclofenac|baclofen|o?estradiol|progesterone|ventolin|symbicort|seretide|ozempic|wegovy|mounjaro|humira|lipitor|zyrtec|concerta|lyrica|statins?|blood thinners|anticoagulants|antidepressants|antihistamines|birth control|beta[- ]blockers)\b"
)
NOT_EATEN = rf"(?:gluten|dairy|milk|cheese|lactose|wheat|peanuts|nuts|shellfish|eggs|soy|fructose|sesame|histamine|latex|{DRUG})"
# Of the dose of a medication.
DOSE_CHANGED = lazy_compile(
    r"\b(?:rais|increas|upp|doubl|lower|reduc|decreas|cut|halv|bump|chang|adjust|titrat)\w*\b|\b(?:gone|went|put|going|goes|came|brought|taken|took)\b[\w' ]{0,30}\b(?:up|down)\b|\b(?:new|different) dose\b",
    re.IGNORECASE,
)
_FRAGMENTS = {
    # What somebody's body did not take.
    "REACTED": (
        r"(?:react(?:s|ed)?(?: (?:really|very|so|quite))? (?:badly|terribly|horribly|severely)"
        r"|(?:had|have|has|got|get|gets)(?: an?)?(?: (?:bad|severe|serious|terrible|nasty|mild|(?P<allergic>allergic|anaphylactic)))+ reactions?"
        r"|(?:had|have|has|got|get|gets|(?:come|comes|came|broke|break|breaks) (?:out|up) (?:in|with))(?: an?)?(?: (?!no\b)\w+){0,2} rash(?: all over)?(?= (?:after|from|off)\b))"
        r" (?:to|after|from|off)(?: (?:the|taking|eating|having))* (?:{ALLERGENS}|(?P<drug>{A_DRUG}))(?=$|[,.!;(]| [a-z])"
    ),
    # `{GONE}` is like `{WHO}`, or "the cat".
    # `{WHO}` is a relation, with or without a name, or a name; `{ROLE}` only a relation, `{ALONE}` only a name;
    # `{THEY}` also relatives together; `{THEIRS}` a relation to somebody else, with a name.
    "GONE": rf"(?:{{WHO}}|the (?P<pet>{PETS}))",
    "THEIR": rf"{{WHO}}(?:'s| (?:and|&) (?:his|her)){{SORT}} (?P<whose>{_ROLES})",
    "THEY": rf"(?:{{THEIRS}}|{{WHO}}|my (?P<kin>{KIN_TOGETHER})\b)",
    "WHO": rf"(?:(?:my|our){{SORT}} (?P<role>{_ROLES})(?:,? (?P<person>{PERSON_NAME}),?)?|(?P<alone>{PERSON_NAME}))(?: from (?:work|school|uni|college|church|choir|yoga|football|(?:the )?(?:gym|office|club|band|book club)))?",
    "THEIRS": rf"(?:(?:my|our){{SORT}} (?P<kin_of>{_ROLES})(?: (?=[A-Z])|(?='s)))?(?P<owner>{PERSON_NAME})?(?<=\w)'s{{SORT}} (?P<theirs>{_ROLES}),? (?P<named>{PERSON_NAME}),?",
    "ROLE": rf"(?:my|our){{SORT}} (?P<role>{_ROLES})",
    "ALONE": rf"(?P<alone>{PERSON_NAME})",
    "OTHER": rf"(?P<other>{PERSON_NAME})",
    # With "have", "am" or "are".
    "I": rf"(?:i|we)(?:'ve| have|'re| are|'m| am)?(?: (?:{_ADVERBS}))*(?: been)?",
    "AM": rf"(?:i|we)(?:'m| am|'re| are)(?: (?:{_ADVERBS}))*",
    "NAME": _NAME,
    # A make, and a model if it is one, or the word behind it where all is in small letters.
    "CAR": (
        rf"(?P<car>(?-i:(?:{CARS}|{MODELS})\b(?: [A-Z0-9][\w-]*){{0,3}}|(?:{CARS.lower()})\b"
        r"(?: (?!(?:motor)?(?:bike|cycle)|scooter|(?:lawn)?mower|engine|generator|keyboard|piano|poster|toy)[a-z][\w-]*(?=$|[,.!;]))?))"
        r"(?! (?:for (?:my|our|his|her|the|him|them)|as a rental|on loan)\b)(?: (?:hybrid|estate|diesel|electric|automatic|hatchback|van)\b)?{END}"
    ),
    # A laptop of a make or model that is no other word; not one for somebody else.
    "LAPTOP": (
        r"(?P<name>(?-i:MacBook|ThinkPad|Chromebook|IdeaPad|Zenbook|ZenBook|VivoBook|Vivobook|Latitude|Inspiron|XPS|EliteBook|ProBook"
        r"|Surface (?:Pro|Laptop|Book|Go)|(?:Dell|HP|Lenovo|Asus|ASUS|Acer|MSI|Framework|Razer|Apple|Microsoft) (?:XPS|Laptop|ThinkPad|Latitude|Inspiron|MacBook|Surface|Spectre|Envy|Pavilion|Aspire|Yoga))"
        r"(?: (?-i:[A-Z0-9])[\w-]*){0,2})(?! for (?:my|our|his|her|the|him|them|(?-i:[A-Z]))){END}"
    ),
    # What may follow a name; another word means that the name is only a part of something.
    "PLACE": rf"(?-i:(?!(?:{_NO_PLACE})(?![\w'-])))",
    "HOME": rf"(?-i:(?!(?:{_NO_HOME})(?![\w'-])))",
    "PERSON": rf"(?-i:(?!(?:{_NO_PERSON})(?![\w'-])))",
    "END": (
        r"(?=$|[,.!;:(]| (?:now|too|again|with|for|as|in|on|at|where|which|who|after|before|by|from|next|instead|to"
        r"|near|close|above|below|opposite|behind|beside|across|overlooking"
        r"|together|permanently|full[- ]time|part[- ]time|right|these|already|today|currently|because|though|and|or|since"
        r"|alone|until|while|when)\b)"
    ),
    "STOP": r"(?=$|[,.!;:(]| (?:now|too|again|these days|as well|so far|at the moment|right now|already|from now on|please|instead)\b)",
    "FROM_HERE": r"(?=$|[,.!;(]| (?:and|but|because|so|since|now|last|this|in|for|after|at|on|who|again|officially|recently)\b)",
    "TITLE": (
        r"(?P<value>(?!(?:a|an|the|my|be|new|another|first|second|third|next|top|number|full|part|permanent|full-time|part-time|remote|level|grade)\b)[\w-]+"
        r"(?: (?!(?:at|in|for|and|but|with|last|this|today|yesterday|on|by|from|after|because|so|now|there|here|right)\b)[\w&-]+){0,3})"
    ),
    "SOME_HOME": (
        r"(?:an?|our|my|the)(?: (?:new|small|smaller|tiny|bigger|larger|big|little|lovely|nice|own|shared|rented|old|cosy|cozy|one-bedroom|two-bedroom))*"
        r" (?:flat|house|apartment|place|studio|room|home|cottage|condo|townhouse|bungalow|loft|bedsit"
        r"|(?:\d|one|two|three|four)[- ]?bed(?:room)?(?: (?:flat|house|apartment|terrace|semi))?"
        r"|(?:downstairs|upstairs|basement|annexe?|(?:top|ground|first|second) floor|half)(?: flat)?)"
        r"(?: (?:of|in) (?:an?|the|his|her|their|(?:my|our) [\w]+'s|(?-i:[A-Z])[\w-]+'s)(?: [a-z-]+)? (?:house|building|villa|duplex|home|block))?"
    ),
    "CONDITION": (
        r"(?P<value>(?:(?:mild|severe|early-stage|type [12]|stage [1-4]|[a-z]+(?:al|oid|ile|lar|ic)) )*(?:diabetes|asthma|coeliac|celiac|epilepsy|adhd"
        r"|migraines?|arthritis|eczema|psoriasis|endometriosis|crohn's|ibs|lupus|hypothyroidism|hypertension|high blood pressure"
        r"|tinnitus|sleep apnea|sleep apnoea|dyslexia|anemia|anaemia|fibromyalgia|glaucoma|osteoporosis|pcos|parkinson'?s"
        r"|multiple sclerosis|dementia|alzheimer'?s|copd|emphysema|angina|heart failure|atrial fibrillation|kidney disease|gout|bipolar|depression|leuka?emia|cystic fibrosis"
        r"|cerebral palsy|ulcerative colitis|(?:(?:breast|lung|bowel|prostate|skin|ovarian|pancreatic|bladder|kidney|liver|stomach|throat|brain) )?cancer|(?:under|over)active thyroid)(?: disease| disorder)?)\b(?! in (?:the|my|our) family\b)"
    ),
    # What happened to somebody and stays in their history.
    "HAD": (
        r"(?:had|suffered|survived) (?:an?|another)(?P<degree>(?: (?:minor|mild|small|slight|major|massive|severe|second))*)"
        r" (?P<value>(?:mini[- ]?)?stroke|tia|heart attack|pulmonary embolism)(?=$|[,.!;(]| (?:and|but|so|which)\b)"
    ),
    "AILING": (
        rf"(?:(?P<sort>type [12]|severely|mildly) )?(?P<value>{'|'.join(AILMENTS)})(?=$|[,.!;(]| (?:and|but|so|since|now|too|as|because|for|which|with|any|after|at|by)\b)"
    ),
    "PREGNANT": (
        rf"(?:(?:heavily )?(?:(?P<count>\d{{1,2}}|{'|'.join(AGES)})(?:\+\d| and a half)? (?P<unit>week|month)s? )?pregnant"
        r"|expecting (?:twins|triplets|(?:an?|my|our)(?: (?:first|second|third|little))? (?:baby|boy|girl|child)))"
        r"(?=$|[,.!;(]| (?:with (?:twins|triplets|our|my|an?|number)|again|and|so|now|due|in|by|but|at)\b)"
    ),
    "DELIVERED": (
        r"(?:(?:gave|given) birth|had (?:(?:the|our|my|her|a)(?: little)? (?:baby|boy|girl)|(?:the|our|my|her) twins|twins(?! (?:in|at)\b))"
        r"|lost (?:the|our|my|her) baby|(?:had|suffered) an?(?: \w+)? miscarriage|miscarried|lost (?:the|our|my|her) pregnancy)"
        r"(?=$|[,.!;(]| (?:to|on|at|last|this|yesterday|today|and|in|early|by|a|two)\b)"
    ),
    # What a doctor found, whatever it is called.
    "DIAGNOSED": (
        r"diagnosed with (?:an? )?(?P<value>(?!(?:the|an?|it|this|that|these|those|my|his|her|some|something|nothing|no|being|having)\b)[a-z][\w'-]*"
        r"(?: (?!(?:and|but|or|so|since|now|in|on|at|by|as|because|for|too|which|who|when|while|after|before|last|this|two|three|years|just|or|if)\b)[a-z1-4][\w'-]*){0,3})"
    ),
    # A relative whom one calls by what they are: "dad", "Uncle Ray".
    "DEAR": rf"(?P<dear>(?:{PARENTS})(?![\w'-])|(?P<elder>uncle|aunt(?:ie|y)?) (?P<named>{PERSON_NAME}))",
    # One's own animal, or who may be one that is known.
    "ANIMAL": rf"(?:(?:my|our|the){{SORT}} (?P<pet>{PETS})(?:,? (?P<called>{PERSON_NAME}),?)?|(?P<animal>{PERSON_NAME}))",
    "CHILDREN": rf"(?P<children>{PERSON_NAME}(?:(?:{WHO_IS_AGED})?, {PERSON_NAME}){{0,4}}(?:(?:{WHO_IS_AGED})?,? (?:and|&) {PERSON_NAME})?(?:{WHO_IS_AGED})?)",
    "FORMER": r"(?P<former>(?-i:[A-Z])[\w'&.-]*(?: (?-i:[A-Z])[\w'&.-]*){0,3})",
    "ALL": rf"(?P<all>{PERSON_NAME}(?:, \d{{1,2}},?)?(?:,? (?:(?:and|&) )?{PERSON_NAME}(?:, \d{{1,2}})?){{1,4}})",
    "TOWN": r"(?P<town>(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+){0,2})(?=$|[,.!;]| (?:and|with|for|since|now|at|on)\b)",
    # To what else an account is switched than to a bank.
    "NO_TARIFF": r"(?!(?:Pro|Plus|Premium|Business|Basic|Family|Personal|Private|Free|Standard|Enterprise|Max|Ultra)\b)",
    "NO_MORE": r"(?: any ?more| any longer)",
    "NEXT_TRIP": r"(?:next (?:trip|holiday|vacation|journey))",
    "DIET": rf"(?P<value>{DIETS})\b(?!-)(?! at (?:home|work|lunch|lunchtime|dinner|breakfast|weekends)\b)(?! (?!(?:diet|now|again|because|since|and|for|these|so|but|at|too|as|in|from|by|with|myself)\b)\w)",
    "DIETS": f"(?P<value>{DIETS})",
    "LANGUAGES": rf"(?P<value>(?:{LANGUAGES})(?:(?:, and |, | and )(?:{LANGUAGES}))*)\b",
    # An occupation, or any title if an employer follows.
    "AS_A": r"as an? (?:{OCCUPATION}|(?P<title>[a-z][\w-]*(?: [a-z][\w-]*){0,2}?)(?= (?:at|for|with) (?-i:[A-Z])))",
    "OCCUPATION": (
        r"(?P<value>(?:(?!(?:bad|terrible|good|great|better|big|huge|natural|born|the|if|not|pretty|very|cautious|careful|slow|fast|safe|nervous|quick|picky|daily|former|ex|so|such|decent|failed|frustrated|amateur|hobby|home|real|new|first-time|frequent|one-time|wannabe)\b)[\w-]+ ){0,2}"
        rf"(?:{OCCUPATIONS}))\b"
    ),
    # Who begins or ends what somebody else takes.
    "CARERS": r"(?:{TREATS}|they)(?: has| have|'s|'ve| had to)?(?: just| now| finally| also)*",
    "TREATS": r"(?:{DOCTOR}|(?-i:Dr|Prof)\.? (?-i:[A-Z])[\w'-]+|the (?:hospital|clinic|surgery))",
    "CARE_HOME": r"an? (?:care|nursing|retirement|residential|rest) home",
    "DOCTOR": (
        r"(?:(?:my|the|our) (?:[\w-]+ )?)?(?:doctors?|docs?|dr|gp|nurse|pharmacist|consultant|psychiatrist|cardiologist|oncologist|neurologist"
        rf"|specialist|rheumatologist|endocrinologist|dermatologist|gastroenterologist)(?: here|,? {PERSON_NAME},?)?"
    ),
    "DRUG": rf"(?P<value>{DRUG})",
    "A_DRUG": DRUG,
    # After what somebody stopped: nothing that makes it a matter of some hours, or of a condition.
    "FOR_GOOD": (
        r"(?=$|[,.!;:(]| (?:now|finally|already|altogether|completely|entirely|for good|because|cause|cos|coz|bc|since|and|so|due|according|thanks"
        r"|as (?!long|soon)|after (?!\d)|at (?:the|my|our)|from now)\b)"
    ),
    "DRUGS": rf"(?P<value>{DRUG}(?:(?:,? and |, ){DRUG})*)",
    "DOSE": r"(?:(?P<dose>{AMOUNT})(?: of)?)",
    # Behind a medication, also without a unit: "sertraline 50 now".
    "BARE_DOSE": r"(?:{AMOUNT}|\d{1,3}(?:\.\d+)?(?=$|[,.!;](?!\d)| (?:now|from (?:the|my)|once|daily|at (?:night|bedtime)|in the)\b))",
    "AMOUNT": r"\d+(?:\.\d+)? ?(?:mg|mcg|µg|ml|g|iu|units?|drops|pills?|tablets?)\b",
    # Something that somebody does each week, and the days.
    "CARS": rf"(?:{CARS})\b",
    "PRACTITIONER": r"(?P<noun>dentist|doctor|gp|vet|hairdresser|optician|physio|therapist|midwife|dermatologist|cardiologist)",
    "GOT": r"(?:(?: was| is| got|(?:'s| has)(?: been)?|(?: will| needs to| has to| had to| have to) be)(?: just| now)?)",
    "HABIT": r"(?P<what>(?!(?:it|that|this|the|my|our|everything|work|home|off|on|there|to)\b)[a-z]+(?: (?!(?:class|lesson|practice|training|course)|(?:every|each|on|has|have|is|are|was|were|got|moved|changed|switched|shifted|now)\b)[a-z]+)?)",
    "PRACTICE": r"(?:[\w ]+ {LESSONS}|(?:my )?(?:[a-z]+ing|yoga|pilates|therapy|choir|ballet|karate|judo|football|tennis|band|rehearsals?)) (?:every|each|on)\b",
    "WEEKDAYS": rf"(?P<days>(?:(?:every|each) {DAY}s?|(?:on )?{DAY}(?:s| (?:mornings|afternoons|evenings|nights)))(?:(?:,| and| &|, and)(?: every| on)? {DAY}s?)*)\b(?! (?:but|except)\b)",
    # What somebody may own and work in; of a workroom it has to be said that it was opened or is run.
    "FIRM": (
        r"(?:business|company|firm|start-?up|agency|practice|consultancy|shop|store|boutique|bakery|caf[e\u00e9]|restaurant|salon|clinic|brewery|pub"
        r"|food truck|bookshop|dealership|hotel|guesthouse)"
    ),
    "FIRM_CALLED": r"(?: an? (?-i:[a-z-]+ ){1,3}(?:called|named)|(?<=at) an? (?-i:[a-z-]+ ){0,2}(?-i:[a-z-]+),)?",
    "WORKROOM": r"(?:studio|workshop|gallery|garage|gym|nursery|bar|farm|surgery|label)",
    "FIRM_END": r"(?=$|[,.!;:(]| (?:now|in|last|this|and|from|since|because|here|with|together|at last|next|a (?:week|month|year)|two|three)\b)",
    # Two names or more of one person, and not what somebody is, such as Team Lead or Roman Catholic.
    "FULL_NAME": (
        rf"(?-i:(?P<name>(?!(?:{_NOT_A_NAME}|{_NO_FIRST_NAME})\b)[A-Z][\w'-]+(?: (?:(?:de|da|van|von|der) ){{0,2}}(?!(?:{_NO_PERSON}|{_NO_LAST_NAME})\b)[A-Z][\w'-]+){{1,2}}))"
        r"(?! (?-i:[A-Z]))(?<!'s)"
    ),
    "LESSONS": r"(?:class(?:es)?|lessons?|practice|training|courses?)",
    "PET": f"(?P<who>{PETS})",
    "ONE": f"(?P<who>{ONE_OF}|{SOME_OF}|{PETS})",
    # An old friend is one still, and an old boss is none any more.
    "SORT": rf"(?: (?:{ROLE_WORDS}|new|older|younger|big|little|elder|best|eldest|youngest|good|old(?= (?:friend|mate|{PETS})\b)|close|dear|twin|baby|lovely|cute|second|third))*",
    "FOOD": (
        rf"(?P<value>(?!(?:the|this|that|it|any|some|my|your|anything|everything|nothing|{_NO_FOOD})\b)[a-z][\w'-]*(?: (?!{_NO_DISH})[\w'-]+)?"
        rf"(?:(?:, and |, | and | or )(?!(?:not|his|her|their|its|he|she|they|we|has|have|is|are|can|can't|carries|needs)\b)[a-z][\w'-]*(?: (?!{_NO_DISH})[\w'-]+)?)*)"
    ),
    "NO_FOOD": f"(?:{_NO_FOOD})",
    # One food, as in "allergic to peanuts after all".
    "DISH": r"[a-z][\w'-]*(?: (?!(?:after|any|and|or|so|but|not|turned|is|was|has|at|too|either|really|actually)\b)[\w'-]+)?",
    "NOT_TOLERATED": rf"(?P<value>{NOT_EATEN}(?:(?:, (?:and |or )?| and | or ){NOT_EATEN})*)(?=$|[,.!]| (?:any ?more|family|group|in (?:it|them)|at all|at the mo(?:ment)?|right now|now|because|and|so|or|btw|though)\b)",
    # "Deadlines give me hives" is no allergy.
    "ALLERGENS": (
        r"(?P<value>(?:(?:pea|wal|hazel|pine)?nuts?|almonds?|cashews?|pistachios?|pecans?|sesame|shellfish|prawns?|shrimps?|crab|lobster|mussels"
        r"|fish|eggs?|milk|dairy|soy|wheat|gluten|kiwis?|kiwi fruit|strawberries|mangoe?s?|pineapples?|bananas?|avocados?|tomatoes|peaches|celery"
        r"|mustard|latex|nickel|penicillin|amoxicillin|aspirin|ibuprofen|codeine|sulfa|(?:bee|wasp) stings?|cats?|dogs?|horses?|pollen|dust)\b)"
    ),
    "INTOLERANCE": r"(?:(?:has )?turned out to be|(?:is|was)(?: actually| really)?) (?:only |just |actually )*an? intolerance",
    "LIKED": (
        r"(?P<value>(?!(?:it|its|it's|that|this|these|those|them|you|your|yours|him|her|his|their|how|what|when|where|who"
        r"|why|to|being|having|my|our|the|a|an|some|any|no|one|both|all|everything|anything|nothing|something|everyone"
        r"|every|and|but|so|as|on|in|at|with|about|for|most|more|much|us|me|myself|each|seeing|hearing|knowing|doing"
        r"|going|getting|making|anyone|nobody|if|talking|chatting|thinking|watching you)\b)[\w'-]+"
        r"(?: (?!(?:and|but|because|so|when|that|which|who|since|too|as|if|it|you|your|this|these|more|most|than|very|to(?= (?:bits|pieces|death)\b)|her"
        r"|his|him|them|their|a|lot|my|our|me|us|here|there|over|these|now|again|those|some|what|how|also|especially)\b)[\w'-]+){0,3})"
        r"(?=$|[.!,]| (?:to (?:bits|pieces|death)|too|a lot|so much|very much|the most|these days|now|more than|over|as well|again|because|but)\b)"
    ),
}
