"""Corrections of a name or a thing that was told before: of the place, the employer, the person, the allergen."""

from collections.abc import Sequence

import pytest

from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.corrections import correction
from mnemolog.domain.extraction.extractor import extract
from tests.domain.extraction.test_extraction import AT


def after(*texts: str) -> Sequence[Candidate]:
    """What the last of these messages states."""
    told: list[Sequence[Candidate]] = []
    stated: Sequence[Candidate] = ()
    for place, text in enumerate(texts):
        stated = extract(text, AT, before=told, previous=texts[place - 1] if place else "")
        told += [stated] if stated else []
    return stated


def line(one: Candidate) -> str:
    who = f"my {one.via} " if one.via else ""
    return f"{who}{one.predicate} {one.object}"


@pytest.mark.parametrize(
    ("said", "corrected", "right"),
    [
        ("I moved to Bath last month.", "I meant Bristol.", "lives_in Bristol"),
        ("I'm moving to Bath.", "Sorry, I meant Bristol.", "plans to move to Bristol"),
        ("We're flying to Faro on 3 June.", "Not Faro, Porto.", "porto_trip_date 2026-06-03"),
        ("I work at Boots.", "Correction: Superdrug, not Boots.", "works_at Superdrug"),
        ("My sister lives in Lille.", "Lyon, I mean.", "my sister lives_in Lyon"),
        ("I'm planning a trip to Faro.", "Oops, Porto, not Faro.", "trip_to Porto"),
        ("I live in Linz.", "*Graz", "lives_in Graz"),
        ("I live in Linz.", "Graz*", "lives_in Graz"),
        ("I live in Linz. My dog is called Rex.", "When I said Linz I meant Graz.", "lives_in Graz"),
        ("I live in Linz.", "I said Linz but it's Graz.", "lives_in Graz"),
        ("I joined Adyen.", "I said Adyen but I meant Mollie, I mix up those two.", "works_at Mollie"),
        ("I drive a Corsa.", "sorry meant a Picasso not a Corsa", "drives Picasso"),
        ("I joined Boots.", "Make that Superdrug.", "works_at Superdrug"),
        ("I live in Linz.", "Linz was wrong, I meant Graz.", "lives_in Graz"),
        ("Our next trip is to Faro.", "Sorry, the trip goes to Porto.", "next_trip Porto"),
        ("Our next trip is to Faro.", "My mistake, the holiday is in Porto.", "next_trip Porto"),
        ("We're flying to Faro on 3 June.", "Sorry, we're flying to Porto.", "porto_trip_date 2026-06-03"),
        ("My dentist is Dr Patel.", "I meant Dr Pattison, not Patel.", "dentist Dr Pattison"),
        ("My email is gwen@acme.com.", "Sorry, that should be hello@acme.com, not gwen@.", "email hello@acme.com"),
        ("My email is gwen@acme.com.", "I meant hello@acme.com.", "email hello@acme.com"),
        ("My number is 07700 900123.", "Oops, it's 07700 900124.", "phone_number 07700 900124"),
        ("I'm allergic to peanuts.", "No wait, pine nuts, not peanuts", "allergy pine nuts"),
        ("My sister is allergic to eggs.", "sorry i meant nuts not eggs", "my sister allergy nuts"),
        ("I take ibuprofen every day.", "Correction: naproxen instead of ibuprofen.", "medication naproxen"),
        ("I love coffee. I hate rain.", "Sorry, I meant cocoa, not coffee.", "likes cocoa"),
    ],
)
def test_a_correction_is_about_what_has_the_name(said: str, corrected: str, right: str) -> None:
    assert [line(one) for one in after(said, corrected) if one.action is Action.CORRECT] == [right]


@pytest.mark.parametrize(
    "said",
    [
        ("I work at Boots.", "My stand partner is called Tomos.", "Sorry, I meant Tomasz."),
        ("I live in Linz.", "Anna is coming for dinner.", "I meant Maria."),
        ("I live in Linz. Tomos plays the viola.", "I meant Tomasz."),
        ("I live in Linz with Tomos.", "Correction: Tomasz."),
        ("I live in Linz.", "Lovely weather today.", "Make that Faro."),
        ("I take metformin.", "I tried some herbal tea for my sleep.", "I stopped taking it."),
        ("My email is gwen@acme.com.", "The shop has one, too.", "Sorry, it's shop@acme.com."),
        ("My email is gwen@acme.com.", "Anna's is anna@acme.com."),
        ("My number is 07700 900123.", "Sorry, it should be 20 degrees tomorrow."),
        ("My number is 07700 900123.", "Wait, 2026-12-24."),
    ],
)
def test_a_correction_and_an_end_are_about_what_was_said_last(said: Sequence[str]) -> None:
    assert not after(*said)


@pytest.mark.parametrize(
    "more",
    [
        "",
        " So happy!",
        " It's so quiet here.",
        " That's new.",
        " She's so nice there.",
        " Can't wait for you to see it.",
    ],
)
def test_what_is_said_behind_a_name_does_not_hide_it(more: str) -> None:
    assert [line(one) for one in after(f"I live in Linz.{more}", "I meant Graz.")] == ["lives_in Graz"]


@pytest.mark.parametrize(
    "text",
    [
        "I meant Tuesday.",
        "I meant well.",
        "Sorry, Anna.",
        "No, Graz.",
        "Sorry, Graz is lovely too.",
        "Sorry, I was in Graz yesterday.",
        "Actually Graz is closer.",
        "Sorry, the train goes to Graz.",
        "We watched a film about Graz, not Linz.",
        "My boss thinks I live in Graz, not Linz.",
        "He meant Graz.",
        "You meant Graz, not Linz?",
        "I'd say Graz, not Linz, is prettier.",
        "Make that two.",
        "Not that I mind, Anna.",
        "Sorry, at three, not four.",
        "No, tea, not coffee.",
        "No, that's not correct.",
    ],
)
def test_what_only_sounds_like_a_correction_changes_nothing(text: str) -> None:
    assert not after("I live in Linz.", text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Graz, not Linz.",
        "I live in Graz and not in Linz.",
        "It's Graz I live in, not Linz.",
        "I don't live in Linz, I live in Graz.",
        "Not Linz, I live in Graz.",
        "I live in Graz (not Linz).",
        "I live in Graz - not Linz.",
        "Actually, I'm living in Graz rather than Linz.",
        "We live in Graz, not Linz as I said.",
        "I live in Graz, not Linz, for the last time.",
    ],
)
def test_a_statement_may_say_which_name_was_wrong(text: str) -> None:
    assert [(line(one), one.wrong) for one in extract(text, AT)] == [("lives_in Graz", "Linz")]


@pytest.mark.parametrize(
    "text",
    [
        "I live in Graz now, not Linz.",
        "I live in Graz, not Linz any more.",
        "I live in Graz, not far from Linz.",
        "I live in Graz, not alone.",
        "I live in Graz these days, not Linz.",
    ],
)
def test_a_change_says_of_no_name_that_it_was_wrong(text: str) -> None:
    assert [(line(one), one.wrong) for one in extract(text, AT)] == [("lives_in Graz", "")]


def test_a_name_is_corrected_in_the_last_message_that_has_it() -> None:
    stated = after("I live in Bath.", "My sister lives in Bath.", "I work at Boots.", "Bristol, not Bath.")
    assert [line(one) for one in stated] == ["my sister lives_in Bristol"]


@pytest.mark.parametrize(
    "text", ["no i'm not vegan", "No, im not vegan", "sorry, i am not vegan", "no, my wife is not vegan"]
)
def test_a_denial_names_nothing_else_that_is_right(text: str) -> None:
    assert correction(text) is None
