"""Pronouns and elliptic questions are found in each language, and only where they are."""

import pytest

from mnemolog.domain.pronouns import DEFAULT_FORMS, Forms, Meant, Pronouns

PRONOUNS = Pronouns()


@pytest.mark.parametrize(
    ("text", "pronoun", "meant"),
    [
        ("Where does she live?", "she", Meant.SHE),
        ("Did you tell HIM?", "HIM", Meant.HE),
        ("How much did it cost?", "it", Meant.IT),
        ("How long do I stay there?", "there", Meant.THERE),
        ("Is there a train there?", "there", Meant.THERE),
        ("What do they drink?", "they", Meant.THEY),
        ("Где она живёт?", "она", Meant.SHE),
        ("Gdzie on mieszka?", "on", Meant.HE),
        ("¿Dónde vive su hermano?", "su", Meant.SOMEONE),
        ("¿Cuándo llega él?", "él", Meant.HE),
        ("Wo wohnt sie?", "sie", Meant.SHE),
        ("彼女はどこに住んでいますか？", "彼女", Meant.SHE),
        ("彼はどこですか", "彼", Meant.HE),
    ],
)
def test_a_pronoun_is_found(text: str, pronoun: str, meant: Meant) -> None:
    found = PRONOUNS.found_in(text)

    assert [(one.text, one.meant) for one in found.pronouns] == [(pronoun, meant)]
    assert text[found.pronouns[0].start : found.pronouns[0].end] == pronoun
    assert not found.opening


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("What about Berlin?", "what about"),
        ("what about Berlin", "what about"),
        ("And tomorrow?", "and"),
        ("What else?", "what else"),
        ("А завтра?", "а"),
        ("А что насчёт Берлина?", "а что насчёт"),
        ("A co z Berlinem?", "a co z"),
        ("¿Y qué hay de Berlín?", "y qué hay de"),
        ("Und was ist mit Berlin?", "und was ist mit"),
        ("ベルリンは？", "は?"),
        ("じゃあベルリンは", "じゃあ"),
    ],
)
def test_an_elliptic_question_is_found(text: str, opening: str) -> None:
    found = PRONOUNS.found_in(text)

    assert (found.pronouns, found.opening) == ([], opening)


@pytest.mark.parametrize(
    "text",
    [
        "where does Ana live?",
        "And where does Ana live?",
        "And tomorrow",
        "What time is it?",
        "Is there any tea left?",
        "a cat",
        "Go on",
        "Am I on a blood thinner?",
        "Am I still on ramipril?",
        "Remind me on Monday of the one I liked",
        "su -c",
        "y combinator?",
        "¿Dónde está el tren?",
        "彼氏は誰ですか",
        "theory of hermeneutics, itself-ish",
        "what about everything that Ana and Bob said to each other last week",
        "",
        "?",
        "🙂",
    ],
)
def test_nothing_is_found_in_what_is_complete(text: str) -> None:
    assert not PRONOUNS.found_in(text)


def test_a_language_of_ones_own_is_added_and_a_known_one_replaced() -> None:
    french = Forms(she=("elle",), questions=("où",), openings=("et",))
    own = Pronouns({**DEFAULT_FORMS, "fr": french, "en": Forms(she=("xe",))})

    assert [one.text for one in own.found_in("Où habite-t-elle ? Elle est là").pronouns] == ["elle", "Elle"]
    assert own.found_in("Et demain, où ?").opening == "et"
    assert not own.found_in("Where does she live?")
    assert own.as_dict().keys() == {"en", "fr"}
    assert not PRONOUNS.as_dict()
