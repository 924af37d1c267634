"""What a message tells to be different from before: moved to another day, put up, cancelled, new, or so only now.

By rules, which know English.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemolog.domain import hydration
from mnemolog.domain.extraction.clauses import LONGEST
from mnemolog.domain.extraction.times import POINT
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
    now. `off`: it has no other day or price.
    """

    stems: frozenset[str]
    things: tuple[Thing, ...] = ()
    firm: bool = False
    off: bool = False

    def about(self, words: frozenset[str], told: frozenset[str]) -> bool:
        """Whether one of the things is among these words, and is not said to be of anything that was not told."""
        return any(one.noun in words and one.of <= told for one in self.things)


def changes(text: str) -> Sequence[Change]:
    """
    >>> [one] = changes("Good news: the exam was pushed to 9 May")
    >>> one.things[0].noun, one.firm, one.off
    ('exam', True, False)
    """
    return [one for sentence in _SENTENCE.split(text[:LONGEST]) for one in _told_in(sentence)]


def _told_in(sentence: str) -> Iterator[Change]:
    for clause in _CLAUSE.split(sentence):
        if found := _MOVED.search(clause):
            said, off = hydration.stems(clause[: found.end()]), _OFF.search(clause) is not None
            yield Change(said, tuple(_things(clause, found)), firm=True, off=off)
        elif found := _ALTERED.search(clause):
            yield Change(hydration.stems(clause), tuple(_things(clause, found)), off=_OVER.search(clause) is not None)
    if found := _NOW.search(sentence):
        clause = next((one for one in _CLAUSE.split(sentence) if _NOW.search(one)), sentence)
        what = [found["new"], *(one["what"] for one in [_IS.search(clause)] if one)]
        things = dict.fromkeys(filter(None, map(_thing, filter(None, what))))
        yield Change(hydration.stems(sentence), tuple(things), firm=found[0].lower() == "instead")


def _things(clause: str, verb: re.Match[str]) -> Iterator[Thing]:
    """The subject of a verb and its object: `the airline` and `flight` in "the airline changed our flight"."""
    before = _AUXILIARIES.sub("", clause[: verb.start()])
    found = (before, *(one["what"] for one in [_OBJECT.search(clause, verb.start())] if one))
    yield from filter(None, map(_thing, found))


def _thing(phrase: str) -> Thing | None:
    """Its noun is the last word before a preposition: `start` in "Linnea's start at nursery"."""
    plain = _BEHIND.sub("", phrase.replace("’", "'"))
    words = [one.removesuffix("'s") for one in _WORD.findall(plain) if one.lower() not in _LEADING]
    if not words or words[-1].lower() in _PRONOUNS:
        return None
    return Thing(hydration.stem(words[-1].lower()), hydration.stems(" ".join(words[:-1])))


_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_SENTENCE = re.compile(NOT_A_TITLE + r"(?<=[.!?;])\s+|\n+")
_CLAUSE = re.compile(
    r"[.!?,;:]\s|\s(?:because|cos|bc|since|so that|but"
    r"|(?:and|so)(?=\s(?:i|i've|i'm|we|we've|he|she|they|my|our|the|now|it)\b))\s",
    re.IGNORECASE,
)
# To another day or price, or off.
_OFF = re.compile(
    r"cancell?ed|called off|fell through|fallen through|\b(?:is|are|was|'s) off(?=$|[,.!;]| (?:now|because|after))",
    re.IGNORECASE,
)
_MOVED = re.compile(
    rf"\b(?:(?:moved|pushed|brought|delayed|changed|shifted|extended|put|went|gone|goes)(?: [\w' ]{{1,30}}?)?"
    rf" (?:to|until|till) (?:[£$€]?\d|(?:the )?{POINT})|postponed|rescheduled|{_OFF.pattern})",
    re.IGNORECASE,
)
# Otherwise than before, with what it is now elsewhere: "the airline changed our flight, we go on the 2nd".
_OVER = re.compile(r"\b(?:resigned|stepped down|quit|retired|stopped|gave up|given up|sold|scrapped)\b", re.IGNORECASE)
_ALTERED = re.compile(
    rf"\b(?:moved|pushed|shifted|changed|altered|switched|swapped|extended|rearranged|rebooked|delayed|raised|upped|reduced"
    rf"|lowered|increased|halved|doubled|dropped|put(?= [\w' ]{{2,30}} (?:up|down|back|off|forward)\b)"
    rf"|(?:gone|went|is|are|'s) (?:up|down)(?= to\b)|{_OVER.pattern})",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\b(?:now(?! (?:that|and then|and again)\b)|instead|no longer|any ?more|from now on|these days|nowadays"
    r"|new (?P<new>(?:[\w'-]+ ){1,3}?)(?:is|are|will be|from)\b)",
    re.IGNORECASE,
)
_IS = re.compile(r"(?:^|[,;:] |\b(?:and|but|so) )(?P<what>[\w' -]{2,50}?)(?:'s|(?: is| are| will be))\b", re.IGNORECASE)
_AUXILIARIES = re.compile(
    r"(?:(?:'s|'ve|'re)?\s*\b(?:has|have|had|is|are|was|were|got|gets|been|being|be|just|now|again|finally|also|to|will|going))*"
    r"(?:'s|'ve|'re)?\s*$",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"\b(?:as|my|our|the|his|her|their|\w+'s) (?P<what>(?:[\w'-]+ ){0,3}?[\w'-]+)"
    r"(?=$|[,.!;]| (?:to|up|down|back|forward|off|until|till|from|for|because|on|in|at|so|as|by|now|again|and|since"
    r"|of)\b)",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?<=\w) (?:at|in|on|of|for|with|to|from|about|by)\b.*", re.IGNORECASE)
_LEADING_WORDS = "a an the my our his her their your this that new old next first second last current"
_LEADING = frozenset(_LEADING_WORDS.split())
_PRONOUN_WORDS = "i we he she they it you that this who which there"
_PRONOUNS = frozenset(_PRONOUN_WORDS.split())
