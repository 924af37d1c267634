"""Which sentences of an answer claim something, and what the memory says to each."""

import pytest

from mnemolog.domain.authority import Slot
from mnemolog.domain.claims import MOST_CLAIMS, Known, Support, claims, judged

KNOWN = (
    Known(Slot.GRAPH, "home", "Ana lives in Leipzig", only_value="Leipzig"),
    Known(Slot.GRAPH, "marta", "Marta lives in Rome", of_user=False, only_value="Rome"),
    Known(Slot.GRAPH, "allergy", "Ana is allergic to peanuts"),
    Known(Slot.KNOWLEDGE, "leaflet", "The office closes at 18:00. It is open on Saturdays."),
    Known(Slot.EPISODE, "old", "Ana lives in Berlin", overruled="Ana lives in Leipzig"),
    Known(Slot.EPISODE, "dog", "Ana has a dog called Bello"),
    Known(Slot.EPISODE, "meat", "Ana does not eat meat"),
    Known(Slot.EPISODE, "manager", "Mia is Ana's manager"),
)


@pytest.mark.parametrize(
    ("claim", "support", "by"),
    [
        ("You live in Leipzig.", Support.SUPPORTED, "home"),
        ("Ana lives in Leipzig.", Support.SUPPORTED, "home"),
        ("You're allergic to peanuts.", Support.SUPPORTED, "allergy"),
        ("Your dog is called Bello.", Support.SUPPORTED, "dog"),
        ("The office closes at 18:00.", Support.SUPPORTED, "leaflet"),
        ("You don't eat meat.", Support.SUPPORTED, "meat"),
        ("You live in Berlin.", Support.CONTRADICTED, "home"),
        ("You live in Rome.", Support.CONTRADICTED, "home"),
        ("Marta lives in Rome.", Support.SUPPORTED, "marta"),
        ("You don't live in Leipzig.", Support.CONTRADICTED, "home"),
        ("You aren't allergic to peanuts.", Support.CONTRADICTED, "allergy"),
        ("You eat meat.", Support.CONTRADICTED, "meat"),
        ("The office closes at 19:00.", Support.CONTRADICTED, "leaflet"),
        ("Paul is your manager.", Support.CONTRADICTED, "manager"),
        ("Marta is allergic to peanuts.", Support.UNSUPPORTED, None),
        ("Marta has a dog called Bello.", Support.UNSUPPORTED, None),
        ("You have a cat called Minka.", Support.UNSUPPORTED, None),
        ("You were born in 1984.", Support.UNSUPPORTED, None),
        ("Your sister lives in Leipzig with two children.", Support.UNSUPPORTED, None),
    ],
)
def test_a_claim_is_supported_contradicted_or_neither(claim: str, support: Support, by: str | None) -> None:
    found = judged(claim, KNOWN, "Ana")
    assert (found.support, found.by.id if found.by else None) == (support, by)
    assert bool(found.question) == (support is not Support.SUPPORTED)


@pytest.mark.parametrize("user", ["CORP\\dana", "a\\1b", "x\\g<0>"])
def test_a_user_id_with_a_backslash_is_taken_as_it_is(user: str) -> None:
    known = [Known(Slot.GRAPH, "home", f"{user} lives in Leipzig")]
    assert judged("You live in Leipzig. Your home is there.", known, user).question
    assert judged("You live in Leipzig.", known, user).support is Support.SUPPORTED


def test_what_to_ask_is_the_claim_as_a_question() -> None:
    assert judged("You were born in 1984.", KNOWN, "Ana").question == "You were born in 1984?"


@pytest.mark.parametrize(
    ("claim", "support", "question"),
    [
        ("You live in Leipzig and are allergic to peanuts.", Support.SUPPORTED, ""),
        ("You're allergic to peanuts, and you live in Leipzig.", Support.SUPPORTED, ""),
        ("Ana lives in Leipzig and has a dog called Bello.", Support.SUPPORTED, ""),
        ("You have a dog called Bello but don't eat meat.", Support.SUPPORTED, ""),
        ("You live in Leipzig and have a cat called Minka.", Support.UNSUPPORTED, "You have a cat called Minka?"),
        ("You live in Rome and have a cat called Minka.", Support.CONTRADICTED, "You live in Rome?"),
        ("You have a cat called Minka and live in Rome.", Support.CONTRADICTED, "You live in Rome?"),
        ("You live in Leipzig and Marta lives in Rome.", Support.SUPPORTED, ""),
        ("You live in Leipzig and Rome.", Support.UNSUPPORTED, "You live in Leipzig and Rome?"),
        ("Marta lives in Rome and has two cats.", Support.UNSUPPORTED, "Marta has two cats?"),
    ],
)
def test_each_half_of_a_claim_is_judged(claim: str, support: Support, question: str) -> None:
    found = judged(claim, KNOWN, "Ana")
    assert (found.text, found.support, found.question) == (claim, support, question)


def test_a_statement_that_is_overruled_supports_nothing() -> None:
    known = [Known(Slot.EPISODE, "old", "Ana plays golf", overruled="Ana gave up golf")]
    assert judged("You play golf.", known, "Ana").support is Support.CONTRADICTED


@pytest.mark.parametrize(
    "text",
    [
        "Where do you live?",
        "I can help you with that.",
        "If you move to Berlin, tell me.",
        "Thank you for telling me!",
        "You could try the market.",
        "Let me know.",
        "Welcome back!",
        "Have a nice day.",
        "I don't know where you work.",
        "",
        "...",
    ],
)
def test_questions_offers_and_courtesies_claim_nothing(text: str) -> None:
    assert claims(text) == []


def test_claims_are_found_among_other_sentences_and_are_bounded() -> None:
    assert claims("Sure! You live in Leipzig. Shall I look up trains? The office closes at 18:00.") == [
        "You live in Leipzig.",
        "The office closes at 18:00.",
    ]
    assert len(claims("You live in Leipzig. " * 100)) == MOST_CLAIMS
