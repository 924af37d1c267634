"""The policy as a whole: its text and its version (X04)."""

import pytest

from mnemolog.domain.category import SYSTEM_CATEGORIES, CategoryPolicy, Context, ContextMode
from mnemolog.domain.policy import Policy, version_of


def of(**fields: object) -> Policy:
    return Policy(CategoryPolicy(**fields))  # type: ignore[arg-type]


@pytest.mark.spec("X04")
def test_policies_that_decide_alike_have_one_version() -> None:
    lists = {"a": frozenset({"goals", "tone"}), "b": frozenset({"tasks"})}

    assert of(allowlists=lists).version == of(allowlists=dict(reversed(lists.items()))).version


@pytest.mark.spec("X04")
@pytest.mark.parametrize(
    "fields",
    [
        {"categories": SYSTEM_CATEGORIES | {"wines"}},
        {"allowlists": {}},
        {"modes": {"goals": ContextMode(Context.ALL)}},
        {"modes": {"goals": ContextMode(Context.RAG, 7)}},
        {"unlisted": "none"},
    ],
)
def test_whatever_decides_otherwise_has_another_version(fields: dict[str, object]) -> None:
    assert of(**fields).version != Policy().version


def test_a_version_is_short_and_a_hash_of_the_text() -> None:
    policy = Policy()

    assert policy.version == version_of(policy.text)
    assert len(policy.version) == 16
