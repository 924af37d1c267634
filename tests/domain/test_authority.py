"""The authority ladder (A03): which slot is right where two contradict each other."""

import pytest

from mnemolog.domain.authority import Because, Fact, Ruling, Slot, Statement, names, ruling

LIVES = Fact(
    id="lives", sentence="Ana lives in Leipzig", subject="ana", value="Leipzig", single=True, former=("Berlin",)
)
ALLERGIC = Fact(id="nuts", sentence="Ana is allergic to peanuts", subject="ana", value="peanuts", critical=True)
LIKES = Fact(id="tea", sentence="Ana likes tea", subject="ana", value="tea")


def told(text: str, **fields: object) -> Statement:
    return Statement(slot=Slot.EPISODE, id="hit", text=text, **{"about": frozenset({"ana"}), **fields})  # type: ignore[arg-type]


def passage(text: str) -> Statement:
    return Statement(slot=Slot.KNOWLEDGE, id="page", text=text)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("I love my flat in Berlin", Because.FORMER_VALUE),
        ("Ana lives in Porto.", Because.CONTRADICTS),
        ("Nice weather. Ana lives in Porto.", Because.CONTRADICTS),
        ("Ana does not like tea", None),  # Another form of the verb is inconclusive.
        ("Ana never likes tea", Because.CONTRADICTS),
        ("I moved from Berlin to Leipzig", None),
        ("Ana likes coffee", None),  # A predicate with many values.
        ("What a day", None),
    ],
)
def test_the_graph_overrules_what_was_said(text: str, because: Because | None) -> None:
    ruled = ruling(told(text), [LIVES, ALLERGIC, LIKES])
    assert (ruled.because if ruled else None) is because
    assert ruled is None or ruled.slot is Slot.GRAPH


def test_a_former_value_of_somebody_else_is_no_contradiction() -> None:
    assert ruling(told("Bob moved to Berlin", about=frozenset({"bob"})), [LIVES]) is None


def test_the_message_that_a_former_value_came_from_is_overruled_whatever_its_words() -> None:
    fact = Fact(id="job", sentence="Ana works for Initech", subject="ana", value="Initech", sources=frozenset({"hit"}))
    assert ruling(told("New contract signed today", about=frozenset()), [fact]) == Ruling(
        Slot.GRAPH, "job", Because.FORMER_VALUE
    )


def test_a_fact_that_ended_overrules_without_a_successor() -> None:
    ended = Fact(id="gym", sentence="Ana trains at Olympus", subject="ana", value="", former=("Olympus",))
    assert ruling(told("See you at Olympus"), [ended]) == Ruling(Slot.GRAPH, "gym", Because.FORMER_VALUE)


def test_knowledge_holds_unless_the_graph_has_an_exception() -> None:
    assert ruling(passage("Peanut butter is a good source of protein."), [ALLERGIC]) == Ruling(
        Slot.GRAPH, "nuts", Because.EXCEPTION
    )
    assert ruling(passage("Oats are a good source of protein."), [ALLERGIC, LIVES]) is None
    assert ruling(passage("Tea has caffeine."), [LIKES]) is None


def test_knowledge_overrules_episodes_but_not_where_it_is_overruled_itself() -> None:
    said, page = told("The clinic opens at 8", about=frozenset()), passage("The clinic opens at 9")
    assert ruling(said, [], [page]) == Ruling(Slot.KNOWLEDGE, "page", Because.CONTRADICTS)
    assert ruling(page, [], [said]) is None
    exception = Fact(id="x", sentence="Ana is allergic to opens", subject="ana", value="opens", critical=True)
    assert ruling(said, [exception], [page]) is None


def test_a_newer_memory_that_contradicts_it_overrules_a_memory() -> None:
    assert ruling(told("Prefers tea", opposed="newer"), []) == Ruling(Slot.EPISODE, "newer", Because.CONTRADICTS)


def test_the_graph_comes_before_a_newer_memory() -> None:
    ruled = ruling(told("I live in Berlin", opposed="newer"), [LIVES])
    assert ruled == Ruling(Slot.GRAPH, "lives", Because.FORMER_VALUE)


def test_names_are_whole_words_in_any_case_and_accents() -> None:
    assert names("We met in KÖLN.", "Koln")
    assert not names("Berliner", "Berlin")
    assert not names("anything", "")
