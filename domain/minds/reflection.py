"""Reflections: what was said and done in a conversation, grounded in its messages (A §11)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemolog.domain.extraction.proposals import grounded
from mnemolog.domain.extraction.validation import Fault, checked, is_filler, is_speculation
from mnemolog.domain.extraction.windows import Utterance
from mnemolog.domain.minds.links import SENTENCE_ENDS, links, unstated
from mnemolog.domain.summary import shortened
from mnemolog.domain.text import normalize_name
from mnemolog.domain.turn import Role

HYPOTHESIS = "Hypothesis (not stated, low confidence)"
MOST_CONFIDENCE = 0.3
"""The confidence of a hypothesis: at most so much, whatever the model says."""
SENTENCES, ITEMS, QUOTE, TAG = 4, 5, 200, 40
MOST_MESSAGES, LEAST_MESSAGES = 40, 2
WRITE_NEEDED = "memory_write_needed"
"""In the metadata of a message: reflect on the thread within a minute, without waiting for it to rest (A §7.2)."""


@dataclass(frozen=True, slots=True)
class Reflected:
    """The answer of the model: all empty if nothing is worth keeping.

    `observation`: what the user explicitly said; `action`: what the agent did; `evidence`: the user's own words where
    they link one thing to another; `unresolved`: what remains open; `tags`: the topics.
    """

    observation: str
    action: str
    evidence: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    hypothesis: str = ""
    hypothesis_confidence: float = 0.0
    tags: tuple[str, ...] = ()


class Reflection(Reflected):
    """What is left of an answer after the check."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """One line for each part that there is (A §11)."""
        evidence = "; ".join(f'"{one}"' for one in self.evidence)
        parts = (
            ("Observation", self.observation),
            ("Action", self.action),
            ("Evidence", evidence),
            ("Unresolved", "; ".join(self.unresolved)),
            (HYPOTHESIS, self.hypothesis),
        )
        return "\n".join(f"{name}: {said}" for name, said in parts if said)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The parts, as the memory keeps them."""
        hypothesis = {"text": self.hypothesis, "confidence": self.hypothesis_confidence} if self.hypothesis else None
        return {
            "observation": self.observation,
            "action": self.action,
            "evidence": list(self.evidence),
            "unresolved": list(self.unresolved),
            "hypothesis": hypothesis,
        }


def worth_reflecting(messages: Sequence[Utterance]) -> bool:
    """Whether the user said more than greetings, and something was said by two."""
    return len(messages) >= LEAST_MESSAGES and any(one.of_user and not is_filler(one.text) for one in messages)


def judge(answer: Reflected, messages: Sequence[Utterance]) -> tuple[Reflection | None, Sequence[Fault]]:
    """What an answer about these messages may be kept as, and why the rest is left out.

    A sentence is left out that has names or numbers which were not said, that guesses, or that says why something is
    so, if the user did not: guesses belong in the hypothesis. Without an observation nothing is kept.
    """
    own = [one.text for one in messages if one.of_user]
    done = [one.text for one in messages if one.role is Role.ASSISTANT]
    heard, faults = [*own, *done], list[Fault]()

    def kept(text: str, sources: Sequence[str]) -> str:
        sentences = SENTENCE_ENDS.split(text.strip())
        return " ".join(_kept(sentences, lambda one: _fault(one, sources, own), faults)[:SENTENCES])

    observation = kept(answer.observation, own)
    action = kept(answer.action, heard)
    evidence = _kept(answer.evidence, lambda one: None if _quotes(one, own) else Fault.UNSTATED, faults)
    unresolved = _kept(answer.unresolved, lambda one: _fault(one, heard, own), faults)
    hypothesis = _kept([answer.hypothesis], lambda one: _unsound(one, heard), faults)
    if not observation:
        return None, faults
    guess = hypothesis[0] if hypothesis else ""
    return Reflection(
        observation=observation,
        action=action,
        evidence=tuple(shortened(one.strip("\"'“”"), QUOTE) for one in evidence[:ITEMS]),
        unresolved=tuple(shortened(one, QUOTE) for one in unresolved[:ITEMS]),
        hypothesis=guess,
        hypothesis_confidence=min(MOST_CONFIDENCE, max(0.0, answer.hypothesis_confidence)) if guess else 0.0,
        tags=tuple(dict.fromkeys(tag for one in answer.tags if (tag := shortened(" ".join(one.split()), TAG))))[:ITEMS],
    ), faults


def _kept(items: Sequence[str], fault_of: Callable[[str], Fault | None], faults: list[Fault]) -> list[str]:
    found = list[str]()
    for one in (" ".join(item.split()) for item in items):
        if not one:
            continue
        if fault := fault_of(one):
            faults.append(fault)
        else:
            found.append(one)
    return found


def _fault(text: str, sources: Sequence[str], own: Sequence[str]) -> Fault | None:
    if is_speculation(text):
        return Fault.SPECULATION
    return Fault.UNSTATED if unstated(text, own) else _unsound(text, sources)


def _unsound(text: str, sources: Sequence[str]) -> Fault | None:
    sentence = checked(text)
    if isinstance(sentence, Fault):
        return sentence
    return None if grounded(text, sources) else Fault.UNGROUNDED


def _quotes(text: str, own: Sequence[str]) -> bool:
    """Whether somebody said so in these words, and links two things with them."""
    words = normalize_name(text.strip("\"'“”. "))
    return any(words in normalize_name(message) for message in own) and any(True for _ in links(text))
