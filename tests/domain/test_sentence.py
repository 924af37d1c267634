"""Facts as plain sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.sentence import past, sentence, value_text, verb_phrase


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
        ("office_in", "Graz", "Ana's office is in Graz"),
        ("holiday_home_near", "Graz", "Ana's holiday home is near Graz"),
        ("active_in", "politics", "Ana is active in politics"),
        ("headquarters", "Oslo", "Ana's headquarters is Oslo"),
    ],
)
def test_a_fact_reads_as_a_sentence(predicate: str, thing: str, said: str) -> None:
    assert sentence("Ana", predicate, thing) == said


@pytest.mark.parametrize(
    ("predicate", "thing", "said"),
    [
        ("lives_in", "Leipzig", "Ana lived in Leipzig"),
        ("medication", "losartan", "Ana took losartan"),
        ("allergy", "peanuts", "Ana was allergic to peanuts"),
        ("manager", "Marta", "Ana's manager was Marta"),
        ("oslo_trip_date", "2026-05-14", "Ana's oslo trip date was 2026-05-14"),
        ("hobbies", "chess", "Ana's hobbies included chess"),
        ("studies", "law", "Ana studied law"),
        ("teaches", "law", "Ana taught law"),
        ("interested_in", "chess", "Ana was interested in chess"),
        ("born_in", "Porto", "Ana was born in Porto"),
        ("moved_to", "Porto", "Ana moved to Porto"),
        ("office_in", "Graz", "Ana's office was in Graz"),
    ],
)
def test_what_is_over_is_told_in_the_past(predicate: str, thing: str, said: str) -> None:
    assert sentence("Ana", predicate, thing, over=True) == said


@given(st.from_regex(r"[a-z]{1,12}(_[a-z]{1,12}){0,3}", fullmatch=True))
def test_only_the_verb_differs_in_the_past(predicate: str) -> None:
    now, was = sentence("Ana", predicate, "x").split(), sentence("Ana", predicate, "x", over=True).split()
    assert (now[0], now[-1]) == (was[0], was[-1])
    assert past(verb_phrase(predicate)) == past(past(verb_phrase(predicate)))


def test_a_value_that_is_no_text_is_written_as_json() -> None:
    assert sentence("Ana", "age", value_text(42)) == "Ana is aged 42"
    assert value_text({"b": [1], "a": True}) == '{"a": true, "b": [1]}'
