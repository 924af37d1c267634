"""A question that calls the user by name is asked as the user would."""

import pytest

from mnemolog.domain.first_person import in_first_person, of_own_parents


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("Where does Zoë live?", "Where do I live?"),
        ("Has ZOE moved?", "Have I moved?"),
        ("What's Anna-Maria's job?", "What's my job?"),
        ("Does anna maria like tea?", "Do I like tea?"),
        ("What are Zoë's plans for her birthday?", "What are my plans for my birthday?"),
        ("Did Zoë call Marta about her birthday?", "Did I call Marta about her birthday?"),
        ("Who is Anna?", "Who is Anna?"),
    ],
)
def test_the_user_is_called_by_name_in_any_spelling(question: str, meant: str) -> None:
    assert in_first_person(question, ["zoe", "anna maria"]) == meant


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("Where does Dad live?", "Where does my dad live?"),
        ("What’s mum's number?", "What’s my mum's number?"),
        ("Grandma's birthday?", "my grandma's birthday?"),
        ("What did I get for Mum and Dad?", "What did I get for my mum and my dad?"),
        ("Where does my mum live?", "Where does my mum live?"),
        ("Where does Kim's mum live?", "Where does Kim's mum live?"),
        ("What does a new mum need?", "What does a new mum need?"),
        ("Who is the dad of Tom?", "Who is the dad of Tom?"),
        ("Did Nan Goldin take it?", "Did Nan Goldin take it?"),
        ("Does Nan drive?", "Does my nan drive?"),
        ("Mam kota?", "Mam kota?"),
        ("Co to mam kupić?", "Co to mam kupić?"),
        ("Is he a stay-at-home dad?", "Is he a stay-at-home dad?"),
    ],
)
def test_a_parent_without_a_word_before_is_one_s_own(question: str, meant: str) -> None:
    assert of_own_parents(question) == meant


def test_a_word_without_end_is_read_once() -> None:
    assert of_own_parents("a" * 200_000) == "a" * 200_000
