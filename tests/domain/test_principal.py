"""Principals: what a role lets one do, and what makes a producer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import subject_token
from mnemolog.domain.principal import ALL, Principal, Role, producer_name

names = st.from_regex(r"[A-Za-z0-9_-]{1,40}", fullmatch=True)
# As long as one may be behind a producer's name of 40 characters.
message_ids = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=159
)


def principal(name: str, *roles: Role) -> Principal:
    every = frozenset({ALL})
    return Principal(name, "acme", every, every, frozenset(roles))


@given(st.frozensets(st.sampled_from(Role)), st.sampled_from(Role))
def test_what_a_role_does_not_say_is_not_allowed(roles: frozenset[Role], asked: Role) -> None:
    implied = {Role.WRITE: {Role.WRITE, Role.PUBLISH}, Role.ADMIN: set(Role)}
    allowed = set().union(*(implied.get(role, {role}) for role in roles))
    assert principal("app", *roles).may(asked) == (asked in allowed)


@given(names, message_ids, names, message_ids)
def test_no_two_producers_share_a_turn_id(one: str, first: str, other: str, second: str) -> None:
    ids = [principal(name, Role.PUBLISH).turn_id(id_) for name, id_ in ((one, first), (other, second))]
    assert (ids[0] == ids[1]) == ((one, first) == (other, second))


def test_who_is_no_producer_names_turns_as_they_are() -> None:
    assert principal("app", Role.READ, Role.WRITE).turn_id("chat-7:42") == "chat-7:42"


@given(names.filter(lambda name: name != "engine"))
def test_the_name_of_a_producer_is_one_token_as_it_is(name: str) -> None:
    assert subject_token(producer_name(name)) == name


@pytest.mark.parametrize("name", ["", "engine", "a.b", "a*", "a b", "x" * 41, "ä", "a/b", "mnemolog.turns.acme", ">"])
def test_a_name_that_could_mean_something_else_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        producer_name(name)
    assert refused.value.field == "name"
