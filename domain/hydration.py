"""Graph hydration: what a question asks of the graph, and which facts answer it first (A15, A §6.4)."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from mnemolog.domain.inflection import declines
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.mention import WORD, WORDS_READ
from mnemolog.domain.text import ends_of, normalize_name, search_terms

MAX_EDGES = 60
"""The edge cap of A §6.4. Critical edges are never cut."""
EXPANDED = 24
"""The entities that the second hop starts from."""

# Not a question about where somebody lives.
_LIVING = lazy_compile(r"\bfor a living\b", re.IGNORECASE)
_DOING = lazy_compile(r"^(\W*what (?:do|does) .{1,40} do)\W*$", re.IGNORECASE)
# What somebody must not eat is another question than what they eat.
_AVOIDING = lazy_compile(
    r"\b(?:can't|cannot|(?:can|could|must|should|may|do|does)(?:n't| not| \w+ not))(?: \w+){0,2} eat\b", re.IGNORECASE
)
# `How much metformin do I take?` and `What dose of metformin am I on?` ask for a dose.
_DOSED = lazy_compile(
    r"\b(?:how (?:much|many (?:mg|milligrams?|units|pills|tablets)(?: of)?)|(?:what|which) dos(?:e|age) of)"
    r" (?P<drug>\w[\w -]{2,40}?)"
    r" (?:(?:do|does|should|must|can|did) \S+(?: \w+)? take|(?:am|is|are|was) \S+(?: \w+)? (?:on|taking))\b",
    re.IGNORECASE,
)
# Of a question for a name, what asks for it.
_CALLED = lazy_compile(r"(?<=\w) (?:is|are|was|were)(\b.*\S) (?:called|named)(?=\W*$)", re.IGNORECASE)
_POSSESSIVE = lazy_compile(r"['’]s?$")

# The first person in English; in German, Spanish, Portuguese, French and Italian, without words that mean more.
_SELF_IN_ENGLISH = frozenset(["i", "i'm", "i've", "i'd", "i'll", "me", "my", "mine", "myself", "we", "our", "us"])
_SELF_ABROAD_WORDS = (
    "ich mich mir mein meine meiner meinem meinen wir unser unsere yo mis mio mia nosotros nuestro nuestra eu meu minha"
    " meus minhas je j'ai moi mon mes nous notre io mie miei noi nostro"
)
_SELF_ABROAD = frozenset(_SELF_ABROAD_WORDS.split())
_SELF = _SELF_IN_ENGLISH | _SELF_ABROAD
# Written like this, it is a name.
_NAMES_LIKE_SELF = frozenset(["Mia", "Mio", "US"])
_CALENDAR_WORDS = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august"
    " september october november december christmas easter"
)
_CALENDAR = frozenset(_CALENDAR_WORDS.split())
# German capitalises common nouns. A text is German if it has one of the first words; or one of the second, and another
# of them or of the third, which are English, too.
_SURELY_GERMAN_WORDS = (
    "ich mich mir mein meine meinen meinem meiner wo wohin woher wer wem wen wann warum wieso weshalb worauf womit"
    " worin welche welcher welches welchen welchem ist sind heißt heisst wohnt arbeitet"
)
_SURELY_GERMAN = frozenset(normalize_name(_SURELY_GERMAN_WORDS).split())
_GERMAN_WORDS = "der das dem ein eine einen wie haben du er sie es wir mit von zu im und nicht"
_GERMAN = frozenset(_GERMAN_WORDS.split())
_GERMAN_TOO = frozenset(["die", "den", "war", "was", "hat", "am"])
_ASKING_WORDS = (
    "what which who whom whose where when why how is are was were do does did has have had can could will would"
    " should shall may might must am tell name list show give please since until and or but if in at on of for"
    " from to with about hey hi hello ok okay yes no the a an my your his her its our their this that these those"
    " there let let's what's who's where's when's how's remind any"
)
_ASKING = frozenset(_ASKING_WORDS.split())
# A question in English has one of these. They are hardly words of other languages.
_ENGLISH_WORDS = (
    "what which who whom whose where when why how what's who's where's when's how's is are were does did have had can"
    " could would should the my your his her their"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
# A sort of things, such as `HRT` in `What HRT am I on?`, is not a name.
_SORT_ASKED = lazy_compile(
    r"\b(?:[Ww]hat|[Ww]hich) (?P<sort>[A-Z][\w-]*) (?:am|are|do|did|was|were|have|should) (?:I|we)\b"
)
# A question of these alone asks for no more than who somebody is.
_ONLY_ASKING = _SELF_IN_ENGLISH | {"who", "what", "am", "are"}
_SENTENCE_ENDS = ("", ".", "!", "?", ":", '"', "“", "„", "«", "¿", "¡")
_GAP = 8
# After a word that begins a sentence, they show that it is a name: `Petra is where?`
_OF_SOMEBODY = frozenset(
    ["is", "was", "has", "had", "does", "did", "will", "can", "lives", "lived", "works", "worked", "likes"]
)
# What a question says beside what it asks for.
_GENERIC_WORDS = (
    "go going know known tell say remember current currently today still since day long time name one many"
    " everything anything something nothing else"
)
_GENERIC = frozenset(_GENERIC_WORDS.split())
# Words that ask for the same: a fact whose predicate has one of a line answers a question that has another. Those
# before a colon ask for any of those after it, which are different things. Those before `>` do, but do not answer them:
# `Ana is a parent of Mia` does not say who her father is.
_TOPICS = """
live lives home house flat apartment residence reside address city town location based move moved
work works job employer employed company firm office occupation profession career position role title
teach teaches taught: work works employer employed
manager boss supervisor lead chief reports
landlord landlady
married husband wife spouse partner wedding engaged girlfriend boyfriend fiance fiancee hubby
mother mom mum mama mommy mummy mam mammy mamá mami amma ammi
father dad papa daddy papá papi apa appa baba abba
grandmother grandma granny gran nan nana gogo nonna oma abuela
grandfather grandpa grandad granddad opa nonno abuelo
parent parents > mother mom mum mama mommy mummy father dad papa daddy
grandparent: grandmother grandma granny gran nan nana grandfather grandpa grandad granddad
child children kid kids parent: son daughter
sibling twin: brother sister
family relative: mother father parent child son daughter sibling brother sister cousin aunt uncle married husband wife
pet animal: dog cat budgie parrot hamster rabbit tortoise
puppy dog
kitten cat
eat food diet meal vegetarian vegan avoid
eat food diet meal avoid: allergy allergic intolerance intolerant
allergy allergic intolerance intolerant
medication medicine drug pill takes
illness disease disorder sick ill condition diagnosis diagnosed
health medical condition: medication medicine drug pill takes allergy allergic intolerance intolerant
birthday born birth age old aged
email mail phone number contact
friend buddy knows
like likes love loves enjoy enjoys favourite favorite prefer prefers hobby hobbies interest interests
trip travel vacation holiday journey visit
fly flying flight
due deadline
car vehicle van truck lorry drive drives driving
doctor physician gp dr
salary wage wages pay income earn earns
flatmate roommate housemate
colleague coworker workmate
grandchild grandchildren grandkid grandkids: grandson granddaughter
bicycle bike
study studied studies school university college degree graduated
speak speaks language languages
own owns has have
died dead death die alive living passed
"""
ANSWERED_BY = {
    "diet_plan": "eat",
    "married_to": "husband wife spouse",
    "partner_of": "girlfriend boyfriend",
    "engaged_to": "fiance fiancee",
}
"""What a fact with a predicate tells, beside the words of its sentence."""
_ALIKE = 0.6
"""What a word of the same topic counts for, beside the word itself."""


def asks_about_user(text: str) -> bool:
    """Whether it speaks of the user as `I`, `me` or `my`.

    >>> asks_about_user("Where does Mia live?"), asks_about_user("Dove abita mia sorella?")
    (False, True)
    """
    said = {without_possessive(match[0]) for match in WORD.finditer(text)} - _NAMES_LIKE_SELF
    words = frozenset(_words(" ".join(said)))
    return not words.isdisjoint(_SELF_IN_ENGLISH) or not (words.isdisjoint(_SELF_ABROAD) or is_english(text))


def is_english(text: str) -> bool:
    """Whether the words by which a question asks are known here; not of one that only has catchwords.

    >>> is_english("Where does Marta work?"), is_english("Wo arbeitet Marta?"), is_english("Marta work")
    (True, False, False)
    """
    return not _is_german(text) and not _ENGLISH.isdisjoint(_words(text))


def capitalised_names(text: str) -> tuple[str, ...]:
    """Runs of capitalised words that are used as names: no days and months, and no word that only begins a sentence.

    None of German, which capitalises all nouns, and of languages whose cases change more of a name than its ending.
    """
    if _is_german(text) or declines(text):
        return ()
    words = list(islice(WORD.finditer(text), WORDS_READ))
    sort = _SORT_ASKED.search(text)
    found: list[list[str]] = []
    end = -1
    for place, match in enumerate(words):
        name = without_possessive(match[0])
        after = words[place + 1] if place + 1 < len(words) else None
        if not _is_name(text, match, after) or (sort and match.start() == sort.start("sort")):
            continue
        if end >= 0 and text[end : match.start()] == " ":
            found[-1].append(name)
        else:
            found.append([name])
        end = match.end() if match[0] == name else -1
    return tuple(dict.fromkeys(" ".join(run) for run in found))


def capitalised_words(text: str) -> frozenset[str]:
    """The capitalised words, normalised, without those that only ask: also one that begins a sentence."""
    words = (without_possessive(match[0]) for match in islice(WORD.finditer(text), WORDS_READ))
    named = {normalize_name(one) for one in words if one[:1].isupper() and not _is_self(one)}
    return frozenset(named - _CALENDAR - _ASKING)


def without_possessive(word: str) -> str:
    """The word without a possessive ending: `Tilly` for `Tilly's`, `James` for `James'`."""
    return _POSSESSIVE.sub("", word)


def _is_self(word: str) -> bool:
    return word not in _NAMES_LIKE_SELF and normalize_name(word) in _SELF


def _is_german(text: str) -> bool:
    words = set(_words(text))
    if not words.isdisjoint(_SURELY_GERMAN):
        return True
    return not words.isdisjoint(_GERMAN) and len(words & (_GERMAN | _GERMAN_TOO)) > 1


def _is_name(text: str, match: re.Match[str], after: re.Match[str] | None) -> bool:
    name = without_possessive(match[0])
    if not name or not name[0].isupper() or _is_self(name) or name.lower() in _CALENDAR | _ASKING:
        return False
    if text[max(0, match.start() - _GAP) : match.start()].rstrip()[-1:] not in _SENTENCE_ENDS:
        return True
    return name != match[0] or (after is not None and after[0] in _OF_SOMEBODY)


# What the family calls somebody before a name asks for no aunt: "When did Aunt Pat die?"
_CALLED_SO = lazy_compile(
    r"(?<!\b[Mm]y )(?<!\b[Oo]ur )\b(?:Aunt(?:ie|y)?|Uncle|Cousin|Gran(?:dma|ny|dpa|dad)?|Nana?) (?=[A-Z])"
)


def question_stems(text: str, names: Collection[str] = ()) -> frozenset[str]:
    """The stems of what is asked for, without the names that anchor it."""
    named = {stem(word) for name in names for word in search_terms(name)}
    plain = _CALLED_SO.sub("", ends_of(text).replace("’", "'"))
    plain = _DOING.sub(r"\1 as a job", _LIVING.sub("as a job", plain))
    plain = _DOSED.sub(r"\g<drug> dose", _AVOIDING.sub("avoid", _CALLED.sub(r"\1", plain)))
    terms = search_terms(plain)
    if _ONLY_ASKING.issuperset(terms):  # `Who am I?`
        return frozenset()
    return frozenset(stem(one) for one in terms if one not in _GENERIC) - named


def stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, search_terms(text)))


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The word without the usual English endings: lives, living and live are one, as are allergy and allergic."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "y" and word[-2] in "aeiou"):
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def alike(words: Collection[str]) -> frozenset[str]:
    """The stems of words that ask for the same as one of these stems."""
    return frozenset().union(*(_BY_STEM.get(word, frozenset()) for word in words))


def alike_words(words: Collection[str]) -> frozenset[str]:
    """The words themselves that ask for the same as one of these stems."""
    stems = alike(words)
    return frozenset(word for word in re.split(r"[\s:>]+", _TOPICS) if stem(word) in stems)


_ENDINGS = ("ingly", "ies", "ing", "ied", "ers", "ic", "ed", "es", "er", "or", "y", "s", "e")


@dataclass(frozen=True, slots=True)
class Match:
    """How one fact answers a question.

    `words`: the stems of the question that it has; `alike`: those that ask for the same as a word of it.
    """

    words: frozenset[str]
    alike: frozenset[str] = frozenset()

    def score(self, asked: Collection[str], hops: int, before: "Match | None" = None) -> float:
        """In [0, 1]. A fact two hops away counts for what the edge on the way to it adds.

        `hops` 0: found without an entity.
        """
        told = self.words | (before.words if before else frozenset())
        alike = (self.alike | (before.alike if before else frozenset())) - told
        likeness = (len(told) + _ALIKE * len(alike)) / len(asked) if asked else 0.0
        if before is not None:
            new = (before.words | before.alike) - self.words
            likeness *= 0.9 if new else 0.4
        anchored = {0: 0.0, 1: 0.2}.get(hops, 0.1)
        return min(1.0, 0.8 * likeness + anchored)


def _by_stem() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in _TOPICS.strip().splitlines():
        general, mark, special = re.fullmatch(r"([^:>]*)([:>]?)(.*)", line).groups()  # type: ignore[union-attr]
        topic, below = frozenset(map(stem, general.split())), frozenset(map(stem, special.split()))
        for word in topic:
            found[word] = found.get(word, frozenset()) | topic | (below if mark == ":" else frozenset())
        for word in below:
            found[word] = found.get(word, frozenset({word})) | topic
    return found


_BY_STEM = _by_stem()


def _words(text: str) -> list[str]:
    return [match[0].replace("’", "'") for match in WORD.finditer(normalize_name(text))]
