"""A question that calls the user by name is asked as the user would."""

import pytest

from mnemolog.domain.first_person import in_first_person


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
