"""The text that searches find a message by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.message import full_text
from mnemolog.domain.turn import Shown

texts = st.text(max_size=40)


@pytest.mark.parametrize(
    ("speaker", "text", "attachments", "found_by"),
    [
        ("Ana", "Look!", [Shown("image", "a red bicycle")], "Ana: Look! [image: a red bicycle]"),
        ("Ana", "I moved", [], "Ana: I moved"),
        ("", "I moved", [], "I moved"),
        ("Ana", "", [Shown("file", "a CV"), Shown("audio", "a song")], "Ana: [file: a CV] [audio: a song]"),
        ("Ana", "Look!", [Shown("image", "")], "Ana: Look!"),
    ],
)
def test_a_message_is_found_by_speaker_text_and_captions(
    speaker: str, text: str, attachments: list[Shown], found_by: str
) -> None:
    assert full_text(speaker, text, attachments) == found_by


@given(texts, texts, st.lists(st.builds(Shown, st.sampled_from(["image", "link"]), texts), max_size=3))
def test_nothing_that_was_said_or_shown_is_left_out(speaker: str, text: str, shown: list[Shown]) -> None:
    found_by = full_text(speaker, text, shown)

    assert speaker in found_by
    assert text.strip() in found_by
    assert all(item.caption in found_by for item in shown)
