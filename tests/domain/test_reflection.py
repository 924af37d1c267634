"""Reflections: grounded in what was said, and no cause that nobody stated (A §11)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.extraction.windows import Utterance
from mnemolog.domain.minds.links import unstated
from mnemolog.domain.minds.reflection import MOST_CONFIDENCE, Reflected, judge, worth_reflecting
from mnemolog.domain.turn import Role
from tests.testkit.clock import START

pytestmark = pytest.mark.spec_part("A18")


def said(*texts: str) -> Sequence[Utterance]:
    """What the user and the assistant said in turns."""
    roles = (Role.USER, Role.ASSISTANT)
    return [Utterance(n, f"m-{n}", roles[n % 2], "", text, START) for n, text in enumerate(texts)]


CHAT = said(
    "I quit my job at Acme. My commute takes two hours.",
    "I listed three jobs in Lisbon.",
    "I am tired because I sleep badly. Which job pays best?",
)


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("The user quit the job at Acme.", False),
        ("The user is tired because the user sleeps badly.", False),
        ("The user sleeps badly, so the user is tired.", False),
        ("The user is tired due to bad sleep.", False),
        ("The user sleeps badly because the user is tired.", True),
        ("The user quit because the commute takes two hours.", True),
        ("The long commute led to the user quitting the job.", True),
        ("The user quit. That is why the user is tired.", True),
        ("Because of the commute, the user quit.", True),
        ("The commute made the user quit.", True),
        ("The user has worked at Acme since March.", False),
        ("The user is tired since the user quit.", True),
        ("Die Person hat gekündigt, weil der Arbeitsweg lang ist.", True),
        ("La persona renunció porque el trayecto es largo.", True),
        ("ユーザーは通勤が長いので仕事を辞めた。", True),
    ],
)
def test_a_cause_counts_only_if_the_user_stated_it(text: str, invented: bool) -> None:
    assert unstated(text, [one.text for one in CHAT if one.of_user]) is invented


def test_what_was_said_done_and_left_open_is_kept() -> None:
    answer = Reflected(
        observation="The user quit the job at Acme. The user is tired because the user sleeps badly.",
        action="The assistant listed three jobs in Lisbon.",
        evidence=('"I am tired because I sleep badly."',),
        unresolved=("Which job pays best?",),
        hypothesis="The commute is the reason for quitting.",
        hypothesis_confidence=0.9,
    )
    reflection, faults = judge(answer, CHAT)
    assert reflection is not None
    assert faults == []
    assert reflection.text.splitlines() == [
        "Observation: The user quit the job at Acme. The user is tired because the user sleeps badly.",
        "Action: The assistant listed three jobs in Lisbon.",
        'Evidence: "I am tired because I sleep badly."',
        "Unresolved: Which job pays best?",
        "Hypothesis (not stated, low confidence): The commute is the reason for quitting.",
    ]
    assert reflection.hypothesis_confidence == MOST_CONFIDENCE


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Reflected("The user quit because the commute takes two hours.", ""), Fault.UNSTATED),
        (Reflected("The user quit the job at Siemens.", ""), Fault.UNGROUNDED),
        (Reflected("The user has a commute of 3 hours.", ""), Fault.UNGROUNDED),
        (Reflected("The user seems to be unhappy with the job at Acme.", ""), Fault.SPECULATION),
        (Reflected("He quit the job at Acme.", ""), Fault.PRONOUN),
    ],
)
def test_an_observation_that_was_not_said_is_refused(answer: Reflected, fault: Fault) -> None:
    assert judge(answer, CHAT) == (None, [fault])


def test_evidence_is_quoted_from_the_user_and_links_two_things() -> None:
    invented = ("I quit because of my commute", "I quit my job at Acme")
    reflection, faults = judge(Reflected("The user quit the job at Acme.", "", evidence=invented), CHAT)
    assert reflection is not None
    assert reflection.evidence == ()
    assert faults == [Fault.UNSTATED, Fault.UNSTATED]


def test_the_rest_is_kept_when_one_part_is_refused() -> None:
    answer = Reflected("The user quit the job at Acme. The user quit because of the commute.", "The agent called Bob.")
    reflection, faults = judge(answer, CHAT)
    assert reflection is not None
    assert (reflection.observation, reflection.action) == ("The user quit the job at Acme.", "")
    assert faults == [Fault.UNSTATED, Fault.UNGROUNDED]


@given(st.lists(st.sampled_from(["I moved", "so", "because", "the flat is small", ".", "I quit", ","]), max_size=12))
def test_what_the_user_said_word_for_word_is_never_an_invented_cause(words: list[str]) -> None:
    message = " ".join(words)
    assert not unstated(message, [message])


def test_greetings_are_not_worth_a_reflection() -> None:
    assert not worth_reflecting(said("Hi!", "Hello, how can I help?"))
    assert not worth_reflecting(said("I quit my job at Acme."))
    assert worth_reflecting(CHAT)
