"""The text that searches find a message by."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.artifact import ArtifactType, surrogate
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.message import captions_of, full_text, labels_of, with_lines
from mnemolog.domain.turn import Shown

texts = st.text(max_size=40)
types = st.sampled_from(["image", "audio", "file", "link"])


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


@given(st.lists(st.tuples(types, st.uuids(), texts), min_size=1, max_size=4))
def test_a_message_without_words_has_a_line_for_each_attachment(shown: list[tuple[str, UUID, str]]) -> None:
    bare = labels_of([(type_, f"artifact:{id_}") for type_, id_, _ in shown])
    lines = [surrogate(ArtifactType(type_), id_, text) for type_, id_, text in shown]

    assert with_lines(bare, lines).split("\n") == lines
    assert bare.count("\n") == len(shown) - 1


@given(types, texts.filter(str.strip))
def test_a_caption_takes_the_place_of_the_label(type_: str, caption: str) -> None:
    [line] = captions_of([Shown(type_, caption)])

    assert with_lines(labels_of([(type_, "https://a.example/1")]), [line]) == line
    assert with_lines("Look!", [line]) == f"Look! {line}"


def test_neither_words_nor_attachments_are_no_message() -> None:
    with pytest.raises(InvalidInput, match="is empty"):
        labels_of([])
