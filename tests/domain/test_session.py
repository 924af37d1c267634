"""The session object of A §3.1 and its Redis key."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mnemolog.domain.session import KEPT_TURNS, LIFETIME, Session, key

AT = datetime(2026, 1, 3, 1, 2, 10, tzinfo=UTC)
ids = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12) | st.text(
    st.sampled_from("ab:%/3A25"), min_size=1, max_size=8
)
tenants = st.just("default") | st.text(st.sampled_from("abAB.-_1"), min_size=1, max_size=6)
places = st.tuples(st.sampled_from(["sess", "affect"]), tenants, ids, ids, ids)


def session() -> Session:
    return Session("123", "deanna", "tg:987")


@pytest.mark.spec_part("A04")
def test_the_object_has_exactly_the_fields_of_the_specification() -> None:
    heard = session().heard("user", "Hello", "msg-1", ["8f4ccf3b-0d86-4c07-a6f6-2f0ea2f7c6a1"], AT)

    assert heard.as_dict() == {
        "slot_contract_version": "1.0",
        "user_id": "123",
        "agent_id": "deanna",
        "chat_id": "tg:987",
        "msg_count": 1,
        "summary": "",
        "turns": [{"role": "user", "text": "Hello"}],
        "scratch": {"said": [["msg-1", "8f4ccf3b-0d86-4c07-a6f6-2f0ea2f7c6a1"]]},
        "active_entity_ids": ["8f4ccf3b-0d86-4c07-a6f6-2f0ea2f7c6a1"],
        "updated_at": "2026-01-03T01:02:10.000000Z",
    }


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=20), ids), max_size=30))
def test_a_session_is_the_same_after_json(turns: list[tuple[str, str, str]]) -> None:
    heard = session()
    for role, text, entity in turns:
        heard = heard.heard(role, text, "msg-1", [entity], AT)

    assert Session.from_stored(json.loads(json.dumps(heard.stored()))).stored() == heard.stored()


def test_a_session_that_was_stored_before_turns_were_counted_can_be_forgotten_and_brought_back() -> None:
    heard = session()
    for number in range(3):
        heard = heard.heard("user", str(number), f"t{number}", ["ana"], AT)

    former = Session.from_stored(json.loads(json.dumps(heard.as_dict())))

    assert former.as_dict() == heard.as_dict()
    assert former.forgotten_by("f1") == heard.forgotten_by("f1")
    assert former.forgotten_by("f1").shown() is None
    since = former.forgotten_by("f1").heard("user", "3", "t3", ["bob"], AT)
    assert shown(since) == session().heard("user", "3", "t3", ["bob"], AT).as_dict()


def shown(one: Session) -> object:
    seen = one.shown()
    return seen and seen.as_dict()


acts = st.lists(
    st.tuples(st.just("say"), st.lists(st.sampled_from(["ana", "bob", "eve"]), unique=True, max_size=2))
    | st.tuples(st.just("erase"), st.integers(0, 40))
    | st.tuples(st.just("forget"), st.sampled_from(["ana", "bob"])),
    max_size=40,
)


def acted(one: Session, doings: list[tuple[str, Any]], first: int = 0) -> Session:
    for number, (act, what) in enumerate(doings, first):
        if act == "say":
            one = one.heard("user", f"words {number}", f"t{number}", what, AT)
        else:
            one = one.without({f"t{what}"}) if act == "erase" else one.forgetting(what)
    return one


@pytest.mark.spec("A19", "X03")
@given(acts, acts, acts)
def test_a_forgotten_session_shows_what_one_that_began_then_would_and_comes_back_as_if_it_was_never_forgotten(
    before: list[tuple[str, Any]], between: list[tuple[str, Any]], since: list[tuple[str, Any]]
) -> None:
    second, third = len(before), len(before) + len(between)
    once = acted(acted(session(), before).forgotten_by("f1"), between, second)
    twice = acted(once.forgotten_by("f2"), since, third)

    whole = acted(session(), [*before, *between, *since])
    assert shown(twice.shown_since(None)) == whole.as_dict()
    for seen, begun in [
        (twice, acted(session(), since, third)),
        (twice.shown_since("f1"), acted(session(), [*between, *since], second)),
    ]:
        expected = begun.as_dict() if begun.msg_count or not whole.msg_count else None
        assert shown(seen) == (expected and {**expected, "updated_at": whole.updated_at})


@given(st.integers(0, 60))
def test_a_session_counts_all_turns_and_keeps_the_last_twenty(count: int) -> None:
    heard = session()
    for number in range(count):
        heard = heard.heard("user", str(number), str(number), [], AT)

    assert heard.msg_count == count
    assert [turn["text"] for turn in heard.turns] == [str(number) for number in range(count)][-KEPT_TURNS:]


@given(st.lists(st.sampled_from("abcdefghijklmn"), max_size=30))
def test_the_last_ten_speakers_are_active_last_first_and_once(speakers: list[str]) -> None:
    heard = session()
    for speaker in speakers:
        heard = heard.heard("user", "...", "msg-1", [speaker], AT)

    assert list(heard.active_entity_ids) == list(dict.fromkeys(reversed(speakers)))[:10]


@given(st.integers(-14 * 60, 14 * 60))
def test_the_time_is_utc_whatever_offset_it_came_with(minutes: int) -> None:
    local = AT.astimezone(timezone(timedelta(minutes=minutes)))

    assert session().heard("user", "Hello", "msg-1", [], local).updated_at == "2026-01-03T01:02:10.000000Z"


def test_a_session_ends_after_its_lifetime_of_silence() -> None:
    heard = session().heard("user", "Hello", "msg-1", [], AT)

    assert not heard.expired(AT + LIFETIME)
    assert heard.expired(AT + LIFETIME + timedelta(microseconds=1))


def test_a_session_without_turns_does_not_end() -> None:
    assert not session().expired(AT)


@pytest.mark.spec_part("A04")
def test_the_key_is_that_of_the_specification() -> None:
    assert key("sess", "default", "123", "deanna", "tg:987") == "sess:123:deanna:tg:987"


def test_the_key_of_another_tenant_has_a_prefix() -> None:
    assert key("affect", "acme", "123", "deanna", "c") == "tenant:acme:affect:123:deanna:c"


@given(places, places)
def test_two_places_never_share_a_key(
    one: tuple[str, str, str, str, str], other: tuple[str, str, str, str, str]
) -> None:
    assume(one != other)

    assert key(*one) != key(*other)


@given(st.text(st.sampled_from(":%3A2a"), max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_cutting_one_name_at_other_places_gives_other_keys(name: str, one: int, other: int) -> None:
    assume(name[:one] != name[:other])

    assert key("sess", "default", name[:one], name[one:], "c") != key(
        "sess", "default", name[:other], name[other:], "c"
    )


@pytest.mark.spec("X07", "A19")
def test_an_erased_turn_takes_along_speakers_of_no_other_turn() -> None:
    heard = session()
    for number, speaker in enumerate(["ana", "bob", "ana", "eve"]):
        heard = heard.heard("user", f"words {number}", f"t{number}", [speaker], AT)

    left = heard.without({"t0", "t3"})

    assert [turn["text"] for turn in left.turns] == ["words 1", "words 2"]
    assert left.scratch["said"] == [["t1", "bob"], ["t2", "ana"]]
    assert left.active_entity_ids == ["ana", "bob"]
    assert left.msg_count == 4
    assert heard.without({"elsewhere"}) is heard


@pytest.mark.spec("X07")
def test_turns_that_are_not_named_go_with_the_first_erasure() -> None:
    before = Session(
        "123", "deanna", "c", 1, turns=[{"role": "user", "text": "old"}], updated_at="2026-01-03T01:02:10Z"
    )
    heard = before.heard("user", "new", "t1", [], AT)

    assert [turn["text"] for turn in heard.without({"t0"}).turns] == ["new"]


def test_surrogates_stand_behind_the_texts_of_their_turns() -> None:
    before = session().heard("user", "Look!", "t1", [], AT).heard("assistant", "Nice", "t2", [], AT)

    shown = before.with_surrogates({"t1": ["[image#A1B2C3] a bike", "[file#A4B5C6] a bill"], "t9": ["[file#A7B8C9]"]})

    assert before.turn_ids == {"t1", "t2"}
    assert [turn["text"] for turn in shown.turns] == ["Look! [image#A1B2C3] a bike [file#A4B5C6] a bill", "Nice"]
    assert before.with_surrogates({}) == before
