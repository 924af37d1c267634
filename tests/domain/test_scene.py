"""Scenes in the format of C: both forms of `when`, how they read, what is embedded, and what is refused."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.scene import (
    MAX_PARTS,
    Dated,
    Emotion,
    Experience,
    Scene,
    absorbing,
    emotion_of,
    experience_of,
    scene_of,
    scene_to_text,
)

DINNER = {
    "action": "Hashi was chosen",
    "actors": ["Mia", "Ana"],
    "when": ["2026-01-03", {"date": "2026-01-05", "action": "the table was booked"}],
    "setting": "a café",
    "dialogue": ["Let's go!", "Yes"],
    "sensory": ["rain"],
}
texts = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=10)
days = st.dates().map(str)
scenes = st.builds(
    Scene,
    action=texts,
    actors=st.lists(texts, max_size=3).map(tuple),
    when=st.lists(days | st.builds(Dated, days, texts), max_size=3).map(tuple),
    setting=st.just("") | texts,
    dialogue=st.lists(texts, max_size=2).map(tuple),
    sensory=st.lists(texts, max_size=2).map(tuple),
)
numbers = st.floats(-1, 1)
experiences = st.builds(
    Experience,
    scene=st.none() | scenes,
    feeling=st.just("") | texts,
    themes=st.lists(texts, max_size=2).map(tuple),
    emotion=st.none() | st.builds(Emotion, numbers, numbers, numbers, numbers, numbers, numbers),
    cluster=st.sampled_from(["", "Private", "Business/the launch"]),
)


@pytest.mark.spec("C02")
def test_a_scene_keeps_both_forms_of_when() -> None:
    scene = scene_of(DINNER)

    assert scene.when == ("2026-01-03", Dated("2026-01-05", "the table was booked"))
    assert Experience(scene).as_dict()["scene"] == DINNER


@pytest.mark.spec("C02")
@pytest.mark.parametrize(
    ("fields", "feeling", "text"),
    [
        ({}, "relieved", '2026-01-03 — a café — Hashi was chosen — "Let\'s go!" — (relieved)'),
        ({"when": [{"date": "Day7", "action": "x"}]}, "", 'Day7 — a café — Hashi was chosen — "Let\'s go!"'),
        ({"when": [], "setting": "", "dialogue": []}, "", "Hashi was chosen"),
        ({"when": [], "setting": None, "dialogue": None}, "glad", "Hashi was chosen — (glad)"),
    ],
)
def test_a_scene_reads_as_in_the_specification(fields: dict[str, Any], feeling: str, text: str) -> None:
    assert scene_to_text(scene_of({**DINNER, **fields}), feeling) == text


@pytest.mark.spec_part("C03")
def test_a_vector_is_made_of_when_action_and_feeling() -> None:
    told = Experience(scene_of(DINNER), feeling="relieved", themes=("dinner",)).embed_text

    assert told == "2026-01-03\n2026-01-05 the table was booked\nHashi was chosen\nrelieved"
    assert Experience(feeling="relieved").embed_text == ""


@given(experiences)
def test_an_experience_reads_as_it_was_written(experience: Experience) -> None:
    assert experience_of(experience.as_dict()) == experience


@pytest.mark.spec_part("C07")
def test_who_absorbs_a_scene_keeps_its_days_and_what_happened_on_them() -> None:
    survivor = Experience(Scene("Hashi was chosen", ("Mia",), ("2026-01-03",)))
    absorbed = Experience(Scene("the table was booked", ("Mia",), ("2026-01-05", Dated("2026-01-04", "a call"))))
    kept = ("2026-01-03", Dated("2026-01-05", "the table was booked"), Dated("2026-01-04", "a call"))

    after = absorbing(survivor, [absorbed, Experience(feeling="alone")])

    assert after.scene is not None
    assert after.scene.when == kept
    assert absorbing(after, [absorbed]) == after
    assert replace(after, scene=survivor.scene) == survivor


@pytest.mark.parametrize(
    ("value", "field", "message"),
    [
        ("a dinner", "scene", "must be an object, not str"),
        ({**DINNER, "action": " "}, "scene.action", "is empty"),
        ({**DINNER, "mood": "glad"}, "scene.mood", "is not known here"),
        ({"action": "x", "actors": []}, "scene.when", "is missing"),
        ({**DINNER, "actors": "Mia"}, "scene.actors", "must be a list"),
        ({**DINNER, "actors": ["x"] * (MAX_PARTS + 1)}, "scene.actors", f"up to {MAX_PARTS}"),
        ({**DINNER, "dialogue": ["ok", 7]}, "scene.dialogue[1]", "must be text, not int"),
        ({**DINNER, "when": ["2026-02-30"]}, "scene.when[0]", "is not a day of the calendar"),
        ({**DINNER, "when": [{"date": "2026-01-03"}]}, "scene.when[0].action", "is missing"),
        ({**DINNER, "when": [{"date": "2026-13-01", "action": "x"}]}, "scene.when[0].date", "is not a day"),
        ({**DINNER, "when": [3]}, "scene.when[0]", "must be an object, not int"),
    ],
)
def test_a_fault_is_named_by_its_path(value: object, field: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)) as refused:
        scene_of(value)
    assert refused.value.field == field


@pytest.mark.parametrize("number", [1.1, -2, True, "high", None])
def test_an_emotion_is_within_bounds(number: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        emotion_of({"valence": number})
    assert refused.value.field == "emotion.valence"
    assert emotion_of({"valence": -1, "trust": 0.5}) == Emotion(valence=-1.0, trust=0.5)
