"""The sentence that is remembered of a turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.turn import Shown, as_memory

texts = st.text(max_size=40)


@pytest.mark.parametrize(
    ("speaker", "text", "attachments", "remembered"),
    [
        ("Ana", "Look!", [Shown("image", "a red bicycle")], "Ana: Look! [image: a red bicycle]"),
        ("Ana", "I moved", [], "Ana: I moved"),
        ("", "I moved", [], "I moved"),
        ("Ana", "", [Shown("file", "a CV"), Shown("audio", "a song")], "Ana: [file: a CV] [audio: a song]"),
        ("Ana", "Look!", [Shown("image", "")], "Ana: Look!"),
    ],
)
def test_a_turn_is_remembered_with_speaker_words_and_what_was_shown(
    speaker: str, text: str, attachments: list[Shown], remembered: str
) -> None:
    assert as_memory(speaker, text, attachments) == remembered


@given(texts, texts, st.lists(st.builds(Shown, st.sampled_from(["image", "link"]), texts), max_size=3))
def test_nothing_that_was_said_or_shown_is_left_out(speaker: str, text: str, shown: list[Shown]) -> None:
    remembered = as_memory(speaker, text, shown)

    assert speaker in remembered
    assert text.strip() in remembered
    assert all(item.caption in remembered for item in shown)
