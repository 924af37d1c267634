"""Ranking does not drift: what a few questions find in a fixed corpus, in their order, is pinned here.

If a change of the ranking is meant, run `python -m tests.bench.recall` before and after it, and then change these.
"""

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.engine.teller import Teller
from tests.engine.test_one_answer import SAID, day

ASKED = day("2026-02-01")
MEMORIES = (
    ("Ana keeps her spare keys in the blue drawer", "note"),
    ("Ana wants to learn to repair old bicycles", "goals"),
    ("Ana bought a used bicycle for the river path", "activity"),
    ("Jonas repaired the bicycle of the neighbour", "activity"),
    ("The neighbour lends Ana her drill", "note"),
    ("Ana is afraid of thunderstorms", "note"),
    ("The balcony tomatoes get water every evening", "activity"),
)
FOUND: dict[str, tuple[str, ...]] = {
    "Who repaired a bicycle?": (
        "Jonas repaired the bicycle of the neighbour",
        "Ana wants to learn to repair old bicycles",
        "Ana bought a used bicycle for the river path",
    ),
    "Where do I live?": (
        "Ana: Big news: we moved to Leipzig last weekend!",
        "Ana: Hi! I live in Berlin, near the canal.",
        "Ana bought a used bicycle for the river path",
    ),
    "What happened with the tomatoes on the balcony?": (
        "The balcony tomatoes get water every evening",
        "Ana: The new flat has a balcony full of tomatoes.",
        "Ana: I started working at a school clinic, it is calmer than the hospital.",
    ),
    "Who is my dentist?": (
        "Ana: My dentist is now Dr. Okafor.",
        "Ana: My dentist is Dr. Hahn.",
        "Ana: I adopted a cat, she is called Miso.",
    ),
    "What did the neighbour lend?": (
        "The neighbour lends Ana her drill",
        "Jonas repaired the bicycle of the neighbour",
        "Ana: Big news: we moved to Leipzig last weekend!",
    ),
    "Which city is the office of my manager in?": (
        "Priya's office city is Halle",
        "Ana is afraid of thunderstorms",
        "Ana: Miso broke a vase.",
    ),
    "When is the wedding of my sister?": (
        "Ana: The wedding of my sister got postponed to 3 October.",
        "Ana: The wedding of my sister is on 12 September.",
        "Ana: I run along the river every Tuesday.",
    ),
    "What is Ana afraid of?": (
        "Ana is afraid of thunderstorms",
        "Ana: Hi! I live in Berlin, near the canal.",
        "Ana: Miso broke a vase.",
    ),
}
HITS = 3


@pytest.fixture(scope="module")
async def ana(engine: Engine) -> Teller:
    teller = Teller(engine, "ranking-ana")
    for date, text in SAID:
        await teller.says(text, occurred_at=day(date))
    for text, category in MEMORIES:
        await teller.creates(text, category=category)
    await teller.tells("me", "married_to", "Jonas", since=day("2024-05-01"))
    await teller.tells("me", "manager", "Priya", since=day("2025-10-12"))
    await teller.tells("Priya", "office_city", "Halle", since=day("2025-10-12"))
    return teller


@pytest.mark.parametrize("question", FOUND)
async def test_a_question_finds_the_same_in_the_same_order(ana: Teller, question: str) -> None:
    answer = await ana.asks(question, asked_at=ASKED, top_k=HITS)
    assert tuple(hit.text for hit in answer.hits) == FOUND[question]
