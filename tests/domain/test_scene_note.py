"""Scene notes: what a patrol makes a memory of, and what it keeps and marks (C)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.scene import Dated, Emotion, Experience, Scene
from mnemolog.domain.scene_note import PARSE_FAILED, SceneNote, marked, parsed

PLAIN: dict[str, Any] = {"action": "Mia won", "actors": ["Mia"], "when": ["2026-01-03"]}


@pytest.mark.spec_part("C05")
def test_a_note_says_a_scene_and_what_stands_beside_it() -> None:
    beside = {"feeling": "proud", "themes": ["sport"], "emotion": {"valence": 1}, "cluster": "Private/races"}
    when = [{"date": "Day7", "action": "the start"}]

    note = parsed(json.dumps({**PLAIN, **beside, "when": when, "importance": 0.75}))

    scene = Scene("Mia won", ("Mia",), (Dated("Day7", "the start"),))
    experience = Experience(scene, "proud", ("sport",), Emotion(valence=1.0), "Private/races")
    assert note == SceneNote(experience, 0.75)


@pytest.mark.spec_part("C05")
@pytest.mark.parametrize(("importance", "weight"), [(None, 0.5), (0, 0.0), (-3, 0.0), (0.3, 0.3), (1, 1.0), (7.5, 1.0)])
def test_an_importance_is_clamped(importance: float | None, weight: float) -> None:
    note = parsed(json.dumps({**PLAIN, "importance": importance}))
    assert note
    assert note.importance == weight


@pytest.mark.spec_part("C05")
@pytest.mark.parametrize(
    "text",
    [
        "Mia won",
        "[]",
        "null",
        '{"action": "Mia won"',
        json.dumps({"action": "Mia won"}),
        json.dumps({**PLAIN, "actors": "Mia"}),
        json.dumps({**PLAIN, "mood": "glad"}),
        json.dumps({**PLAIN, "importance": "high"}),
        json.dumps({**PLAIN, "importance": True}),
        '{"action": "x", "actors": [], "when": [], "importance": NaN}',
        json.dumps({**PLAIN, "cluster": "Holiday"}),
        "[" * 100_000,
    ],
)
def test_what_does_not_parse_is_marked_once_and_parses_once_it_is_repaired(text: str) -> None:
    assert parsed(text) is None
    assert marked(text) == f"{PARSE_FAILED} {text}"
    assert marked(marked(text)) == marked(text)
    assert parsed(marked(text)) is None
    assert parsed(marked(json.dumps(PLAIN))) == parsed(json.dumps(PLAIN)) is not None


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_text_parses_or_does_not(text: str) -> None:
    assert parsed(text) is None
