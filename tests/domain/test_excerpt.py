"""Excerpts of long texts."""

from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.excerpt import excerpt
from mnemolog.domain.hydration import stems
from mnemolog.domain.text import count_tokens

TOLD = (
    "Oh what a day it was, first the train was late and then it rained on all of us. "
    "Dr. Weber put me on 20 mg of lisinopril. I take it in the morning. "
    "Afterwards we had cake at the station and talked about nothing much for an hour."
)
words = st.sampled_from(["tea", "rain", "Oslo", "cat", "1912", "lisinopril", "は", "私", "naïve"])
sentences = st.lists(
    st.lists(words, min_size=1, max_size=9).map(lambda said: f"{' '.join(said)}."), min_size=1, max_size=12
)


def test_the_sentences_with_the_words_of_the_question_are_kept_and_what_follows_them() -> None:
    assert excerpt(TOLD, stems("lisinopril dose"), 24, count_tokens) == (
        "… Dr. Weber put me on 20 mg of lisinopril. I take it in the morning. …"
    )
    assert excerpt(TOLD, stems("lisinopril cake"), 36, count_tokens) == (
        "… Dr. Weber put me on 20 mg of lisinopril. … "
        "Afterwards we had cake at the station and talked about nothing much for an hour."
    )


def test_a_correction_stays_with_what_it_corrects() -> None:
    said = "We fly to Lisbon on Monday. Sorry, I meant Porto. " + "It will rain all week. " * 20
    assert excerpt(said, stems("fly Lisbon"), 20, count_tokens).startswith(
        "We fly to Lisbon on Monday. Sorry, I meant Porto."
    )


def test_without_a_word_of_the_question_it_is_the_beginning() -> None:
    assert excerpt(TOLD, stems("violin"), 24, count_tokens) == f"{TOLD.partition('. ')[0]}. …"


def test_a_sentence_that_is_too_long_is_cut_around_the_first_word_of_the_question() -> None:
    found = excerpt(
        "and so on " * 500 + "lisinopril 20 mg " + "and so on " * 500, stems("lisinopril"), 30, count_tokens
    )

    assert "lisinopril 20 mg" in found
    assert found.startswith("… ")
    assert found.endswith("…")
    assert count_tokens(found) <= 32


@given(sentences, st.sampled_from(["Oslo", "lisinopril tea", "は", "violin"]), st.integers(4, 40))
def test_it_keeps_what_was_said_in_its_order_and_the_limit(said: list[str], question: str, limit: int) -> None:
    text = " ".join(said)

    found = excerpt(text, stems(question), limit, count_tokens)

    if count_tokens(text) <= limit:
        assert found == text
        return
    parts = [part for one in found.split("…") if (part := one.strip())]
    assert sum(map(count_tokens, parts)) <= limit
    begin = 0
    for part in parts:
        begin = text.index(part, begin) + len(part)
