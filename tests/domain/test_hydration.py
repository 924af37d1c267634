"""What a question asks of the graph, and which facts answer it first (A15)."""

import pytest

from mnemolog.domain.hydration import Match, alike, asks_about_user, capitalised_names, question_stems, stem


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("Where do I live?", True),
        ("What's my job?", True),
        ("Wo wohne ich?", True),
        ("Where does Ana live?", False),
        ("Where does Mia live?", False),
        ("What did Mia's brother say?", False),
        ("where does mia live", False),
        ("Is the US far?", False),
        ("Did she call us?", True),
        ("Dove abita mia sorella?", True),
        ("¿Dónde vive mi hermana y dónde vivo yo?", True),
        ("Which minerals are there?", False),
        ("", False),
    ],
)
def test_a_question_may_speak_of_the_user(text: str, speaks: bool) -> None:
    assert asks_about_user(text) is speaks


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Where does John Smith live?", ("John Smith",)),
        ("John Smith called", ("Smith",)),
        ("Is Marta's office in New York?", ("Marta", "New York")),
        ("Which city does Ana, or Bob, like on Monday in May?", ("Ana", "Bob")),
        ("Where do I live? And what about Petra?", ("Petra",)),
        ("Wo ist der Hund von Petra?", ()),
        ("Where do Ana and Mia live?", ("Ana", "Mia")),
        ("Welches Auto fährt Petra?", ()),
        ("Wann hat Petra Geburtstag?", ()),
        ("¿Cómo se llama mi perro?", ()),
        ("¿Dónde trabaja Petra?", ("Petra",)),
        ("Was macht der Hund von Petra?", ()),
        ("What hat was Petra wearing in the war?", ("Petra",)),
        ("where does john live", ()),
        ("What HRT am I on?", ()),
        ("I know what HRT Ana takes", ("HRT Ana",)),
        ("Explain my job. Describe Ana.", ("Ana",)),
        ("Petra's office? Bob is where?", ("Petra", "Bob")),
        ("", ()),
    ],
)
def test_capitalised_words_are_names_unless_they_begin_a_sentence(text: str, names: tuple[str, ...]) -> None:
    assert capitalised_names(text) == names


def test_words_are_compared_without_their_endings() -> None:
    assert len({stem(word) for word in ("lives", "living", "lived", "live")}) == 1
    assert len({stem(word) for word in ("allergy", "allergies", "allergic")}) == 1
    assert stem("job") != stem("joy")
    assert question_stems("Where does Ana Silva live now?", ["ana silva"]) == {stem("live")}


def test_how_much_somebody_takes_asks_for_a_dose() -> None:
    for asked in ("How much metformin do I take?", "How many mg of metformin does my father take?"):
        assert question_stems(asked) == {stem("metformin"), stem("dose")}
    assert stem("dose") not in question_stems("How much does the flat cost?")


def test_what_somebody_takes_tells_of_their_health_and_not_of_an_allergy() -> None:
    takes, allergy = stem("takes"), stem("allergy")
    assert takes not in alike(question_stems("What am I allergic to?"))
    assert {takes, allergy} <= alike(question_stems("What health conditions do I have?"))
    assert takes in alike(question_stems("Which medication does Ana need?"))


def test_a_word_that_asks_for_the_same_counts_less_than_the_word_itself() -> None:
    assert stem("manager") in alike({stem("boss")})
    assert stem("work") in alike({stem("employer")})
    assert alike({stem("violin")}) == frozenset()
    asked = question_stems("Who is Ana's boss?", ["Ana"])
    boss, manager = Match(frozenset(asked)), Match(frozenset(), alike=frozenset(asked))

    assert boss.score(asked, 1) > manager.score(asked, 1) > Match(frozenset()).score(asked, 1)


def test_a_second_hop_counts_if_the_first_adds_to_it() -> None:
    asked = question_stems("Which city is the office of Ana's manager in?", ["Ana"])
    manager, office = Match(frozenset({stem("manager")})), Match(frozenset({stem("office")}))

    assert office.score(asked, 2, manager) > manager.score(asked, 1)
    assert office.score(asked, 2, Match(frozenset())) < office.score(asked, 1)


def test_what_somebody_is_called_by_the_family_is_not_asked_for() -> None:
    assert question_stems("When did Aunt Pat die?", ["Pat"]) == {stem("die")}
    assert question_stems("Where does Uncle Ray live?", ["Ray"]) == question_stems("Where does Ray live?", ["Ray"])
    assert stem("aunt") in question_stems("Where does my aunt Pat live?", ["Pat"])
    assert stem("aunt") in question_stems("Who is my Aunt?")
