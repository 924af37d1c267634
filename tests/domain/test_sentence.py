"""Facts as plain sentences."""

import pytest

from mnemolog.domain.sentence import sentence, value_text


@pytest.mark.parametrize(
    ("predicate", "thing", "said"),
    [
        ("lives_in", "Leipzig", "Ana lives in Leipzig"),
        ("likes", "tea", "Ana likes tea"),
        ("reports_to", "Marta", "Ana reports to Marta"),
        ("manager", "Marta", "Ana's manager is Marta"),
        ("job_title", "engineer", "Ana's job title is engineer"),
        ("hobbies", "chess", "Ana's hobbies include chess"),
        ("status", "on leave", "Ana's status is on leave"),
        ("sister_of", "Marta", "Ana is sister of Marta"),
        ("interested_in", "chess", "Ana is interested in chess"),
        ("allergy", "peanuts", "Ana is allergic to peanuts"),
        ("born_in", "Porto", "Ana was born in Porto"),
    ],
)
def test_a_fact_reads_as_a_sentence(predicate: str, thing: str, said: str) -> None:
    assert sentence("Ana", predicate, thing) == said


def test_a_value_that_is_no_text_is_written_as_json() -> None:
    assert sentence("Ana", "age", value_text(42)) == "Ana is aged 42"
    assert value_text({"b": [1], "a": True}) == '{"a": true, "b": [1]}'
