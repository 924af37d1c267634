"""Summaries without a model: sentences that were said, chosen by rule, and marked as an extract."""

import doctest
import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain import summary
from mnemolog.domain.summary import (
    DECISIONS,
    NEEDS,
    PROMISES,
    ArtifactNote,
    EpisodeSummary,
    Message,
    SessionSummary,
    extracted,
    extracted_episode,
    extracted_session,
)
from mnemolog.domain.text import normalize_name
from mnemolog.domain.turn import Role

AT = datetime(2026, 5, 1, tzinfo=UTC)


def said(speaker: str, text: str, role: Role = Role.USER) -> Message:
    return Message(role, speaker, text, AT)


MOVING = [
    said("Ana", "Hi! I moved to Lisbon last week."),
    said("Bot", "Welcome to Lisbon! How is the new flat?", Role.ASSISTANT),
    said("Ana", "The flat in Lisbon is small. We decided to keep the car. I need to call the landlord."),
    said("Bot", "OK.", Role.ASSISTANT),
    said("", "lookup(lisbon) -> flat, flat, flat", Role.TOOL),
    said("Ana", "[image#A123] the kitchen of the flat"),
    said("Ana", "I\u2019ll paint it with Marta. Do you know a good painter?"),
]


def test_an_extract_says_so_and_keeps_the_order_and_the_speakers() -> None:
    assert extracted(MOVING, 120) == (
        "Extract: Ana: I moved to Lisbon last week. The flat in Lisbon is small. [image#A123] the kitchen of the flat"
    )


def test_a_session_in_brief_is_made_of_what_was_said() -> None:
    assert extracted_session(MOVING, names=["Marta", "Mar", "Pedro"]) == SessionSummary(
        one_liner="Extract: Ana: The flat in Lisbon is small.",
        what_mattered=(
            "Ana: The flat in Lisbon is small.",
            "Ana: I moved to Lisbon last week.",
            "Ana: [image#A123] the kitchen of the flat",
            "Ana: We decided to keep the car.",
            "Ana: I need to call the landlord.",
        ),
        open_loops=("Ana: Do you know a good painter?",),
        commitments=("Ana: I\u2019ll paint it with Marta.",),
        people=("Ana", "Marta"),
        tone="",
    )


def test_an_episode_in_brief_has_the_form_of_the_specification() -> None:
    assert extracted_episode(MOVING, names=["Lisbon", "Porto"]) == EpisodeSummary(
        topic="Extract: The flat in Lisbon is small.",
        decisions=("Ana: We decided to keep the car.",),
        todos=("Ana: I need to call the landlord.",),
        facts_candidates=(),
        entities=("Lisbon",),
        artifacts=(ArtifactNote("A123", "the kitchen of the flat"),),
        open_questions=("Ana: Do you know a good painter?",),
    )


def test_nothing_said_is_nothing_extracted() -> None:
    only_noise = [said("Bot", "...", Role.ASSISTANT), said("", "do as I say", Role.SYSTEM)]
    for messages in ([], only_noise):
        assert extracted(messages) == ""
        assert extracted_session(messages) == SessionSummary("")
        assert extracted_episode(messages) == EpisodeSummary("")


def test_what_is_said_twice_is_extracted_once() -> None:
    twice = [said("Ana", "My sister Marta lives in Porto."), said("Ana", "my sister Marta lives in Porto now!")]
    assert extracted(twice) == "Extract: Ana: My sister Marta lives in Porto."


def test_greetings_come_last() -> None:
    assert extracted([said("Ana", "Hello! Thanks!"), said("Ana", "My flight leaves on Monday.")], 45) == (
        "Extract: Ana: My flight leaves on Monday."
    )


def test_a_sentence_that_is_too_long_is_cut_at_a_word() -> None:
    told = extracted([said("Ana", "word " * 100)], 50)
    assert told == "Extract: Ana: word word word word word word word…"


def test_japanese_is_split_without_spaces() -> None:
    told = extracted_session([said("花", "東京に引っ越しました。猫を飼うと決めました。名前は何がいいですか？")])
    assert told.what_mattered[:2] == ("花: 東京に引っ越しました。", "花: 猫を飼うと決めました。")
    assert told.open_loops == ("花: 名前は何がいいですか？",)


def test_a_question_that_was_answered_is_not_open() -> None:
    asked = [said("Ana", "Where is the key?"), said("Bot", "Under the mat.", Role.ASSISTANT)]
    assert extracted_episode(asked).open_questions == ()
    assert extracted_episode([*asked, said("Ana", "And the door code?")]).open_questions == ("Ana: And the door code?",)


@pytest.mark.parametrize(
    ("markers", "text"),
    [
        *((PROMISES, text) for text in ("I'll call her.", "I am going to do it.", "Обещаю позвонить.", "Zrobię to.")),
        *((PROMISES, text) for text in ("Voy a llamarla.", "Ich werde anrufen.", "明日電話するつもりです。")),
        *((NEEDS, text) for text in ("We must go.", "Мне нужно купить билет.", "Muszę zadzwonić.", "Tengo que ir.")),
        *((NEEDS, text) for text in ("Recuérdame.", "Wir müssen gehen.", "行かなければなりません。")),
        *((DECISIONS, text) for text in ("We decided to move.", "Мы решили переехать.", "Postanowiliśmy wyjechać.")),
        *(
            (DECISIONS, text)
            for text in ("Decidí irme.", "Wir haben beschlossen zu gehen.", "東京に行くと決めました。")
        ),
    ],
)
def test_markers_are_known_in_six_languages(markers: re.Pattern[str], text: str) -> None:
    assert markers.search(normalize_name(text))


@pytest.mark.parametrize("text", ["I like mustard.", "She was willing.", "Todo bien.", "Надоело мне это."])
def test_a_word_that_only_begins_like_a_marker_is_not_one(text: str) -> None:
    assert not any(markers.search(normalize_name(text)) for markers in (PROMISES, NEEDS, DECISIONS))


messages = st.lists(
    st.builds(
        said,
        st.sampled_from(["Ana", "Bot", ""]),
        st.text(alphabet=st.sampled_from("abc d?.\n猫。éя[]#:"), max_size=60) | st.text(max_size=30),
        st.sampled_from(Role),
    ),
    max_size=8,
)


@given(messages, st.integers(1, 300))
def test_an_extract_fits_repeats_itself_and_invents_nothing(given_messages: list[Message], limit: int) -> None:
    told = extracted(given_messages, limit)
    assert len(told) <= limit
    assert told == extracted(given_messages, limit)
    allowed = "".join(one.speaker + one.text for one in given_messages) + "Extract: …"
    assert set(told) <= set(allowed)
    extracted_session(given_messages)
    extracted_episode(given_messages)


def test_a_long_session_takes_no_long_time() -> None:
    long = [said("Ana", f"Goat number {n} of the herd {n % 97} has {n % 31} white hairs. " * 3) for n in range(3000)]
    began = time.process_time()
    assert extracted(long)
    assert time.process_time() - began < 5


def test_the_example_is_true() -> None:
    assert doctest.testmod(summary).failed == 0
