"""Categories and allowlists (B §5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.category import (
    DEFAULT_ALLOWLISTS,
    PROCEDURAL,
    SYSTEM_CATEGORIES,
    CategoryPolicy,
    Context,
    ContextMode,
    label,
)
from mnemolog.domain.errors import CategoryNotAllowed, InvalidInput

categories = st.sampled_from(sorted(SYSTEM_CATEGORIES))
agents = st.sampled_from([*sorted(DEFAULT_ALLOWLISTS), "default", "nobody"])


def allowed(policy: CategoryPolicy, agent: str, requested: list[str]) -> frozenset[str]:
    """What the agent reads, which is not all there is."""
    found = policy.allowed(agent, requested)
    assert found is not None
    return found


@pytest.mark.spec("B05")
@given(agents, st.lists(categories, max_size=4))
def test_a_request_is_answered_completely_or_refused(agent: str, requested: list[str]) -> None:
    policy = CategoryPolicy()
    allowlist = policy.allowlists.get(agent, policy.categories)

    if set(requested) <= allowlist:
        assert allowed(policy, agent, requested) == (frozenset(requested) or allowlist - {PROCEDURAL})
    else:
        with pytest.raises(CategoryNotAllowed):
            allowed(policy, agent, requested)


@pytest.mark.spec("B05")
@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("supervisor", {"profile", "goals", "preferences", "event", "activity", "relationships", "tasks"}),
        ("planner", {"goals", "tasks", "projects"}),
        ("stylist", {"preferences", "tone", "style"}),
        ("researcher", {"knowledge", "interests", "history"}),
        ("executor", {"tasks", "recent_activity", "constraints"}),
    ],
)
def test_the_agents_of_the_specification_read_its_lists_by_default(agent: str, expected: set[str]) -> None:
    assert allowed(CategoryPolicy(), agent, []) == expected


@pytest.mark.spec("B12")
@pytest.mark.parametrize("agent", ["planner", "executor", "default"])
def test_agents_that_execute_may_ask_for_procedures(agent: str) -> None:
    assert allowed(CategoryPolicy(), agent, ["procedural"]) == {"procedural"}


@pytest.mark.spec("B12")
@given(agents)
def test_procedures_are_never_returned_without_a_request(agent: str) -> None:
    assert PROCEDURAL not in allowed(CategoryPolicy(), agent, [])


@pytest.mark.spec("B05")
def test_a_refusal_names_the_agent_and_the_place_in_the_request() -> None:
    with pytest.raises(CategoryNotAllowed, match="'planner' may not read category 'profile'") as refused:
        allowed(CategoryPolicy(), "planner", ["tasks", "profile"])

    assert refused.value.field == "categories[1]"
    assert "goals" in refused.value.fix


def test_a_category_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no category 'prefs'") as refused:
        allowed(CategoryPolicy(), "default", ["prefs"])

    assert refused.value.code == "invalid_input", "nobody may read it, whatever his allowlist"
    assert refused.value.field == "categories[0]"


@pytest.mark.spec("B05")
def test_where_agents_must_be_listed_a_misspelt_name_opens_nothing() -> None:
    policy = CategoryPolicy(unlisted="none")

    assert policy.readable("plannr") == frozenset()
    assert allowed(policy, "planner", []) == {"goals", "tasks", "projects"}
    for requested in ([], ["goals"]):
        with pytest.raises(CategoryNotAllowed, match="'plannr' may read no category"):
            allowed(policy, "plannr", requested)


@pytest.mark.spec("B05")
def test_categories_enter_the_context_as_the_specification_says() -> None:
    policy = CategoryPolicy()

    assert policy.mode("profile") == ContextMode(Context.ALL)
    assert policy.mode("event") == ContextMode(Context.RAG, 30)
    assert policy.mode("activity") == ContextMode(Context.RAG, 50)
    assert policy.mode("tasks") == ContextMode(Context.RAG, 30)


def test_a_custom_category_is_known_where_it_is_configured() -> None:
    policy = CategoryPolicy(SYSTEM_CATEGORIES | {"wines"})

    assert policy.known("wines") == "wines"
    assert allowed(policy, "default", ["wines"]) == {"wines"}


@pytest.mark.parametrize(("category", "shown"), [("personal", "Personal"), ("recent_activity", "Recent activity")])
def test_a_category_is_shown_in_words(category: str, shown: str) -> None:
    assert label(category) == shown


def test_where_categories_are_free_any_other_may_be_written_and_read_by_agents_without_an_allowlist() -> None:
    policy = CategoryPolicy(free=True)

    assert policy.known("recipes") == "recipes"
    assert policy.allowed("default", []) is None
    assert allowed(policy, "default", ["recipes"]) == {"recipes"}
    with pytest.raises(CategoryNotAllowed):
        allowed(policy, "planner", ["recipes"])
