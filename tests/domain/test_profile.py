"""The profile: which fields there are, which need consent, and where a value goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.profile import SENSITIVE, ProfilePolicy, adds, after, place_of

pytestmark = pytest.mark.spec("B10")

names = st.from_regex(r"[a-z0-9_]{1,20}", fullmatch=True)
values = st.text(min_size=1, max_size=20)


@pytest.mark.parametrize("field", sorted(SENSITIVE))
def test_what_b10_names_sensitive_stays_so_whatever_is_configured(field: str) -> None:
    policy = ProfilePolicy(sensitive=frozenset(), benign=frozenset({field, f"{field}_add"}))
    assert policy.is_sensitive(field)
    assert policy.is_sensitive(f"{field}_add"), "what adds to a sensitive place is as sensitive"


def test_more_fields_of_both_kinds_can_be_configured() -> None:
    policy = ProfilePolicy(sensitive=frozenset({"diet"}), benign=frozenset({"tone", "hobbies_add"}))
    assert [policy.is_sensitive(field) for field in ("diet", "tone", "hobbies_add")] == [True, False, False]


def test_a_field_that_is_not_configured_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        ProfilePolicy().is_sensitive("shoe_size")
    assert caught.value.field == "field"


@pytest.mark.parametrize("name", ["a b", "a/b", "a:b", "", "A", "x" * 65])
def test_a_name_that_could_end_a_tag_or_a_scope_cannot_be_configured(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ProfilePolicy(benign=frozenset({name}))
    assert caught.value.field == "profile.benign"


def test_goals_add_adds_to_goals() -> None:
    assert (place_of("goals_add"), place_of("tone"), place_of("_add")) == ("goals", "tone", "_add")
    assert after(("run",), "goals_add", "read") == ("run", "read")
    assert after(("run",), "goals_add", "Run") == ("run",)
    assert after(("brief",), "tone", "formal") == ("formal",)


@given(names, st.lists(values, max_size=8))
def test_a_field_that_is_set_holds_one_value_and_one_that_is_added_to_each_once(field: str, said: list[str]) -> None:
    held: tuple[str, ...] = ()
    for value in said:
        held = after(held, field, value)
        assert after(held, field, value) == held
    if adds(field):
        assert list(held) == [one for one in dict.fromkeys(said) if one in held]
    else:
        assert held == tuple(said[-1:])
