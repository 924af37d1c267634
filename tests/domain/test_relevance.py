"""How well a text answers a question: meaning, words, and the conversation around it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.relevance import SILENCE, Collection, Document, Found, Said, relevance

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
COLLECTION = Collection.of(100, 8.0, {"tea": 10, "pot": 3})


def said(id_: str, seq: int, *, speaker: str = "Ana", asks: bool = False, at: datetime = NOON) -> Said[str]:
    return Said(id_, "chat", seq, at + timedelta(minutes=seq), speaker, asks)


def documents(**words: dict[str, int]) -> dict[str, Document]:
    return {id_: Document(8, counts) for id_, counts in words.items()}


def best(question: str, found: Found[str]) -> str:
    scores = relevance(question, found, found.documents)
    return max(scores, key=lambda id_: scores[id_])


scores = st.dictionaries(st.sampled_from("abcdef"), st.floats(-1, 1))


@given(scores, st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1), st.permutations("abcdef"))
def test_every_candidate_has_a_score_from_zero_to_one(
    near: dict[str, float], counts: dict[str, int], order: list[str]
) -> None:
    run = [said(id_, place, asks=place % 2 == 0, speaker=id_) for place, id_ in enumerate(order)]
    found = Found(near, COLLECTION, documents(**{id_: {"tea": n} for id_, n in counts.items()}), [run])

    told = relevance("tea for a", found, counts)

    assert told.keys() == counts.keys()
    assert all(0 <= score <= 1 for score in told.values())


def test_a_hit_that_is_better_by_meaning_and_by_words_is_better() -> None:
    found = Found({"a": 0.6, "b": 0.5}, COLLECTION, documents(a={"tea": 1, "pot": 1}, b={"tea": 1}))

    assert best("tea pot", found) == "a"


def test_the_answer_to_a_question_is_found_by_the_words_of_the_question() -> None:
    run = [said("asked", 1, speaker="Ben", asks=True), said("answer", 2), said("later", 3, speaker="Ben")]
    found = Found({}, COLLECTION, documents(asked={"tea": 1, "pot": 1}, answer={}, later={}), [run])

    scores = relevance("tea pot", found, found.documents)

    assert scores["answer"] > scores["later"]
    assert scores["answer"] > relevance("tea pot", Found({}, COLLECTION, found.documents), found.documents)["answer"]


def test_nobody_answers_their_own_question() -> None:
    def score(speaker: str) -> float:
        run = [said("asked", 1, speaker=speaker, asks=True), said("next", 2, speaker="Ana")]
        found = Found({}, COLLECTION, documents(asked={"tea": 1}, next={}), [run])
        return relevance("tea", found, found.documents)["next"]

    assert score("Ben") > score("Ana")


def test_words_of_the_messages_beside_it_count_for_a_message_unless_a_silence_lies_between() -> None:
    def score(silence: timedelta) -> float:
        run = [said("a", 1), said("b", 2, at=NOON + silence)]
        found = Found({}, COLLECTION, documents(a={"pot": 1}, b={"tea": 1}), [run])
        return relevance("tea pot", found, found.documents)["b"]

    assert score(timedelta()) > score(SILENCE)


@pytest.mark.parametrize(("question", "first"), [("Ana's tea", "ana"), ("Ben's tea", "ben"), ("Benno's tea", "ana")])
def test_a_speaker_whom_the_question_names_comes_first(question: str, first: str) -> None:
    runs = [[said("ana", 1, speaker="Ana")], [said("ben", 9, speaker="Ben")]]
    found = Found({"ana": 0.5, "ben": 0.4999}, COLLECTION, documents(ana={"tea": 1}, ben={"tea": 1}), runs)

    assert best(question, found) == first


def test_a_collection_knows_a_rare_word_from_a_common_one() -> None:
    def score(length: int, **words: int) -> float:
        return COLLECTION.score([Document(length, words)])

    assert score(8, pot=1) > score(8, tea=1) > score(16, tea=1) > 0


@pytest.mark.parametrize(("question", "first"), [("When was tea?", "dated"), ("Where was tea?", "other")])
def test_a_text_that_tells_a_time_is_better_if_the_question_asks_for_one(question: str, first: str) -> None:
    texts = {"dated": Document(8, {"tea": 1}, of_kind=True), "other": Document(8, {"tea": 1})}

    assert best(question, Found({"dated": 0.5, "other": 0.5001}, COLLECTION, texts)) == first


def test_a_text_of_the_period_asked_for_is_best_and_one_after_it_better_than_one_before() -> None:
    days = {"within": 0, "after": 3, "before": -3, "long before": -60}
    texts = {id_: Document(8, {"tea": 1}, NOON + timedelta(days=n)) for id_, n in days.items()} | {
        "at no time": Document(8, {"tea": 1})
    }
    found = Found(dict.fromkeys(texts, 0.5), COLLECTION, texts)

    scores = relevance("tea on 4 May", found, texts, asked_at=NOON + timedelta(days=10))

    assert sorted(scores, key=lambda id_: -scores[id_])[:4] == list(days)
    assert len({*relevance("tea on 4 May", found, texts).values()}) == 1


def test_the_best_of_what_is_hardly_similar_is_no_good_match() -> None:
    texts = documents(a={}, b={})
    plain = relevance("tea", Found({"a": 0.07, "b": 0.02}, COLLECTION, texts), texts)
    found = relevance("tea", Found({"a": 0.07, "b": 0.02}, COLLECTION, texts, similar=0.45), texts)

    assert found["a"] < plain["a"]
    assert found["a"] > found["b"]
    good = {"a": 0.6, "b": 0.5}
    assert relevance("tea", Found(good, COLLECTION, texts, similar=0.45), texts) == relevance(
        "tea", Found(good, COLLECTION, texts), texts
    )


def dated(**days: int) -> dict[str, Document]:
    return {id_: Document(8, {"tea": 1}, NOON + timedelta(days=n)) for id_, n in days.items()}


def in_order(found: Found[str], *, present: bool) -> list[str]:
    scores = relevance("tea", found, found.documents, present=present)
    return sorted(scores, key=lambda id_: -scores[id_])


def test_of_texts_that_are_about_as_good_the_newest_is_first_if_the_question_is_about_the_present() -> None:
    found = Found({"old": 0.6, "new": 0.55, "weak": 0.1}, COLLECTION, dated(old=0, new=200, weak=300))

    assert in_order(found, present=True) == ["new", "old", "weak"]
    assert in_order(found, present=False) == ["old", "new", "weak"]


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 900)), min_size=1, max_size=12))
def test_to_be_new_changes_the_order_of_the_best_and_nothing_else(told: list[tuple[float, int]]) -> None:
    texts = dated(**{f"id{n}": day for n, (_, day) in enumerate(told)})
    found = Found({f"id{n}": near for n, (near, _) in enumerate(told)}, COLLECTION, texts)

    before = relevance("tea", found, texts)
    after = relevance("tea", found, texts, present=True)

    changed = {id_ for id_ in texts if before[id_] != after[id_]}
    assert sorted(before.values()) == sorted(after.values())
    assert len(changed) <= 5
    assert all(before[id_] >= 0.69 * max(before.values()) for id_ in changed)


def test_the_words_of_a_message_that_stands_alone_count_once() -> None:
    texts = documents(similar={}, worded={"pot": 1})
    found = Found({"similar": 0.6, "worded": 0.4}, COLLECTION, texts)

    assert best("tea pot", found) == "worded"
    assert best("tea pot", Found({"similar": 0.6, "worded": 0.3}, COLLECTION, texts)) == "similar"


def test_a_long_message_that_ends_as_a_question_tells_as_much_as_any() -> None:
    def score(length: int, *, asks: bool) -> float:
        found = Found({}, COLLECTION, {"a": Document(length, {"tea": 1})}, [[said("a", 1, asks=asks)]])
        return relevance("tea", found, found.documents)["a"]

    assert score(30, asks=True) == score(30, asks=False)
    assert score(4, asks=True) < score(4, asks=False)
