"""Which messages call for a search of episodes and knowledge (A13)."""

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.gate import DEFAULT_SIGNALS, Decision, Gate, Reason, Signal, Signals

CONTINUITY, PROGRESS, REFLECTION, LOGGING = Signal.CONTINUITY, Signal.PROGRESS, Signal.REFLECTION, Signal.LOGGING


@pytest.mark.parametrize(
    ("text", "signal", "language"),
    [
        ("Do you remember my sister?", CONTINUITY, "en"),
        ("What did we cook LAST  TIME?", CONTINUITY, "en"),
        ("My back hurts again.", CONTINUITY, "en"),
        ("Let's go on where we left off", CONTINUITY, "en"),
        ("Do you recall which dentist it was?", CONTINUITY, "en"),
        ("Did I tell you about the leak?", CONTINUITY, "en"),
        ("Where did we go yesterday?", CONTINUITY, "en"),
        ("How is my plan going?", PROGRESS, "en"),
        ("How’s my training going?", PROGRESS, "en"),
        ("Is the thesis coming along?", PROGRESS, "en"),
        ("What should I do next?", PROGRESS, "en"),
        ("Why do I always say yes?", REFLECTION, "en"),
        ("I ate two eggs", LOGGING, "en"),
        ("I've eaten a banana", LOGGING, "en"),
        ("Erinnerst du dich an Marta?", CONTINUITY, "de"),
        ("Was hatte ich dir erzählt?", CONTINUITY, "de"),
        ("Ich habe gegessen: zwei Eier", LOGGING, "de"),
        ("¿Te acuerdas de Marta?", CONTINUITY, "es"),
        ("¿Qué te conté de Marta?", CONTINUITY, "es"),
        ("Me siento cansada", REFLECTION, "es"),
        ("Pamiętasz Martę?", CONTINUITY, "pl"),
        ("Zjadłam dwa jajka", LOGGING, "pl"),
        ("Помнишь Марту?", CONTINUITY, "ru"),
        ("Что мы делали в прошлый раз?", CONTINUITY, "ru"),
        ("Как мой прогресс?", PROGRESS, "ru"),
        ("前回の話を覚えていますか", CONTINUITY, "ja"),
        ("卵を二つ食べました", LOGGING, "ja"),
    ],
)
@pytest.mark.spec("A13")
def test_a_signal_opens_the_gate_and_is_the_reason(text: str, signal: Signal, language: str) -> None:
    decision = Gate().decide(text)
    assert decision.search
    assert (signal, language) in [(one.signal, one.language) for one in decision.reasons]


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "How are you?",
        "How's it going?",
        "What is the capital of France?",
        "Against the wind",
        "I explained it",
        "",
        "???",
        "ok",
    ],
)
@pytest.mark.spec("A13")
def test_small_talk_leaves_the_gate_shut(text: str) -> None:
    assert Gate().decide(text) == Decision()
    assert not Gate().decide(text).search


@pytest.mark.spec("A13")
def test_a_word_of_several_languages_is_one_reason() -> None:
    assert Gate().decide("What is the plan?").reasons == (Reason(PROGRESS, "plan", "de, en, es, pl"),)


@pytest.mark.spec("A13")
def test_a_mentioned_entity_opens_the_gate() -> None:
    decision = Gate().decide("Marta called", ["Marta"])
    assert decision.reasons == (Reason(Signal.ENTITY, "Marta"),)
    assert decision.signals == (Signal.ENTITY,)


def test_configured_phrases_replace_the_built_in_ones_and_are_no_patterns() -> None:
    gate = Gate({"fr": Signals(continuity=("la dernière fois (encore)",), logging=("mang*",))})
    assert gate.decide("La derniere fois (encore) !").signals == (CONTINUITY,)
    assert gate.decide("J'ai mangé").reasons == (Reason(LOGGING, "mange", "fr"),)
    assert not gate.decide("remember?").search
    assert not Gate({}).decide("remember?").search


@pytest.mark.parametrize("phrase", ["", "  ", "*"])
def test_an_empty_phrase_is_refused(phrase: str) -> None:
    with pytest.raises(InvalidInput, match="a phrase is empty"):
        Gate({"en": Signals(progress=(phrase,))})


def test_six_languages_have_phrases_for_each_signal() -> None:
    assert set(DEFAULT_SIGNALS) == {"de", "en", "es", "ja", "pl", "ru"}
    assert all(
        one.continuity and one.progress and one.reflection and one.logging and one.asking
        for one in DEFAULT_SIGNALS.values()
    )


def test_a_long_message_is_read_at_its_beginning() -> None:
    assert not Gate().decide("word " * 50_000 + "again").search


@pytest.mark.spec("A21")
@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("May I drink coffee now?", True),
        ("Explain caffeine to me", True),
        ("コーヒーについて教えて", True),
        ("Czy mogę pić kawę", True),
        ("Marta drinks coffee", False),
        ("I showed her", False),
    ],
)
def test_a_question_is_told_from_a_statement_and_alone_opens_no_gate(text: str, asks: bool) -> None:
    assert Gate().asks(text) is asks
    assert not Gate().decide(text).search
