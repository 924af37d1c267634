"""What a message tells to be different from before: moved to another day, put up, cancelled, new, or so only now.

By rules, which know English.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemolog.domain import hydration
from mnemolog.domain.extraction.clauses import LONGEST
from mnemolog.domain.extraction.corrections import contrasted, correction
from mnemolog.domain.extraction.times import COUNT, POINT
from mnemolog.domain.extraction.vocabulary import KIN_WORDS, PARENTS
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import NOT_A_TITLE


@dataclass(frozen=True, slots=True)
class Thing:
    """What changed: the stem of its noun, and those of the words before it, as `eye` in "my eye operation"."""

    noun: str
    of: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence that tells of a change, with the `stems` of what is said there.

    `things`: what may have changed. `firm`: it was moved to a day, went to a price or is off, and not only new or so
    now. `off`: it has no other day or price. `priced`: it is another price. `over`: the stems of what is said to be no
    longer or not so; `of_it`: the sentence says that of `it`, of which was spoken before.
    """

    stems: frozenset[str]
    things: tuple[Thing, ...] = ()
    firm: bool = False
    off: bool = False
    priced: bool = False
    over: frozenset[str] = frozenset()
    of_it: bool = False

    def about(self, words: frozenset[str], told: frozenset[str]) -> bool:
        """Whether one of the things is among these words, and is not said to be of anything that was not told.

        It may be shortened, as `chiro` is for `chiropractor`.
        """
        return any(one.of <= told and any(_is_called(one.noun, word) for word in words) for one in self.things)


def _is_called(noun: str, word: str) -> bool:
    return noun == word or (len(noun) >= _SHORTEST and word.startswith(noun))


_SHORTEST = 4


def changes(text: str) -> Sequence[Change]:
    """The changes that a message tells of, sentence by sentence; of a long one, those in its first characters.

    >>> [one] = changes("Good news: the exam was pushed to 9 May")
    >>> one.things[0].noun, one.firm, one.off
    ('exam', True, False)
    """
    return [one for sentence in _SENTENCE.split(text[:LONGEST]) for one in _told_in(sentence)]


def is_correction(text: str) -> bool:
    """Whether a message corrects what the speaker has just said.

    >>> is_correction("*friday"), is_correction("No wait, it's the 24th"), is_correction("Sorry, I was busy on Friday")
    (True, True, False)
    """
    return len(text) <= _BRIEF and _CORRECTION.search(text) is not None


def corrects_name(text: str) -> bool:
    """Whether a message says that another name is right than one that was said before.

    >>> corrects_name("Actually the fair is in Lyon, not Lille."), corrects_name("I meant Lyon")
    (True, True)
    >>> corrects_name("Not now.")
    False
    """
    sentences = _SENTENCE.split(text) if len(text) <= _BRIEF else ()
    return any(correction(one) or contrasted(one)[1] for one in sentences)


_BRIEF = 200  # Characters of a message that corrects another.


def _told_in(sentence: str) -> Iterator[Change]:
    """The patterns are for lower case: one that ignores case takes three times as long."""
    for part in _CLAUSE.split(sentence):
        clause = part.lower()
        priced = _PRICE.search(clause) is not None
        if found := _MOVED.search(clause):
            said = sentence if _OF_IT.match(clause) else clause[: found.end()]
            things, off = tuple(_things(clause, found)), (_OFF.search(clause) or _BY_SOME.search(clause)) is not None
            yield Change(hydration.stems(said), things, firm=True, off=off, priced=priced)
        elif found := _ALTERED.search(clause):
            things = tuple(one for one in _things(clause, found) if one.noun not in _RELATIVES)
            yield Change(hydration.stems(clause), things, priced=priced)
        if over := [next(filter(None, one.groups())) for one in _DENIED.finditer(part)]:
            of_it = _OF_IT.match(clause) is not None
            yield Change(hydration.stems(sentence), over=hydration.stems(" ".join(over)), of_it=of_it)
    lower = sentence.lower()
    if found := _NOW.search(lower):
        clause = next((one for one in _CLAUSE.split(lower) if _NOW.search(one)), lower)
        what = [found["new"], *(one["what"] for one in [_IS.search(clause)] if one)]
        news = dict.fromkeys(filter(None, map(_thing, filter(None, what))))
        yield Change(hydration.stems(sentence), tuple(news), firm=found[0] == "instead")


def _things(clause: str, verb: re.Match[str]) -> Iterator[Thing]:
    """The subject of a verb and its object: `the airline` and `flight` in "the airline changed our flight"."""
    before = _AUXILIARIES.sub("", clause[: verb.start()])
    found = (before, *(one["what"] for one in [_OBJECT.search(clause, verb.start())] if one))
    yield from filter(None, map(_thing, found))


def _thing(phrase: str) -> Thing | None:
    """Its noun is the last word before a preposition: `start` in "Linnea's start at nursery"."""
    plain = _BEHIND.sub("", phrase.replace("’", "'"))
    words = [one.removesuffix("'s") for one in _WORD.findall(plain) if one.lower() not in _LEADING]
    if len(words) > 1 and words[-1].lower() in _ANY_THING:
        words.pop()  # "The Leith place" is called by the name of the town.
    if not words or words[-1].lower() in _PRONOUNS:
        return None
    return Thing(hydration.stem(words[-1].lower()), hydration.stems(" ".join(words[:-1])))


_MARKS = r"(?:(?:oh|oops|no|nope|nah|wait|ah|argh|hang on|hmm|sorry|apologies|my mistake|my bad|actually)\b[\s,:.!-]*)"
_CORRECTION = lazy_compile(
    rf"^\W*{_MARKS}*(?:i (?:meant|said|told you|got (?:that|it|this) wrong|mean(?=,? (?:the|on|it)\b))\b(?! to\b)"
    r"|make (?:that|it) |scratch that\b|correction\b)"
    rf"|^\W*{_MARKS}+(?:not\b|(?:it|that)(?:'s| is| was)\b"
    rf"|the [\w ]{{2,30}} (?:is|was|goes|starts|begins|leaves|ends)\b|(?:the |on )?(?:\d|{POINT}))"
    rf"|^\*[\w' ]{{2,30}}\W*$|^[\w' ]{{2,30}}\*$|\b(?:sorry,? )?not (?:on )?(?:the \d|{POINT})",
    re.IGNORECASE,
)
_WORD = lazy_compile(r"[^\W_]+(?:['-][^\W_]+)*")
_SENTENCE = lazy_compile(NOT_A_TITLE + r"(?<=[.!?;])\s+|\n+")
_CLAUSE = lazy_compile(
    r"[.!?,;:]\s|\s(?:because|cos|bc|since|so that|but"
    r"|(?:and|so)(?=\s(?:i|i've|i'm|we|we've|he|she|they|my|our|the|now|it)\b))\s",
    re.IGNORECASE,
)
_OF_IT = lazy_compile(r"\W*(?:turns out )?(?:it|that|they|she|he)(?:'s|'ve|'ll| )")
_PRICE = lazy_compile(r"[£$€]|\b(?:quid|pounds|euros|dollars|put [\w' ]{2,30} (?:up|down))\b")
_SOME = r"((?:(?:my|our|the|his|her|their|an?|with|on) )?[\w'-]+(?: [A-Z][\w'-]+)*)"
# "Not stroke", "instead of tea", "Rome is off", "packed in gymnastics".
_NOT = (
    r"(?:(?:\b[Ii]t(?:'s| is| was)|,|\w) not (?:actually |really )?|\bso no (?=\w+\W*$)"
    r"|\b(?:instead of|rather than|no more"
    r"|no longer(?: an?| on| at)?) )"
)
_IS_OVER = (
    r"\b([A-Z][\w-]+)(?:'s| is| has| was)(?: (?:now|been|just|already|sadly))* (?:off|cancell?ed|over|gone|left|leaving"
    r"|full|fully booked|booked up|sold out|retired|died|dead|closed|sold)\b"
    r"(?! (?:of|on|to|me|us|for|a|the|his|her|their|with)\b)"
)
# A firm, a band or a town that one left, and nobody who was left somewhere.
_GROUP_LEFT = (
    r"left(?= (?-i:[A-Z])[\w'-]*(?: (?-i:[A-Z])[\w'-]*)*"
    r"(?:$|[,.!;]| (?:after|for good|last|because|this|since|today|yesterday|now|altogether)\b))"
)
_LEFT = (
    r"\b(?i:packed in|given up|gave up|giving up|stopped|quit|dropped(?! out of)|sold|scrapped|got rid of|binned"
    r"|cancel(?:led|ling)?(?= [\w'-]+)(?! (?:on|by|because|due|again|last|this)\b)|called off"
    r"|withdr(?:ew|awn)(?= (?:from|my|our|the)\b)(?: from)?"
    rf"|(?:(?<=\bi )|(?<='ve )|(?<=just )|(?<=finally )){_GROUP_LEFT}|opted out of"
    r"|(?:pulled|backed|bailed|dropped) out of|bailed on|done(?= \w+ing\b)"
    r"|(?:can't|cannot|can not|couldn't|won't|not going to)(?= (?:do|make|go)\b) (?:do|make it to|go to)"
    r"|\bno(?= (?:[\w'-]+ ){1,3}for (?:me|us)\b)"
    r"|resigned from|not going back to|traded(?: in)?"
    r"|came off|come off|(?:took|taken) (?:me|us|him|her) off|broke up with|split up with|finished with"
    r"|not(?= \w+ing (?:any ?more|for a while|at the moment)\b)|no longer(?= \w+ing\b))"
)
_DENIED = lazy_compile(rf"{_NOT}{_SOME}(?=$|\W*$|,|\.|;| (?:and|but|so|any|after))|{_IS_OVER}|{_LEFT} {_SOME}")
# To another day or price, or off.
_OFF = lazy_compile(
    r"cancell?ed|called off|fell through|fallen through|\b(?:is|are|was|'s) off(?=$|[,.!;]| (?:now|because|after))"
)
# "Put back a week": the new day is told by the old one.
_BY_SOME = lazy_compile(
    rf"\b(?:moved|pushed|put|brought|delayed|shifted|slip(?:s|ped)|bumped)(?: (?:back|forward|on|by)){{1,2}}"
    rf" (?:by )?(?:{COUNT}|half an) (?:hour|day|week|fortnight|month)s?\b"
)
_MOVED = lazy_compile(
    rf"\b(?:(?:moved|pushed|brought|delayed|changed|shifted|extended|slip(?:s|ped)|bumped|put|rebooked|went|gone"
    rf"|goes)(?: [\w' ]{{1,30}}?)? (?:to|until|till|for(?= (?:the )?\d)) (?:[£$€]?\d|(?:the )?{POINT})"
    rf"|{_BY_SOME.pattern}"
    rf"|(?:become|became) (?:the )?(?:\w+ (?:of|on) )?(?:the )?(?:\d|{POINT})|postponed|rescheduled"
    rf"|{_OFF.pattern})"
)
# Otherwise than before, with what it is now elsewhere: "the airline changed our flight, we go on the 2nd".
_OVER = r"\b(?:resigned|stepped down|quit|retired|stopped|gave up|given up|sold|scrapped)\b"
_ALTERED = lazy_compile(
    rf"\b(?:moved|pushed|shifted|slipped|bumped|changed|altered|switched|swapped|extended|rearranged|rebooked|delayed"
    rf"|raised|upped|reduced|lowered|increased|halved|doubled|dropped"
    rf"|(?:handed|passed)(?= [\w' ]{{2,30}}? (?:over|on) to\b)|(?:taken|took|takes) over"
    rf"|put(?= [\w' ]{{2,30}} (?:up|down|back|off|forward)\b)"
    rf"|(?:gone|went|is|are|'s) (?:up|down)(?= to\b)|\w+ed(?= (?:my|our|the) [\w ]{{2,20}} back to\b)|{_OVER})"
)
_NOW = lazy_compile(
    r"\b(?:now(?! (?:that|and then|and again)\b)|instead|no longer|any ?more|from now on|these days|nowadays"
    r"|(?:my|our|the) [\w ]{2,20}(?:'s| is) (?:gonna|going to) be"
    r"|new (?P<new>(?:[\w'-]+ ){1,3}?)(?:is|are|will be|from)\b)"
)
_IS = lazy_compile(r"(?:^|[,;:] |\b(?:and|but|so) )(?P<what>[\w' -]{2,50}?)(?:'s|(?: is| are| will be))\b")
_AUXILIARIES = lazy_compile(
    r"(?:(?:'s|'ve|'re)?\s*\b(?:has|have|had|is|are|was|were|got|gets|been|being|be|just|now|again|finally|also|to|will|going))*"
    r"(?:'s|'ve|'re)?\s*$"
)
_OBJECT = lazy_compile(
    r"\b(?:as|my|our|the|his|her|their|\w+'s) (?P<what>(?:[\w'-]+ ){0,3}?[\w'-]+)"
    r"(?=$|[,.!;]| (?:to|over|up|down|back|forward|off|until|till|from|for|because|on|in|at|so|as|by|now|again|and"
    r"|since|of)\b)"
)
_BEHIND = lazy_compile(r"(?<=\w) (?:at|in|on|of|for|with|to|from|about|by)\b.*")
_LEADING_WORDS = (
    "so and but well ok okay oh yeah nvm nevermind anyway sadly unfortunately update"
    " a an the my our his her their your this that new old next first second last current whole"
)
_LEADING = frozenset(_LEADING_WORDS.split())
_ANY_THING = frozenset(("place", "thing", "deal", "idea"))
# "Dad is up to 4 mg" changes nothing else that is told of him.
_RELATIVES = hydration.stems(f"{PARENTS} {KIN_WORDS} wife husband partner".replace("|", " "))
_PRONOUN_WORDS = "i we he she they it you that this who which there"
_PRONOUNS = frozenset(_PRONOUN_WORDS.split())
