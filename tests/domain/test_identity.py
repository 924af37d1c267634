"""Ids, instants and subject tokens."""

import re
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import aware, day_or_instant, identifier, parse_uuid, subject_token, uuid7

instants = st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
random_bytes = st.binary(min_size=10, max_size=10)
tenants = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=200).filter(
    lambda text: text == text.strip()
)


@given(instants, random_bytes)
def test_uuid7_carries_version_variant_and_milliseconds(at: datetime, entropy: bytes) -> None:
    made = uuid7(at, entropy)

    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert made.int >> 80 == (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def test_uuid7_has_the_timestamp_of_the_example_in_rfc_9562() -> None:
    at = datetime(2022, 2, 22, 14, 22, 22, tzinfo=timezone(timedelta(hours=-5)))

    assert str(uuid7(at, bytes(10))) == "017f22e2-79b0-7000-8000-000000000000"


@given(instants, instants, random_bytes, random_bytes)
def test_uuid7_sorts_by_time_to_the_microsecond(one: datetime, other: datetime, first: bytes, second: bytes) -> None:
    if one < other:
        assert uuid7(one, first) < uuid7(other, second)


def test_uuid7_uses_62_random_bits() -> None:
    at = datetime(2026, 1, 3, tzinfo=UTC)

    assert uuid7(at, b"\xff" * 10).int & ((1 << 62) - 1) == (1 << 62) - 1
    assert uuid7(at, bytes(9) + b"\x01") != uuid7(at, bytes(9) + b"\x02")


@pytest.mark.parametrize(
    ("at", "entropy"),
    [
        (datetime(2026, 1, 3), bytes(10)),  # noqa: DTZ001
        (datetime(1969, 12, 31, tzinfo=UTC), bytes(10)),
        (datetime(2026, 1, 3, tzinfo=UTC), bytes(9)),
    ],
)
def test_uuid7_refuses_what_it_cannot_carry(at: datetime, entropy: bytes) -> None:
    with pytest.raises(InvalidInput):
        uuid7(at, entropy)


def test_a_uuid_is_read_from_itself_and_from_its_text() -> None:
    made = uuid4()

    assert parse_uuid(made, "id") is made
    assert parse_uuid(str(made).upper(), "id") == made


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        b"0" * 16,
        "",
        "ana",
        "{01942b6e-7c00-7000-8000-000000000000}",
        "01942b6e7c0070008000000000000000",
        "01942b6e-7c00-7000-8000-00000000000_",
        "０1942b6e-7c00-7000-8000-000000000000",
        "01942b6e-7c00-7000-8000-000000000000\n",
    ],
)
def test_what_is_no_uuid_is_refused_with_field_and_example(value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_uuid(value, "memory_id")

    assert refused.value.field == "memory_id"
    assert re.search("[0-9a-f]{8}-", refused.value.fix)


@pytest.mark.parametrize(
    ("value", "text"), [("ana", "ana"), (123, "123"), (-1, "-1"), ("家族 7", "家族 7"), ("a" * 200, "a" * 200)]
)
def test_an_identifier_is_text_or_an_integer(value: object, text: str) -> None:
    assert identifier(value, "user_id") == text


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "is empty"),
        ("   ", "white space"),
        (" ana", "white space"),
        ("ana\n", "white space"),
        ("a\0b", r"U\+0000"),
        ("a\x7fb", r"U\+007F"),
        ("a\u2028b", r"U\+2028"),
        ("a\ud800b", r"U\+D800"),
        ("a" * 201, "201 characters, at most 200"),
        (True, "not bool"),
        (None, "not NoneType"),
        (1.5, "not float"),
        (["ana"], "not list"),
        pytest.param(10**5000, "above 200 digits", id="5001 digits"),
        (10**200, "201 characters"),
    ],
)
def test_an_identifier_that_cannot_be_stored_or_seen_is_refused(value: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        identifier(value, "user_id")

    assert refused.value.field == "user_id"
    assert refused.value.fix


def test_the_longest_identifier_is_a_choice_of_the_caller() -> None:
    with pytest.raises(InvalidInput, match="at most 3"):
        identifier("abcd", "thread_id", max_length=3)


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-03T01:02:10Z",
        "2026-01-03T01:02:10+00:00",
        "2026-01-03 03:02:10+02:00",
        "20260103T010210Z",
        datetime(2026, 1, 3, 1, 2, 10, tzinfo=UTC),
        datetime(2026, 1, 2, 20, 2, 10, tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_instants_are_read_into_utc(value: object) -> None:
    moment = aware(value, "at")

    assert moment == datetime(2026, 1, 3, 1, 2, 10, tzinfo=UTC)
    assert moment.tzinfo is UTC


@pytest.mark.parametrize("value", ["2026-01-03T01:02:10", datetime(2026, 1, 3)])  # noqa: DTZ001
def test_an_instant_without_offset_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="no UTC offset") as refused:
        aware(value, "occurred_at")

    assert refused.value.field == "occurred_at"
    assert refused.value.fix == "add one, as in 2026-01-03T01:02:10Z"


def test_a_day_where_an_instant_is_needed_is_refused_with_one_of_its_times() -> None:
    with pytest.raises(InvalidInput) as refused:
        aware("2026-02-10", "since")

    assert (refused.value.message, refused.value.fix) == (
        "'2026-02-10' is a day, not a time",
        "send a time of that day, as in 2026-02-10T00:00:00Z",
    )


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-01:00"])
def test_an_instant_that_leaves_the_calendar_in_utc_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match="years 1 to 9999"):
        aware(value, "at")


@pytest.mark.parametrize("value", ["", "now", "10000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "\ud800", 0, None, True])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="is not a time"):
        aware(value, "at")


@pytest.mark.parametrize("value", ["yesterday", "2025-02", "2025", 2025])
def test_where_a_day_will_do_the_fix_says_so(value: object) -> None:
    with pytest.raises(InvalidInput, match="is not a time") as refused:
        day_or_instant(value, "since")
    assert refused.value.fix == "send ISO 8601, as in 2026-01-03T01:02:10Z, or a day, as in 2026-01-03"


@pytest.mark.parametrize(
    ("tenant", "token"), [("acme", "acme"), ("Acme_1-eu", "Acme_1-eu"), ("a.b", "a%2Eb"), ("é *>", "%C3%A9%20%2A%3E")]
)
def test_a_subject_token_escapes_what_subjects_reserve(tenant: str, token: str) -> None:
    assert subject_token(tenant) == token


@given(tenants)
def test_a_subject_token_is_safe_and_bounded(tenant: str) -> None:
    assert re.fullmatch("[A-Za-z0-9_%-]{1,120}", subject_token(tenant))


@given(tenants, tenants)
def test_two_tenants_never_share_a_subject_token(one: str, other: str) -> None:
    assert (subject_token(one) == subject_token(other)) == (one == other)


def test_a_tenant_cannot_pose_as_the_long_name_of_another() -> None:
    long = subject_token("é" * 200)

    assert long.startswith("%-")
    assert subject_token(long) != long


def test_a_uuid_stays_readable_in_a_subject() -> None:
    assert subject_token(str(UUID(int=7))) == str(UUID(int=7))
