"""The lifecycle of a memory: which changes its status allows."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput, TransitionRefused
from mnemolog.domain.memory import MAX_MERGE, Content, Kind, Memory, Status, require_mergeable, require_visible
from mnemolog.domain.scope import Scope

AT = datetime(2026, 1, 3, tzinfo=UTC)
SURVIVOR = UUID(int=999)
CONTENT = Content("Ana drinks tea", "note", 0.5, 1.0, pinned=False)
statuses = st.sampled_from(Status)


def memory(number: int = 1, status: Status = Status.ACTIVE, agent: str | None = None) -> Memory:
    scope = Scope.AGENT if agent else Scope.GLOBAL
    return Memory(UUID(int=number), Kind.FACT, scope, agent, CONTENT, status)


def survivor() -> Memory:
    return replace(memory(), memory_id=SURVIVOR)


@pytest.mark.spec("B07")
@given(statuses)
def test_only_what_is_active_or_dying_can_be_changed(status: Status) -> None:
    if status in (Status.ACTIVE, Status.DYING):
        require_visible(memory(status=status), "updated")
    else:
        with pytest.raises(TransitionRefused, match=f"is {status} and cannot be updated"):
            require_visible(memory(status=status), "updated")


@pytest.mark.parametrize(
    ("hidden", "fix"),
    [
        (memory().absorbed(SURVIVOR), f"it was merged into {SURVIVOR}: change that one, or undo the merge"),
        (memory().soft_deleted(AT), "restore it first"),
    ],
)
def test_a_refusal_says_what_to_do(hidden: Memory, fix: str) -> None:
    with pytest.raises(TransitionRefused) as refused:
        require_visible(hidden, "updated")

    assert refused.value.fix == fix


@pytest.mark.spec("B07")
def test_a_soft_deleted_memory_is_hidden_and_restored_completely() -> None:
    deleted = memory().soft_deleted(AT)

    assert not deleted.visible
    assert deleted.purge_at == AT
    assert deleted.restored() == memory()


@pytest.mark.spec("X03")
def test_an_absorbed_memory_is_hidden_points_to_its_survivor_and_keeps_its_content() -> None:
    absorbed = memory().absorbed(SURVIVOR)

    assert not absorbed.visible
    assert absorbed.merged_into == SURVIVOR
    assert absorbed.restored() == memory()


@pytest.mark.parametrize(
    "numbers", [[], [1, 1], [SURVIVOR.int], list(range(1, MAX_MERGE + 2))], ids=["none", "twice", "itself", "too many"]
)
def test_a_merge_of_nothing_itself_the_same_twice_or_too_many_is_refused(numbers: list[int]) -> None:
    with pytest.raises(InvalidInput) as refused:
        require_mergeable(survivor(), tuple(map(memory, numbers)))

    assert refused.value.field == "absorbed_ids"


@given(st.integers(1, MAX_MERGE))
def test_up_to_fifty_memories_can_be_merged_at_once(count: int) -> None:
    require_mergeable(survivor(), tuple(map(memory, range(1, count + 1))))


@pytest.mark.spec("C01")
def test_a_merge_across_agents_is_refused() -> None:
    with pytest.raises(TransitionRefused, match="a different scope or agent"):
        require_mergeable(survivor(), (memory(agent="deanna"),))


def test_a_merge_of_a_hidden_memory_is_refused() -> None:
    with pytest.raises(TransitionRefused, match="cannot be merged"):
        require_mergeable(survivor(), (memory().soft_deleted(AT),))
