"""Windows: the messages of a thread that a model reads together, and why it does (B13)."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.domain.extraction.validation import is_filler
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.turn import Role

MOST_MESSAGES = 10
"""Messages of a window."""


class Trigger(StrEnum):
    """Why the model reads a window: a long message, one that seems to state something lasting, or the end of an episode.

    `summary`: what the final summary of an episode proposes (E03).
    """

    LENGTH = "length"
    CLASSIFIER = "classifier"
    EPISODE = "episode"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Utterance:
    """A message as it is read; `seq` is its place in the log, `at` when it was said."""

    seq: int
    turn_id: str
    role: Role
    speaker: str
    text: str
    at: datetime

    @property
    def of_user(self) -> bool:
        return self.role is Role.USER


@dataclass(frozen=True, slots=True)
class Window:
    """Messages that nothing is added to. Without a trigger no model reads them."""

    messages: tuple[Utterance, ...]
    trigger: Trigger | None


def windows(
    messages: Sequence[Utterance], ends: Collection[str], policy: ExtractionPolicy, *, quiet: bool
) -> Iterator[Window]:
    """The closed windows of a thread, oldest first; what is left is read later, with the messages to come.

    A window closes with the last message of an episode (`ends`), with its tenth message, and, if something in it
    triggers the model, once the thread is `quiet`.
    """
    open_ones: list[Utterance] = []
    for one in messages:
        open_ones.append(one)
        over = one.turn_id in ends
        if over or len(open_ones) == MOST_MESSAGES:
            yield Window(tuple(open_ones), _trigger(open_ones, policy, over=over))
            open_ones = []
    if quiet and (trigger := _trigger(open_ones, policy, over=False)):
        yield Window(tuple(open_ones), trigger)


def _trigger(messages: Sequence[Utterance], policy: ExtractionPolicy, *, over: bool) -> Trigger | None:
    said = [one.text for one in messages if one.of_user]
    if any(len(text) >= policy.long_message for text in said):
        return Trigger.LENGTH
    if any(map(seems_lasting, said)):
        return Trigger.CLASSIFIER
    return Trigger.EPISODE if over and not all(map(is_filler, said)) else None


def seems_lasting(text: str) -> bool:
    """The classifier: whether a message may state a fact, a preference, a decision, a procedure or a plan.

    It looks for words that such statements have, in English. It errs towards asking the model.

    >>> seems_lasting("From now on I take the train."), seems_lasting("What's the weather like?")
    (True, False)
    """
    return not is_filler(text) and _CUES.search(text) is not None


_CUES = lazy_compile(
    r"\b(?:i|we)(?:'m| am|'ve| have|'re| are)? (?:just |finally |recently |now |always |never |usually |really |both )*"
    r"(?:live|moved|moving|found|signed|getting married|handed in|split up|broken up|broke up|separated|retired|stay|staying|work|started|joined|left|quit|got|bought|sold|adopted|married|engaged|broke|decided|agreed|chose"
    r"|picked|settled|plan|planning|prefer|love|hate|enjoy|like|dislike|can't stand|allergic|vegan|vegetarian|diagnosed"
    r"|pregnant|studying|study|speak|learn|learning|train|training|take|use|need to|have to|must|promised|hired|graduated"
    r"|born|called|no longer|stopped|gave up|switched|outgrew|outgrown|mixed up|cancelled|canceled|booked|don't (?:live|work|drive|eat|drink|like)|want)\b"
    r"|\bmy (?:new |old |older |younger |best |big |little )*(?:name|birthday|wife|husband|partner|son|daughter|sister|brother|mother"
    r"|father|mum|mom|dad|dog|cat|job|boss|manager|doctor|company|team|home|flat|house|goal|plan|favou?rite|address|car|allergy"
    r"|diet|budget|deadline|exam|wedding|trip|project)\b"
    r"|\b(?:remember|remind me|don't forget|from now on|always|never|every (?:day|week|month|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|morning|evening)|let's|we agreed|it's decided|the plan is|step \d|deadline|any ?more|died|passed away|pregnant|proposed|wedding|given up|gone (?:freelance|vegan|vegetarian)|operation|surgery|put me on|(?:took|taken) me off"
    r"|(?:is|are|'s) called|(?:is|was|been) (?:moved|postponed|cancelled|canceled)|(?:he|she|they) (?:left|works?|lives?|moved|quit|joined)"
    r"|(?:has|have|'s) (?:a new|moved|left|separated|met)|(?:i|we) took the|moved (?:back|in|to)|is off|(?:and|&) i (?:are|have been|got|were)|(?:dad|mum|mom|nan) (?:and|has|is|moved))\b",
    re.IGNORECASE,
)
