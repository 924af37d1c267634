"""Phrases that announce another topic."""

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.topic_markers import DEFAULT_PHRASES, Marker, MarkerKind, Phrases, TopicMarkers

CHANGE, ASIDE = MarkerKind.CHANGE, MarkerKind.ASIDE


@pytest.mark.parametrize(
    ("text", "kind", "language"),
    [
        ("Let's talk about something else.", CHANGE, "en"),
        ("Okay. Let\N{RIGHT SINGLE QUOTATION MARK}s change the subject", CHANGE, "en"),
        ("Oh, by the way, do you know a vet?", ASIDE, "en"),
        ("oh by the way do you know a vet", ASIDE, "en"),
        ("Давай про другое", CHANGE, "ru"),
        ("Ну кстати, какая завтра погода?", ASIDE, "ru"),
        ("Zmieńmy temat, co na obiad?", CHANGE, "pl"),
        ("Przy okazji: kiedy wracasz?", ASIDE, "pl"),
        ("Hablemos de otra cosa", CHANGE, "es"),
        ("¡Por cierto! ¿Qué hora es?", ASIDE, "es"),
        ("Anderes Thema: der Urlaub", CHANGE, "de"),
        ("Übrigens, morgen regnet es", ASIDE, "de"),
        ("話は変わりますが、旅行の件です", CHANGE, "ja"),
        ("あ、ところで明日の天気は？", ASIDE, "ja"),
        ("Ok, let us talk about something else: the cats", CHANGE, "en"),
        ("lets change the topic", CHANGE, "en"),
        ("Could we change the subject please?", CHANGE, "en"),
        ("Давайте поговорим о другом", CHANGE, "ru"),
        ("Lass uns über was anderes reden", CHANGE, "de"),
        ("¿Podemos hablar de otra cosa?", CHANGE, "es"),
        ("Zmieniając temat: co u mamy?", CHANGE, "pl"),
        ("And by the way I found the keys", ASIDE, "en"),
        ("But anyway, on a completely different note, we won", CHANGE, "en"),
        ("Well so changing the subject: lunch?", CHANGE, "en"),
        ("I'd like to talk about something else now", CHANGE, "en"),
        ("Ach übrigens, der Zug fällt aus", ASIDE, "de"),
        ("Und noch etwas: die Miete steigt", ASIDE, "de"),
        ("Ganz anderes Thema: der Garten", CHANGE, "de"),
        ("Ну и кстати, мы выиграли", ASIDE, "ru"),
        ("Давайте поговорим о чём-нибудь другом", CHANGE, "ru"),
        ("A tak z innej beczki: wygraliśmy", CHANGE, "pl"),
        ("No to zmieńmy temat", CHANGE, "pl"),
        ("Pues y por cierto ganamos", ASIDE, "es"),
        ("Oye, quiero hablar de otra cosa", CHANGE, "es"),
        ("ちょっと話が変わるけど、昼は？", CHANGE, "ja"),
        ("By the way, that is done. New topic: the garden.", CHANGE, "en"),
    ],
)
def test_a_marker_at_the_beginning_of_a_clause_is_found(text: str, kind: MarkerKind, language: str) -> None:
    assert TopicMarkers().found_in(text) == Marker(kind, language)


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, by the way!",
        "Is this a new topic in the course?",
        "A new topic came up in the course",
        "My new topic is bees",
        "Das neue Thema gefällt mir",
        "Es nuevo tema de examen",
        "Это новая тема для меня",
        "I passed by the wayside inn",
        "We could change the subject of the letter",
        "Она хочет поговорить о другом доме",
        "Btwain is no word",
        "",
        "???",
    ],
)
def test_the_same_words_elsewhere_are_no_marker(text: str) -> None:
    assert TopicMarkers().found_in(text) is None


def test_configured_phrases_replace_the_built_in_ones_and_are_no_patterns() -> None:
    markers = TopicMarkers({"fr-CA": Phrases(change=("parlons d'autre chose (vite)",), aside=("au fait",))})
    assert markers.found_in("Au fait, tu viens ?") == Marker(ASIDE, "fr-CA")
    assert markers.found_in("Et au fait, tu viens ?") == Marker(ASIDE, "fr-CA")
    assert markers.found_in("by the way, are you coming?") is None
    assert TopicMarkers({}).found_in("by the way, are you coming?") is None


def test_six_languages_are_built_in_and_an_empty_phrase_is_refused() -> None:
    assert set(DEFAULT_PHRASES) == {"de", "en", "es", "ja", "pl", "ru"}
    with pytest.raises(InvalidInput, match="a phrase is empty"):
        TopicMarkers({"en": Phrases(aside=("  ",))})


def test_a_long_message_is_read_at_its_beginning() -> None:
    assert TopicMarkers().found_in("word " * 50_000 + ". By the way, what now?") is None
