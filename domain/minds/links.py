"""Causal links: whether somebody stated that one thing is because of another (A §11: no invented causality).

A sentence that says why is a pair of a cause and an effect, told apart by a word such as "because" or "so". It is
stated if a message of the user has such a pair with half of the words of each side.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import normalize_name, search_terms

SHARE = 0.5
_STEM = 4
SENTENCE_ENDS = lazy_compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|\s*\n+\s*")
# Of time rather than of cause: "since March", "since 2024".
_TIME = (
    r"(?!\s+(?:\d|then\b|last\b|yesterday\b|childhood\b|early\b|late\b|about\b|around\b|at least\b|birth\b|school\b|the (?:age|beginning"
    r"|start|end|last)\b|(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday)\b))"
)
# The effect comes first: English, German, Spanish, Polish, Russian, Japanese (there the cause is first in any case).
_BECAUSE = lazy_compile(
    rf"\b(?:because(?: of)?|'cause|due to|owing to|thanks to|on account of|as a (?:result|consequence) of|since{_TIME}"
    r"|caused by|triggered by|driven by|stems? from|stemming from|results? from|resulting from|the reason (?:is|was)(?: that)?"
    r"|out of (?:fear|guilt|love|anger|habit|loneliness|grief|shame|boredom)"
    r"|weil|denn|da(?=\s+(?:ich|er|sie|es|wir|der|die|das)\b)|wegen|aufgrund|infolge|dank"
    r"|porque|debido a|ya que|puesto que|a causa de|gracias a"
    r"|ponieważ|bo|gdyż|z powodu|dzięki|przez to,? że"
    r"|потому что|так как|из-за|благодаря|вследствие|поскольку)\b",
    re.IGNORECASE,
)
# The cause comes first.
_SO = lazy_compile(
    r"\b(?:therefore|thus|hence|consequently|as a (?:result|consequence)|so that|that is why|that's why|which is why|this is why"
    r"|caus(?:es|ed|ing)|l(?:ed|eads|eading) to|result(?:s|ed|ing) in|trigger(?:s|ed|ing)|explains?|explained why"
    r"|ma(?:de|kes|king) (?:the )?(?:user|me|us|him|her|them)"
    r"|deshalb|deswegen|daher|darum|sodass|so dass|führte zu|verursachte"
    r"|por eso|por lo tanto|así que|como resultado"
    r"|dlatego|więc|w rezultacie|spowodowa\w+"
    r"|поэтому|следовательно|в результате|прив[её]л\w* к)\b|(?:,|;)\s*so\b(?!\s+(?:far|much|many|long)\b)"
    r"|ので|ために|せいで|おかげで|だから|したがって",
    re.IGNORECASE,
)
# Words that are in any sentence about the user or the conversation.
_COMMON = frozenset({"user", "assistant", "agent", "said", "says", "told", "felt", "feel", "feels", "feeling"})


@dataclass(frozen=True, slots=True)
class Link:
    """The meaningful words of a cause and of its effect, as stems."""

    cause: frozenset[str]
    effect: frozenset[str]

    def states(self, other: "Link") -> bool:
        """Whether this link, as the user stated it, is the other one."""
        return _covers(self.cause, other.cause) and _covers(self.effect, other.effect)


def unstated(text: str, said: Sequence[str]) -> bool:
    """Whether a text says why something is so, and none of the messages `said` it.

    >>> unstated("The user quit because the commute was long.", ["I quit. The commute was long."])
    True
    >>> unstated("The user quit because the commute was long.", ["I quit because of my long commute"])
    False
    >>> unstated("The commute was long because the user quit.", ["I quit because of my long commute"])
    True
    """
    stated = [link for message in said for link in links(message)]
    return any(not any(one.states(link) for one in stated) for link in links(text))


def links(text: str) -> Iterator[Link]:
    """The causal links that a text states, in its order."""
    before = ""
    for sentence in filter(str.strip, SENTENCE_ENDS.split(text)):
        for found in _BECAUSE.finditer(sentence):
            effect, cause = sentence[: found.start()], sentence[found.end() :]
            if not _stems(effect):  # "Because of the rain, the trip was off."
                cause, _, effect = cause.partition(",")
            yield from _link(cause, effect)
        for found in _SO.finditer(sentence):
            cause, effect = sentence[: found.start()], sentence[found.end() :]
            yield from _link(cause if _stems(cause) else before, effect)
        before = sentence


def _link(cause: str, effect: str) -> Iterator[Link]:
    link = Link(_stems(cause), _stems(effect))
    if link.cause and link.effect:
        yield link


def _stems(text: str) -> frozenset[str]:
    words = (normalize_name(word) for word in search_terms(text))
    return frozenset(word[:_STEM] for word in words if word not in _COMMON)


def _covers(known: frozenset[str], wanted: frozenset[str]) -> bool:
    return len(known & wanted) >= SHARE * len(wanted)
